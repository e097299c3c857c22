"""Quotients are rounded once, whatever XLA would rather multiply by."""

import numpy as np
import pytest

import torchlike as torch
import torchlike.nn.functional as F

RNG = np.random.default_rng(0)
X = RNG.integers(-99, 99, (8, 41)).astype(np.float32)
DIVISORS = {
    "number": 49.0,
    "integer": 3,
    "0-dim": np.float32(0.225),
    "row": RNG.normal(size=41).astype(np.float32),
    "column": RNG.normal(size=(8, 1)).astype(np.float32),
    "whole": RNG.normal(size=(8, 41)).astype(np.float32),
}


def tensor_of(y):
    return torch.tensor(y) if isinstance(y, (np.ndarray, np.generic)) else y


@pytest.mark.sampled(every=8)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("y", DIVISORS.values(), ids=DIVISORS)
def test_quotients_are_those_of_ieee_754(run, y, dtype):
    x = X.astype(dtype)
    y = y.astype(dtype) if isinstance(y, (np.ndarray, np.generic)) else y
    uses = [lambda x, y: x / y, lambda x, y: x.clone().div_(y)]
    if isinstance(y, (np.ndarray, np.generic)):
        uses.append(lambda x, y: x / y.expand_as(x))
    for use in uses:
        found = run(lambda x, use=use: use(x, tensor_of(y)), torch.tensor(x))
        np.testing.assert_array_equal(found.numpy(), x / y, strict=True)


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("y", DIVISORS.values(), ids=DIVISORS)
def test_multiples_are_truncated_and_rounded_down(run, y):
    x = (X * y).astype(np.float32)
    divisor = np.float32(y) if isinstance(y, (int, float)) else y
    # NumPy's floor_divide takes the remainder off first, as PyTorch's does.
    expected = {"trunc": np.trunc(x / divisor), "floor": np.floor_divide(x, divisor)}
    for mode, quotients in expected.items():
        found = run(
            lambda x, mode=mode: torch.div(x, tensor_of(y), rounding_mode=mode), torch.tensor(x)
        )
        np.testing.assert_array_equal(found.numpy(), quotients)


@pytest.mark.sampled(every=2)
def test_the_mean_of_ones_is_one(run):
    def means(x):
        pooled = F.adaptive_avg_pool1d(x, 1), F.avg_pool1d(x, x.shape[1])
        return x.mean(), x.mean(1)[0], F.l1_loss(x, 0 * x), *(y[0, 0] for y in pooled)

    for n in (41, 47, 55, 61, 82, 83, 94, 97, 1000):
        assert [y.item() for y in run(means, torch.ones(2, n))] == [1.0] * 5


def test_gradients_of_what_is_constant_are_not_computed(run):
    x = torch.tensor([1.0, float("inf"), 3.0], requires_grad=True)

    def gradient(x):
        (x / 2.0).sum().backward()
        return x.grad

    assert run(gradient, x).tolist() == [0.5, 0.5, 0.5]
    # Forward, 0 times the infinity would be NaN.
    _, tangent = run(
        lambda x: torch.func.jvp(lambda x: x / 2.0, (x,), (torch.ones(3),)), x.detach()
    )
    assert tangent.tolist() == [0.5, 0.5, 0.5]


def test_nan_infinity_and_zero(run):
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([1.0, -1.0, 0.0, inf, nan, 1.0])
    y = run(lambda x: x / 0.0, x)
    assert y.tolist()[:2] == [inf, -inf]
    assert y.isnan().tolist() == [False, False, True, False, True, False]
    assert run(lambda x: x / inf, x).isnan().tolist() == [False, False, False, True, True, False]
    assert run(lambda x: x / nan, x).isnan().all()
