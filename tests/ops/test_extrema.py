"""Maximum and minimum along a dimension, with their places."""

import numpy as np
import pytest

import torchlike as torch

DTYPES = ["float32", "float64", "int64", "uint8", "bool"]


def numbers(dtype, shape=(7, 5, 9)):
    """Few different values, so that there are ties."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 2 if dtype == "bool" else 6, shape).astype(dtype)


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("compiled", [False, True])
def test_values_and_first_places(dtype, dim, name, compiled):
    x = numbers(dtype)
    t = torch.tensor(x)
    functions = [
        lambda t: getattr(torch, name)(t, dim),
        lambda t: getattr(torch, f"arg{name}")(t, dim),
    ]
    both, places = (torch.jit(f)(t) if compiled else f(t) for f in functions)
    np.testing.assert_array_equal(both.values.numpy(), getattr(x, name)(dim))
    np.testing.assert_array_equal(both.indices.numpy(), getattr(x, f"arg{name}")(dim))
    np.testing.assert_array_equal(places.numpy(), getattr(x, f"arg{name}")(dim))
    assert both.values.dtype is t.dtype
    assert both.indices.dtype is places.dtype is torch.int64


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dim", [0, 1])
def test_nan_and_infinities(name, dim):
    inf, nan = float("inf"), float("nan")
    x = np.array([[1, nan, nan], [nan, nan, nan], [-inf] * 3, [inf] * 3, [-0.0, 0.0, 0]], "float32")
    found = getattr(torch.tensor(x), name)(dim)
    np.testing.assert_array_equal(found.values.numpy(), getattr(x, name)(dim))
    np.testing.assert_array_equal(found.indices.numpy(), getattr(x, f"arg{name}")(dim))


@pytest.mark.parametrize("keepdim", [False, True])
def test_the_gradient_goes_to_the_first_of_equal_ones(keepdim):
    x = torch.tensor([[1.0, 3, 3], [2, 2, 0]], requires_grad=True)
    largest = x.max(1, keepdim).values
    largest.backward(torch.tensor([5.0, 7]).reshape(largest.shape))
    assert x.grad.tolist() == [[0, 5, 0], [7, 0, 0]]


def test_the_gradient_of_a_nan_stays_where_it_is():
    x = torch.tensor([[1.0, float("nan"), 3], [4, 5, 6]], requires_grad=True)
    x.min(1).values.sum().backward()
    assert x.grad.tolist() == [[0, 1, 0], [1, 0, 0]]


@pytest.mark.parametrize("name", ["max", "argmax", "min", "argmin"])
@pytest.mark.parametrize(("shape", "dim"), [((0, 3), 0), ((3, 0), 1), ((3, 0), -1)])
def test_nothing_to_choose_from(name, shape, dim):
    message = rf"{name}\(\): Expected reduction dim {dim % 2} to have non-zero size."
    with pytest.raises(IndexError, match=message):
        getattr(torch.ones(shape), name)(dim)
    assert getattr(torch.ones(3, 0), f"arg{name[-3:]}")(0).shape == (0,)


@pytest.mark.parametrize("name", ["max", "argmax", "min", "argmin"])
def test_complex_numbers_have_no_order(name):
    message = rf"{name}\(\): does not support complex input"
    with pytest.raises(RuntimeError, match=message):
        getattr(torch.ones(2, dtype=torch.complex64), name)(0)
