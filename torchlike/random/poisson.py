"""``poisson``: products of uniforms for small rates, transformed rejection for the others.

The number of words is decided by the values drawn, so the elements are made one after another,
at a few microseconds each.
"""

from __future__ import annotations

import math

import numpy as np

from torchlike.random.arithmetic import c_log, cast
from torchlike.random.checks import FLOATS, not_implemented
from torchlike.random.engine import Engine, atomic, by_engine

#: What is said of a negative rate.
NO_RATE = "invalid Poisson rate, expected rate to be non-negative"

_INT64_MIN = -(1 << 63)


@by_engine
@atomic
def poisson(engine: Engine, rate: np.ndarray) -> np.ndarray:
    """Draw a Poisson count for each rate, in the shape and dtype of ``rate``.

    Draws nothing for rate 0; 2 words a factor below rate 10 (count + 1 factors); 4 words an
    attempt from rate 10 on (1.1 to 1.2 attempts on average).

    Raises:
      RuntimeError: a negative or NaN rate.
      NotImplementedError: an integer, boolean or complex dtype.
    """
    if rate.dtype not in FLOATS:
        raise not_implemented("poisson_cpu", rate.dtype)
    rates = rate.astype(np.float64).ravel().tolist()
    if not all(r >= 0.0 for r in rates):
        raise RuntimeError(NO_RATE)
    counts = [_large(engine, r) if r >= 10.0 else _small(engine, r) if r else 0 for r in rates]
    return cast(np.array(counts, np.int64), rate.dtype).reshape(rate.shape)


def _small(engine: Engine, rate: float) -> int:
    limit, product, count = math.exp(-rate), 1.0, 0
    while True:
        product *= engine.double()
        if product <= limit:
            return count
        count += 1


def _large(engine: Engine, rate: float) -> int:
    """Draw one count by Hörmann's PTRS. W. Hörmann, "The transformed rejection method for
    generating Poisson random variables", 1993."""
    log_rate = math.log(rate)
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = engine.double() - 0.5
        v = engine.double()
        us = 0.5 - abs(u)
        count = _floor_int64((2 * a / us + b) * u + rate + 0.43) if us else _INT64_MIN
        if us >= 0.07 and v <= v_r:
            return count
        if count < 0 or (us < 0.013 and v > us):
            continue
        left = c_log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if left <= -rate + count * log_rate - math.lgamma(count + 1.0):
            return count


def _floor_int64(x: float) -> int:
    """Return the floor as C++ casts it to int64: what does not fit, and NaN, give the smallest
    int64."""
    return math.floor(x) if -(2.0**63) <= x < 2.0**63 else _INT64_MIN
