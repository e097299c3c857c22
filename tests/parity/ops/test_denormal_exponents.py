"""Mantissas and exponents of denormal numbers, which XLA takes for zeros, and functions by them."""

from __future__ import annotations

import pytest
from oracle import compare

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

TINY = {
    "float32": [1e-45, -1e-40, 3e-39, 1.1754942e-38, 1.1754944e-38, 0.0, -0.0, 1.0, -5.0],
    "float64": [5e-324, -1e-310, 2.2e-308, 2.3e-308, 0.0, -0.0, 1.0, -5.0],
    "float16": [6e-8, -6e-5, 0.0, -0.0, 1.0],
}


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("dtype", TINY)
def test_frexp(dtype, jitted):
    def of(m):
        f = torchlike.jit(m.frexp) if jitted and m is torchlike else m.frexp
        mantissa, exponent = f(m.tensor(TINY[dtype], dtype=getattr(m, dtype)))
        return mantissa.tolist(), mantissa.signbit().tolist(), exponent.tolist()

    assert of(torchlike) == of(torch)


@pytest.mark.parametrize(("dtype", "first"), [("float32", 8.9), ("float64", 25.9)])
def test_functions_with_a_factor_that_becomes_denormal(dtype, first):
    def function(t):
        x = first + t.arange(60, dtype=getattr(t, dtype)) / 60
        x[-1] = 1.5e19 if dtype == "float32" else 1.2e154
        return t.special.erfcx(x), t.special.log_ndtr(-x * 2**0.5)

    compare(function, jitted=(False, True))
