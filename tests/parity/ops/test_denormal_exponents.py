"""Mantissas and exponents of denormal numbers, which XLA takes for zeros."""

from __future__ import annotations

import pytest

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
