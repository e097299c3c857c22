"""``binomial``: sums of geometric waiting times for small means, else transformed rejection."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from torchlike._core.dtypes import scalar_type
from torchlike.random.arithmetic import c_log
from torchlike.random.checks import FLOAT32, FLOAT64, FLOATS, not_implemented
from torchlike.random.engine import Engine, atomic, by_engine

#: log k! minus Stirling's approximation, for k = 0 ... 9.
_STIRLING_TAIL = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


@by_engine
@atomic
def binomial(engine: Engine, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """Draw the number of successes in ``count`` trials of probability ``prob``, which broadcast
    together.

    Returns the dtype of ``count``. Draws nothing where count <= 0 or prob is outside (0, 1); 2
    words a waiting time where the mean of the rarer outcome is below 10; else 4 an attempt.

    Raises:
      ValueError: an integer, boolean or complex dtype; a count that is not finite (PyTorch
        never returns then).
      RuntimeError: two dtypes.
      NotImplementedError: a half dtype.
    """
    check_dtypes(count.dtype, prob.dtype, "binomial_cpu")
    counts, probs = np.broadcast_arrays(count, prob)
    if np.isnan(counts).any():
        raise ValueError("binomial expects every count to be a number, but one is nan")
    fit = float if count.dtype == FLOAT64 else _to_float32
    pairs = zip(counts.ravel().tolist(), probs.ravel().tolist(), strict=True)
    values = [_sample(engine, n, p, fit) for n, p in pairs]
    return np.array(values, count.dtype).reshape(counts.shape)


def check_dtypes(count: np.dtype, prob: np.dtype, kernel: str) -> None:
    """Refuse dtypes as `binomial` says; ``kernel`` is what PyTorch names for a half dtype."""
    for what, dtype in (("count", count), ("prob", prob)):
        if dtype not in FLOATS:
            raise ValueError(
                f"binomial only supports floating-point dtypes for {what}, got: "
                f"{scalar_type(dtype)}"
            )
    if count != prob:
        raise RuntimeError(f"Found dtype {scalar_type(prob)} but expected {scalar_type(count)}")
    if count not in (FLOAT32, FLOAT64):
        raise not_implemented(kernel, count)


def _to_float32(x: float) -> float:
    return float(np.float32(x))


def _sample(engine: Engine, n: float, p: float, fit: Callable[[float], float]) -> float:
    """Draw one value; ``fit`` rounds to the dtype of the parameters, in which some steps are
    made."""
    if n <= 0.0 or p <= 0.0:
        return 0.0
    if p >= 1.0:
        return n
    if math.isnan(p):
        return math.nan
    if math.isinf(n):
        raise ValueError("binomial expects every count to be finite, but one is inf")
    if p > 0.5:
        return fit(n - _at_most_half(engine, n, fit(1.0 - p), fit))
    return _at_most_half(engine, n, p, fit)


def _at_most_half(engine: Engine, n: float, p: float, fit: Callable[[float], float]) -> float:
    if fit(n * p) >= 10.0:
        return fit(_transformed_rejection(engine, n, p, fit))
    return fit(_waiting_times(engine, n, p))


def _waiting_times(engine: Engine, n: float, p: float) -> float:
    log_failure, trials, successes = math.log1p(-p), 0.0, 0
    while True:
        # A waiting time is a whole number in a double, infinite when x is 0.
        ratio = c_log(engine.double()) / log_failure
        trials += math.ceil(ratio) if math.isfinite(ratio) else ratio
        if trials > n:
            return float(successes)
        successes += 1


def _stirling_tail(k: float) -> float:
    if k <= 9:
        return _STIRLING_TAIL[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def _transformed_rejection(
    engine: Engine, n: float, p: float, fit: Callable[[float], float]
) -> float:
    """Draw one value by BTRS. W. Hörmann, "The generation of binomial random variates", 1993."""
    log, tail = math.log, _stirling_tail
    sd = math.sqrt(fit(fit(n * p) * fit(1.0 - p)))
    b = 1.15 + 2.53 * sd
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre = fit(n * p) + 0.5
    v_r = 0.92 - 4.2 / b
    r = fit(p / fit(1.0 - p))
    alpha = (2.83 + 5.1 / b) * sd
    m = float(math.floor(fit(fit(n + 1.0) * p)))
    while True:
        u = engine.double() - 0.5
        v = engine.double()
        us = 0.5 - abs(u)
        if us == 0.0:  # u = -1/2: k is minus infinity
            continue
        k = float(math.floor((2 * a / us + b) * u + centre))
        if k < 0 or k > n:
            continue
        if us >= 0.07 and v <= v_r:
            return k
        bound = (m + 0.5) * log((m + 1) / (r * (n - m + 1)))
        bound += (n + 1) * log((n - m + 1) / (n - k + 1))
        bound += (k + 0.5) * log(r * (n - k + 1) / (k + 1))
        bound += tail(m) + tail(n - m) - tail(k) - tail(n - k)
        if c_log(v * alpha / (a / (us * us) + b)) <= bound:
            return k
