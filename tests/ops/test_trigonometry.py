"""Sine, cosine and tangent of large arrays, which take a way of their own."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._ops.elementwise.trigonometry import _FEWEST, _LARGEST

FUNCTIONS = {"sin": np.sin, "cos": np.cos, "tan": np.tan}
#: Rounding of the result, and a little for the float64 way there.
WITHIN = 0.51


def numbers(scale, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(_FEWEST) * scale).astype(np.float32)


def in_last_places(found, exact):
    """The largest distance in units of the last place of float32."""
    return np.max(np.abs(found - exact) / np.spacing(np.abs(exact).astype(np.float32)))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("scale", [1e-4, 1, 30, 1e5])
def test_results_are_the_true_ones_rounded(name, scale):
    x = numbers(scale)
    found = getattr(torch, name)(torch.tensor(x)).numpy()
    exact = FUNCTIONS[name](x.astype(np.float64))
    assert in_last_places(found.astype(np.float64), exact) < WITHIN


@pytest.mark.parametrize("name", FUNCTIONS)
def test_near_the_multiples_of_half_pi(name):
    multiples = np.arange(_FEWEST) * (np.pi / 2)
    x = np.where(np.arange(_FEWEST) % 2, multiples, np.nextafter(multiples, 0)).astype(np.float32)
    found = getattr(torch, name)(torch.tensor(x)).numpy()
    exact = FUNCTIONS[name](x.astype(np.float64))
    assert in_last_places(found.astype(np.float64), exact) < WITHIN


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_that_are_special(name):
    x = np.ones(_FEWEST, np.float32)
    x[:7] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-5]
    found = getattr(torch, name)(torch.tensor(x)).numpy()
    with np.errstate(invalid="ignore"):
        expected = FUNCTIONS[name](x.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[:2]), np.signbit(expected[:2]))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("large", [2 * _LARGEST, 1e30])
def test_one_large_number_among_many(name, large):
    x = numbers(1)
    x[17] = large
    found = getattr(torch, name)(torch.tensor(x)).numpy()
    np.testing.assert_allclose(found, FUNCTIONS[name](x.astype(np.float64)), rtol=2e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    x = torch.tensor(numbers(10)).to(dtype)
    # To float32 first, as PyTorch's kernels do.
    exact = torch.tensor(np.sin(x.double().numpy()).astype(np.float32)).to(dtype)
    assert torch.equal(x.sin(), exact)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_to_second_order(name):
    values = numbers(1).astype(np.float64)
    x = torch.tensor(values, dtype=torch.float32, requires_grad=True)
    (first,) = torch.autograd.grad(getattr(torch, name)(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    values = x.detach().double().numpy()
    sine, cosine = np.sin(values), np.cos(values)
    expected = {
        "sin": (cosine, -sine),
        "cos": (-sine, -cosine),
        "tan": (cosine**-2, 2 * sine * cosine**-3),
    }[name]
    # The tangent's are made of its rounded value: relative errors grow with it at the poles.
    for found, exact in zip((first.detach(), second), expected, strict=True):
        np.testing.assert_allclose(found.numpy(), exact, rtol=2e-6, atol=1e-7)


def test_compiled_and_mapped():
    x = torch.tensor(numbers(5)).reshape(2, -1)
    assert torch.equal(torch.jit(torch.sin)(x), x.sin())
    mapped = torch.vmap(torch.sin)(torch.stack([x, x]))
    np.testing.assert_allclose(mapped[1].numpy(), x.sin().numpy(), rtol=1e-6, atol=1e-7)
