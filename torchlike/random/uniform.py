"""Uniform fills, and those made from one double uniform each."""

from __future__ import annotations

import math

import numpy as np

from torchlike.random.engine import Engine
from torchlike.random.rounding import cast, fma32, fma64

_MASK53 = np.uint64((1 << 53) - 1)
_MASK24 = np.uint32((1 << 24) - 1)


def doubles(engine: Engine, n: int) -> np.ndarray:
    """n uniforms in [0, 1) with 53 bits. Draws 2n words."""
    return (engine.words64(n) & _MASK53).astype(np.float64) * 2.0**-53


def floats(engine: Engine, n: int) -> np.ndarray:
    """n uniforms in [0, 1) with the low 24 bits of a word. Draws n words."""
    return (engine.words32(n) & _MASK24).astype(np.float32) * np.float32(2.0**-24)


def uniform(
    engine: Engine, n: int, dtype: np.dtype, low: float = 0.0, high: float = 1.0
) -> np.ndarray:
    """n values of ``[low, high)``. Draws n words (float64: 2n)."""
    if dtype == np.float64:
        x = doubles(engine, n)
        values = fma64(x, high - low, low) if (low, high) != (0.0, 1.0) else x
        return np.where(values == high, low, values)
    x = floats(engine, n)
    a, b = np.float32(low), np.float32(high)
    values = cast(fma32(x, b - a, a) if (low, high) != (0.0, 1.0) else x, dtype)
    # Rounding can reach the upper end, which the interval excludes.
    end = cast(np.asarray(b), dtype)
    if (values == end).any():
        values = np.where(values == end, cast(np.asarray(a), dtype), values)
    return values


def exponential(engine: Engine, n: int, dtype: np.dtype, lambd: float = 1.0) -> np.ndarray:
    """``-log(1 - u) / lambd``. Draws 2n words."""
    x = doubles(engine, n)
    return cast((-1.0 / lambd) * _log1p(-x, dtype), dtype)


def geometric(engine: Engine, n: int, dtype: np.dtype, p: float) -> np.ndarray:
    """How many trials until the first success. Draws 2n words."""
    x = doubles(engine, n)
    return cast(np.ceil(np.log(x) / math.log1p(-p)), dtype)


def cauchy(engine: Engine, n: int, dtype: np.dtype, median: float, sigma: float) -> np.ndarray:
    """``median + sigma * tan(pi * (u - 1/2))``. Draws 2n words."""
    angle = math.pi * (doubles(engine, n) - 0.5)
    if dtype == np.float64:
        tangent = np.array([math.tan(a) for a in angle.tolist()])
    else:
        tangent = np.tan(angle)
    return cast(fma64(tangent, sigma, median), dtype)


def _log1p(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """float64 results want the C library's log1p (NumPy's differs by an ulp in 7 %)."""
    if dtype == np.float64:
        return np.array([math.log1p(v) for v in x.tolist()])
    return np.log1p(x)


def bernoulli(engine: Engine, n: int, p: float) -> np.ndarray:
    """n bools that are True with probability p. Draws 2n words."""
    threshold = np.uint64(math.ceil(p * 2.0**53))
    return (engine.words64(n) & _MASK53) < threshold


def bernoulli_each(engine: Engine, p: np.ndarray) -> np.ndarray:
    """One bool per probability. Draws a word each (float64 probabilities: two)."""
    flat = p.reshape(-1)
    if p.dtype == np.float64:
        return (doubles(engine, flat.size) < flat).reshape(p.shape)
    return (floats(engine, flat.size) < flat.astype(np.float32)).reshape(p.shape)
