"""multinomial in a vmap that does not map its weights. The figures are PyTorch's."""

import pytest

import torchlike as torch

_P = torch.linspace(0.1, 0.9, 12).reshape(4, 3)
_CASES = {
    "few": (lambda: torch.multinomial(_P[0], 2), [2, 1, 1, 2, 0, 1]),
    "one": (lambda: torch.multinomial(_P[0], 1), [2, 1, 0]),
    "replacement": (
        lambda: torch.multinomial(_P[0], 5, replacement=True),
        [2, 2, 1, 2, 2, 2, 0, 1, 2, 1, 1, 0, 1, 2, 1],
    ),
    "transposed": (
        lambda: torch.multinomial(_P.t(), 2),
        [2, 3, 2, 3, 3, 1, 3, 2, 1, 2, 2, 3, 3, 2, 1, 3, 1, 0],
    ),
}


@pytest.mark.parametrize("name", _CASES)
def test_each_example_has_other_numbers(name):
    sample, wanted = _CASES[name]
    torch.manual_seed(0)
    found = torch.vmap(lambda x: sample() + x, randomness="different")(torch.zeros(3))
    assert found.flatten().tolist() == wanted


def test_in_two_vmaps():
    def inner(x):
        y = torch.zeros(2)
        return torch.vmap(lambda y: torch.multinomial(_P[1], 2) + y, randomness="different")(y) + x

    torch.manual_seed(0)
    found = torch.vmap(inner, randomness="different")(torch.zeros(3))
    assert found.flatten().tolist() == [2, 1, 1, 2, 0, 1, 2, 0, 0, 2, 2, 1]
    assert torch.rand(1).item() == pytest.approx(0.2081, abs=1e-4)
