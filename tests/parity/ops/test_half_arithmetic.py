"""Arithmetic in 16 bits against PyTorch's: what is rounded, and what is computed in float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oracle import TOLERANCES  # noqa: E402

import torchlike  # noqa: E402

VALUES = np.random.default_rng(0).standard_normal(200).astype(np.float32) * 3
F = "nn.functional"

#: Of a tensor and a number: as PyTorch rounds, to the last bit.
WITH_NUMBER: dict[str, Any] = {
    "mul": lambda T, x, s: x * s,
    "rmul": lambda T, x, s: s * x,
    "add": lambda T, x, s: x + s,
    "sub": lambda T, x, s: x - s,
    "rsub": lambda T, x, s: s - x,
    "div": lambda T, x, s: x / s,
    "rdiv": lambda T, x, s: s / x,
    "mul_": lambda T, x, s: x.clone().mul_(s),
    "div_": lambda T, x, s: x.clone().div_(s),
    "0-dim mul": lambda T, x, s: x * T.tensor(s),
    "0-dim div": lambda T, x, s: x / T.tensor(s),
    "0-dim add": lambda T, x, s: x + T.tensor(s),
    "trunc": lambda T, x, s: T.div(x, s, rounding_mode="trunc"),
    "floor": lambda T, x, s: x // s,
    "remainder": lambda T, x, s: x % s,
    "pow": lambda T, x, s: x.abs() ** s,
    "leaky_relu": lambda T, x, s: T.nn.functional.leaky_relu(x, s),
    "softshrink": lambda T, x, s: T.nn.functional.softshrink(x, s),
    "where": lambda T, x, s: T.where(x > 0, x, s),
}


def _both(dtype: str) -> list[tuple[Any, Any]]:
    return [(T, T.from_numpy(VALUES.copy()).to(getattr(T, dtype))) for T in (torch, torchlike)]


@pytest.mark.parametrize("number", [0.1, 3.3, 1 / 3, 1e-5])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", WITH_NUMBER)
def test_with_a_number(op: str, dtype: str, number: float) -> None:
    expected, found = (WITH_NUMBER[op](T, x, number).float().numpy() for T, x in _both(dtype))
    # A bit where fused multiply-add decides; the quotient by 1e-5 may be infinite in both.
    rtol = 0 if op != "pow" else 2e-2 if dtype == "bfloat16" else 2e-3
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_multiples_are_added_with_one_rounding(dtype: str) -> None:
    for alpha in (0.1, 3.3, 1 / 3):
        a, b = (T.add(x, x.flip(0), alpha=alpha).float().numpy() for T, x in _both(dtype))
        # XLA contracts the product and the sum, PyTorch not everywhere: a tie falls otherwise.
        assert np.mean(a != b) < 0.04
        eps = 2.0 ** (-7 if dtype == "bfloat16" else -10)
        np.testing.assert_allclose(b, a, rtol=eps, atol=2 * eps)  # where they cancel


#: Over rows whose sums or squares 16 bits cannot hold.
LONG: dict[str, Any] = {
    "var": lambda T, x: x.var(),
    "std": lambda T, x: x.std(),
    "var of rows": lambda T, x: x.reshape(4, -1).var(1, unbiased=False),
    "var_mean": lambda T, x: T.var_mean(x)[0],
    "std_mean": lambda T, x: T.std_mean(x)[0],
    "dist": lambda T, x: T.dist(x, x * 0),
    "logsumexp": lambda T, x: (x * 1000).logsumexp(0),
    "norm": lambda T, x: x.norm(),
    "sum": lambda T, x: x.sum() if x.dtype == T.bfloat16 else (x / 100).sum(),
    "scatter_add": lambda T, x: T.zeros(1, dtype=x.dtype).scatter_add(
        0, T.zeros(len(x), dtype=T.int64), x / 100
    ),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", LONG)
def test_long_rows(op: str, dtype: str) -> None:
    row = np.random.default_rng(1).random(20_000, np.float32) * 30 + 15
    a, b = (
        LONG[op](T, T.from_numpy(row.copy()).to(getattr(T, dtype))).float().numpy()
        for T in (torch, torchlike)
    )
    assert np.isfinite(a).all()
    np.testing.assert_allclose(b, a, rtol=2.0 ** (-7 if dtype == "bfloat16" else -9))


REPEATED: dict[str, Any] = {
    "factor": lambda T, t: t * T.full((20_000, 1), 0.3, dtype=t.dtype),
    "sum": lambda T, t: (t + T.zeros((20_000, 1), dtype=t.dtype)) * 0.3,
    "expand": lambda T, t: t.expand(20_000, 2) * 0.3,
    "quotient": lambda T, t: T.full((20_000, 1), 0.3, dtype=t.dtype) / t,
    "maximum": lambda T, t: T.maximum(t, T.full((20_000, 1), 1.5, dtype=t.dtype)) * 0.3,
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", REPEATED)
def test_the_gradient_of_what_is_repeated_is_summed_in_float32(op: str, dtype: str) -> None:
    found = []
    for T in (torch, torchlike):
        t = T.tensor([1.0, 2.0], dtype=getattr(T, dtype), requires_grad=True)
        REPEATED[op](T, t).sum(dtype=T.float32).backward()
        found.append(t.grad.float().numpy())
    np.testing.assert_allclose(found[1], found[0], rtol=2.0 ** (-7 if dtype == "bfloat16" else -9))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_points_without_a_derivative(dtype: str) -> None:
    for f, at in (
        (lambda T, t: t.std(), [2.0, 2.0, 2.0]),
        (lambda T, t: t.reshape(1, 3).std(1), [2.0, 2.0, 2.0]),
        (lambda T, t: t.var(), [2.0, 2.0, 2.0]),
        (lambda T, t: t.abs(), [float("nan"), -0.0, 0.0]),
        (lambda T, t: T.nn.functional.l1_loss(t, T.zeros_like(t)), [float("nan"), 1.0, 0.0]),
        (lambda T, t: t.logsumexp(0), [60000.0, -60000.0, 1.0]),
    ):
        grads = []
        for T in (torch, torchlike):
            t = T.tensor(at, dtype=getattr(T, dtype), requires_grad=True)
            f(T, t).sum().backward()
            grads.append(t.grad.tolist())
        assert grads[1] == pytest.approx(grads[0], rel=TOLERANCES["float16"].rtol)
    for name in ("sign", "sgn"):
        a, b = (
            getattr(
                T.tensor([float("nan"), -0.0, -2.0, float("inf")], dtype=getattr(T, dtype)), name
            )()
            for T in (torch, torchlike)
        )
        assert [str(v) for v in b.tolist()] == [str(v) for v in a.tolist()]


def test_names_of_reflected_operators() -> None:
    for f in (lambda x: 2 / x, lambda x: 2 - x, lambda x: 2 * x, lambda x: 2 + x):
        names = [f(T.ones(2, requires_grad=True)).grad_fn.name() for T in (torch, torchlike)]
        assert names[0] == names[1]


INDICES = np.random.default_rng(1).integers(0, 4, 200)
#: Whose gradients are sums.
READ_OFTEN: dict[str, Any] = {
    "repeat": lambda T, x: x.repeat(40, 1),
    "repeat_interleave": lambda T, x: x.repeat_interleave(40, 0),
    "index_select": lambda T, x: x.index_select(0, T.tensor(INDICES)),
    "gather": lambda T, x: x.gather(0, T.tensor(INDICES.reshape(50, 4))),
    "nearest": lambda T, x: T.nn.functional.interpolate(x[None, None], scale_factor=7),
}


@pytest.mark.sampled(every=3, of=lambda p: p["jit"])
@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", READ_OFTEN)
def test_gradients_of_what_is_read_often_are_summed_in_float32(
    op: str, dtype: str, jit: bool
) -> None:
    def gradient(T: Any, kind: str) -> Any:
        x = T.tensor(VALUES[:16].reshape(4, 4)).to(getattr(T, dtype)).to(getattr(T, kind))
        x.requires_grad_()

        def loss(x: Any) -> Any:
            y = READ_OFTEN[op](T, x)
            weight = T.tensor(np.resize(VALUES, tuple(y.shape))).to(getattr(T, dtype))
            return (y * weight.to(y.dtype)).float().sum()

        (torchlike.jit(loss) if jit and T is torchlike else loss)(x).backward()
        return x.grad.float().numpy()

    eps = 2.0 ** (-8 if dtype == "bfloat16" else -11)
    found = gradient(torchlike, dtype)
    np.testing.assert_allclose(found, gradient(torch, "float64"), rtol=eps, atol=1e-4)


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("power", [2, 3, 4, 7, 10, -1, -2, -3])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_whole_powers_are_rounded_as_pytorchs(dtype, power, jitted):
    numbers = [1 + k / 64 for k in range(-60, 64)]

    def of(m):
        x = m.tensor(numbers, dtype=getattr(m, dtype))
        raised = torchlike.jit(lambda x: x**power) if jitted and m is torchlike else None
        return (raised(x) if raised else x**power).tolist()

    assert of(torchlike) == of(torch)
