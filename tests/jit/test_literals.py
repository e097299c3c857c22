"""Values of tensors that captured code makes of plain Python values."""

import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError


class Settings:
    rows = 3


def test_they_are_known():
    def f(x):
        n = int(torch.tensor(Settings.rows))
        factors = torch.tensor([1.5, 2.0]).tolist()
        bias = torch.tensor(2, dtype=torch.int16).item() + float(torch.tensor(0.5))
        if torch.tensor(True):
            bias += torch.as_tensor([1])[0:1].shape[0]
        return x.reshape(n, -1) * factors[0] + bias

    jitted, x = torch.jit(f), torch.arange(6.0)
    for _ in range(2):
        assert jitted(x).tolist() == f(x).tolist()
    assert jitted.compiles == 1
    Settings.rows = 2
    try:
        assert jitted(x).tolist() == f(x).tolist()
    finally:
        Settings.rows = 3
    assert jitted.compiles == 2


def written(x):
    t = torch.tensor(3)
    t.add_(1)
    return x * t.item()


def computed(x):
    return x * (torch.tensor(3) + 1).item()


def of_a_tensor(x):
    return x * torch.tensor(x[0].detach().clone() * 1).item()


def drawn(x):
    return x * torch.rand(()).item()


def through_a_view(x):
    t = torch.tensor([1.0, 2.0])
    t[0] = x[0]
    return x * t.tolist()[0]


def of_the_argument(x):
    return x * x.clone()[0].item()


@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize(
    "fn", [written, computed, of_a_tensor, drawn, through_a_view, of_the_argument]
)
def test_others_are_refused(fn):
    with pytest.raises(JitCaptureError, match="needs a value"):
        torch.jit(fn)(torch.arange(3.0))


def test_in_a_branch_and_a_loop_on_values():
    def f(x):
        total = x * 0
        while total.sum() < 10:
            step = int(torch.tensor(2))
            if x[0] > 0:
                total = total + x * step
            else:
                total = total + float(torch.tensor(4.0))
        return total

    jitted = torch.jit(f)
    for x in (torch.tensor([1.0, 2.0]), torch.tensor([-1.0, 2.0])):
        assert jitted(x).tolist() == f(x).tolist()
    assert jitted.compiles == 1


def test_a_traced_number_is_no_literal():
    f = torch.jit(lambda x, n: x * torch.tensor(n).item())
    x = torch.arange(3.0)
    assert [f(x, n).tolist() for n in range(6)] == [[0, n, 2 * n] for n in range(6)]
