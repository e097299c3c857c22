"""NaN comes through compiled maxima and minima, which XLA's CPU compiler leaves it out of."""

import numpy as np
import pytest

import torchlike as torch

SHAPES = [(5,), (64, 64), (96, 120), (9216,)]
REDUCTIONS = {
    "max": lambda x: x.max(),
    "min": lambda x: x.min(),
    "amax": lambda x: x.amax(-1),
    "amin": lambda x: x.amin(0),
    "values": lambda x: x.max(-1).values,
    "indices": lambda x: x.min(-1).indices,
    "argmax": lambda x: x.argmax(),
    "aminmax": lambda x: torch.stack(tuple(x.aminmax())),
    "norm": lambda x: x.norm(float("inf")),
}


def with_nan(shape, at, dtype):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    x.reshape(-1)[at] = np.nan
    return x


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_nan_comes_through(name, shape):
    f = REDUCTIONS[name]
    compiled = torch.jit(f)
    for at in (0, -1):
        for dtype in ("float32", "float64"):
            x = torch.from_numpy(with_nan(shape, at, dtype))
            torch.testing.assert_close(compiled(x), f(x), rtol=0, atol=0, equal_nan=True)


def test_what_has_no_nan_is_as_ever():
    x = np.random.default_rng(0).normal(size=(64, 64)).astype("float32")
    x[3, 4], x[5, 6] = np.inf, -np.inf
    for array in (x, (x.clip(-9, 9) * 100).astype("int32"), (x.clip(0, 9) * 9).astype("uint8")):
        t = torch.from_numpy(array)
        for dim in (0, 1):
            assert torch.jit(lambda t, d=dim: t.amax(d))(t).tolist() == array.max(dim).tolist()
            assert torch.jit(lambda t, d=dim: t.amin(d))(t).tolist() == array.min(dim).tolist()


def test_a_histogram_refuses_nan():
    x = torch.from_numpy(with_nan((64, 64), 9, "float32"))
    with pytest.raises(RuntimeError, match=r"range of .* is not finite"):
        torch.jit(torch.histc)(x).sum().item()


def test_the_gradient_of_nan_is_nan():
    x = torch.from_numpy(with_nan((64, 64), 9, "float32")).requires_grad_()
    compiled = torch.jit(lambda x: x.amax())
    found, expected = (torch.autograd.grad(f(x), x)[0] for f in (compiled, torch.amax))
    assert found.isnan().sum() == expected.isnan().sum() > 0
