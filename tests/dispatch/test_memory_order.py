"""Results lie in memory as PyTorch's loops leave them (the numbers here are PyTorch's)."""

import pytest

import torchlike as torch


def column():
    """A (3, 1) view whose strides are unusual, though row-major: the second does not matter."""
    return torch.zeros(24).as_strided((3, 1), (1, 9))


ORDER = {
    "number": (lambda x: x + 1, (1, 3)),
    "number in where": (lambda x: torch.where(x > 0, x, 1.0), (1, 3)),
    "same shapes": (lambda x: x + x, (1, 1)),
    "alpha is no operand": (lambda x: torch.add(x, x, alpha=2), (1, 1)),
    "bounds are no operands": (lambda x: x.clamp(-1, 1), (1, 1)),
    "broadcast": (lambda x: x + x[:1], (1, 3)),
    "another dtype": (lambda x: x + x.double(), (1, 1)),
}


@pytest.mark.parametrize(("op", "stride"), ORDER.values(), ids=ORDER.keys())
def test_only_operands_decide_about_the_order(op, stride):
    assert op(column()).stride() == stride


def test_order_of_results_without_elements():
    x = torch.zeros(2, 0, 3).permute(2, 1, 0)
    assert (x + 1).stride() == (1, 3, 0)
    assert (x + x).stride() == (2, 2, 1)


def test_permuted_operands_hand_on_their_order():
    x = torch.zeros(2, 3, 4).permute(2, 0, 1)
    assert (x * 2).stride() == x.stride() == (1, 12, 4)
    assert (x + torch.zeros(4, 2, 3)).stride() == (1, 12, 4)
    assert (torch.zeros(4, 2, 3) + x).stride() == (6, 3, 1)


def test_channels_last_by_chance_gives_channels_last():
    """Strides of dimensions of size 1 do not say so, but those of the others do (as in PyTorch)."""
    x = torch.arange(6.0).reshape(2, 3).unfold(0, 2, 1).unfold(2, 2, 1)
    assert x.stride() == (3, 1, 3, 3)
    assert (x - x).stride() == x.relu().stride() == (6, 1, 6, 3)
    assert (x * 2).stride() == (3, 1, 3, 3)  # the number is an operand of another shape
