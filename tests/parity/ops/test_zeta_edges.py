"""The Hurwitz zeta function and polygammas below zero, at poles and at the ends."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402

INF, NAN = math.inf, math.nan
ENDS = (
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.0,
    -1.5,
    -2.5,
    10.0,
    -30.5,
    -1e-30,
    100.0,
    -1e30,
    INF,
    -INF,
    NAN,
)
POWERS = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 9.0, 10.0, 300.0, 1e4, NAN)
WITHIN = {"float32": 1e-5, "float64": 1e-12}


def agree(f, values, dtype, jitted):
    def of(m):
        g = torchlike.jit(lambda *x: f(m, *x)) if jitted and m is torchlike else lambda *x: f(m, *x)
        return g(*[m.tensor(v, dtype=getattr(m, dtype)) for v in values]).numpy()

    # PyTorch adds the terms below 0 one by one, of which nearly all cancel: polygamma(4, -30.5) is
    # off by 9e-9 of it in float64.
    rtol = WITHIN[dtype]
    np.testing.assert_allclose(of(torchlike), of(torch), rtol=rtol, atol=rtol / 10)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("dtype", WITHIN)
def test_zeta(dtype, jitted):
    """Far below 0 it took a step for each integer on the way, and of -1e30 it never came back."""
    x, q = zip(*itertools.product(POWERS, ENDS), strict=True)
    agree(lambda m, x, q: m.special.zeta(x, q), (x, q), dtype, jitted)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("dtype", WITHIN)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_polygamma(n, dtype, jitted):
    agree(lambda m, x: m.special.polygamma(n, x), (ENDS,), dtype, jitted)


@pytest.mark.parametrize("dtype", WITHIN)
def test_trigamma_vanishes_far_away(dtype):
    for m in (torch, torchlike):
        far = m.tensor([INF, -INF], dtype=getattr(m, dtype))
        assert m.special.polygamma(1, far).tolist()[0] == 0


def test_zeta_far_below_zero():
    """By the sum itself, in float64."""
    q = torchlike.tensor([-1e6 - 0.25], dtype=torchlike.float64)
    k = np.arange(10**7) - (1e6 + 0.25)
    tail = 1 / (k[-1] + 0.5)  # of the sum of squares
    assert torchlike.special.zeta(2.0, q).item() == pytest.approx((k**-2).sum() + tail, rel=1e-12)
