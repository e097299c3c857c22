"""``_standard_gamma`` and ``_sample_dirichlet``: Marsaglia and Tsang's squeeze."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np

from torchlike.random.arithmetic import c_log, c_sqrt, round_to
from torchlike.random.checks import FLOAT32, FLOAT64, not_implemented
from torchlike.random.engine import Engine, atomic, by_engine

# PyTorch writes these as float32 constants.
_THIRD = float(np.float32(1.0 / 3.0))
_SQUEEZE = float(np.float32(0.0331))


@by_engine
@atomic
def standard_gamma(engine: Engine, alpha: np.ndarray) -> np.ndarray:
    """Draw a Gamma(alpha, 1) value for each ``alpha``, of its shape and dtype; at least the
    smallest normal number.

    Draws nothing for alpha 0; 2 words first where alpha < 1; then a scalar normal (with its
    cache) and 2 words for each attempt.

    Raises:
      NotImplementedError: a dtype other than float32 and float64.
    """
    if alpha.dtype not in (FLOAT32, FLOAT64):
        raise not_implemented("gamma_cpu", alpha.dtype)
    return np.array(_samples(engine, alpha), alpha.dtype).reshape(alpha.shape)


@by_engine
@atomic
def dirichlet(engine: Engine, alpha: np.ndarray) -> np.ndarray:
    """Draw a point of the simplex for each row (last axis) of ``alpha``, of its shape and dtype.

    Gammas in double, divided by their sum, kept within the open interval (0, 1). Draws as
    ``standard_gamma``.

    Raises:
      NotImplementedError: a dtype other than float32 and float64.

    Differs from PyTorch: float64 results may differ by 3 ulp, the order of the row sum.
    """
    if alpha.dtype not in (FLOAT32, FLOAT64):
        raise not_implemented("dirichlet", alpha.dtype)
    gammas = np.array(_samples(engine, alpha.astype(np.float64))).reshape(alpha.shape)
    total = gammas.sum(axis=-1, keepdims=True) if alpha.ndim else gammas
    one = alpha.dtype.type(1)
    largest = np.nextafter(one, alpha.dtype.type(0))
    smallest = np.finfo(alpha.dtype).smallest_normal
    return np.clip((gammas / total).astype(alpha.dtype), smallest, largest)


def _samples(engine: Engine, alpha: np.ndarray) -> list[float]:
    smallest = float(ml_dtypes.finfo(alpha.dtype).smallest_normal)
    values = []
    for a in alpha.ravel().tolist():
        value = round_to(_sample(engine, a, alpha.dtype), alpha.dtype)
        # Written so that NaN, the outcome for a negative alpha, gives the smallest too.
        values.append(value if smallest < value else smallest)
    return values


def _sample(engine: Engine, alpha: float, dtype: np.dtype) -> float:
    """Draw one value. G. Marsaglia & W. W. Tsang, "A simple method for generating gamma variables",
    2000."""
    scale = 1.0
    if alpha < 1.0:
        if alpha == 0.0:
            return 0.0
        scale = _power(1.0 - engine.double(), round_to(1.0 / alpha, dtype))
        alpha = round_to(alpha + 1.0, dtype)
    d = round_to(alpha - _THIRD, dtype)
    c = _inverse(c_sqrt(9.0 * d))
    while True:
        while True:
            x = engine.normal()
            y = 1.0 + c * x
            if not y <= 0.0:
                break
        v = y * y * y
        u = 1.0 - engine.double()
        xx = x * x
        if u < 1.0 - _SQUEEZE * xx * xx:
            return scale * d * v
        if c_log(u) < 0.5 * xx + d * (1.0 - v + c_log(v)):
            return scale * d * v


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:  # a negative alpha
        return math.inf


def _inverse(x: float) -> float:
    return 1.0 / x if x else math.inf
