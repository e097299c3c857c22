"""How arguments are taken for parameters, and what is refused."""

import numpy as np
import pytest

import torchlike as torch

x = torch.arange(24.0).reshape(2, 3, 4)

NO_BOOLS = {
    "sum": lambda: x.sum(0, 1),
    "sum by name": lambda: x.sum(0, keepdim=1),
    "amax": lambda: torch.amax(x, 0, 1),
    "all": lambda: x.all(0, 1),
    "argmax": lambda: x.argmax(0, 1),
    "std": lambda: x.std(0, 1),
    "var": lambda: torch.var(x, 0, True, 2),
    "std_mean": lambda: torch.std_mean(x, 0, 1),
    "logsumexp": lambda: x.logsumexp(0, 1),
    "sort": lambda: torch.sort(x, 0, 1),
    "median": lambda: x.median(0, 1),
}


@pytest.mark.parametrize("call", NO_BOOLS)
def test_a_number_is_no_bool(call):
    with pytest.raises(TypeError, match="must be bool, not int"):
        NO_BOOLS[call]()


@pytest.mark.parametrize("name", ["amax", "amin", "all", "any", "logsumexp", "sort", "argsort"])
def test_surplus_numbers_are_no_dimensions(name):
    with pytest.raises(
        TypeError, match=r"takes from [12] to 3 positional arguments but 4 were given"
    ):
        getattr(x, name)(0, True, 2)
    with pytest.raises(
        TypeError, match=r"takes from [12] to 3 positional arguments but 5 were given"
    ):
        getattr(torch, name)(x, 0, 1, 2, 0)
    with pytest.raises(TypeError, match=r"add.. takes 2 positional arguments but 4"):
        torch.add(x, x, x, 1)


def test_bools_of_numpy():
    assert x.sum(0, keepdim=np.True_).shape == (1, 3, 4)  # ty: ignore


def test_dimensions_one_by_one():
    assert x.flip(0, 1).equal(x.flip((0, 1)))
    assert x.permute(2, 0, 1).shape == (4, 2, 3)
    assert x.count_nonzero(0, 1).equal(x.count_nonzero((0, 1)))
    y = torch.ones(1, 2, 1, 3)
    assert y.squeeze(0, 2).shape == (2, 3)
    assert y.squeeze(0, 1).shape == (2, 1, 3)
    z = y.clone().requires_grad_()
    squeezed = z.squeeze(0, 2)
    assert squeezed.grad_fn.name() == z.squeeze((0, 2)).grad_fn.name()
    assert y.squeeze_(0, 2).shape == (2, 3)


def test_no_method_of_two_results():
    assert not hasattr(x, "std_mean")
    assert not hasattr(x, "var_mean")
    deviation, mean = torch.std_mean(x, 0, keepdim=True)
    torch.testing.assert_close(deviation, x.std(0, keepdim=True))
    torch.testing.assert_close(mean, x.mean(0, keepdim=True))
