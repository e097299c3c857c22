"""``nan_to_num`` with numbers for NaN that the dtype cannot hold."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from tests.parity.oracle import compare  # noqa: E402

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("number", [1e300, -1e300, INF, NAN, 2.5, 7, None])
@pytest.mark.parametrize("end", [None, 5.0])
def test_numbers(dtype: str, number: float | None, end: float | None) -> None:
    def f(t):
        x = t.tensor(
            [NAN, INF, -INF, 1.5], dtype=getattr(t, dtype), requires_grad=dtype != "complex64"
        )
        y = t.nan_to_num(x, nan=number, posinf=end)
        return y, y.requires_grad and t.autograd.grad(y, x, t.ones_like(y))

    compare(f)
