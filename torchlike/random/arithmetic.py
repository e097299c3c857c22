"""Arithmetic that numpy lacks: fused multiply-add, sure rounding, and the C library's edges.

PyTorch's fills are compiled with FMA instructions; a separate multiply and add gives other last
bits in 30 to 50 % of the values. Both forms here round once, for every input.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from jax import lax

from torchlike.random.checks import FLOAT64, HALVES

_SMALLEST_NORMAL32 = 2.0**-126

#: Numbers below this are finite in every floating dtype.
_SURELY_FINITE = 6e4


def as_complex(pairs: Any, dtype: np.dtype) -> Any:
    """Return pairs of reals, along the last axis of an array of NumPy's or of JAX's, as complex
    numbers of ``dtype``."""
    if isinstance(pairs, np.ndarray):
        return np.ascontiguousarray(pairs).view(dtype)[..., 0]
    return lax.complex(pairs[..., 0], pairs[..., 1])


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded sum and its rounding error (Knuth): a + b = s + error, exactly."""
    s = a + b
    b_part = s - a
    return s, (a - (s - b_part)) + (b - b_part)


def _to_odd(s: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return ``s + error`` rounded to odd, so that rounding it once more is as good as rounding
    once.

    Boldo & Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
    rounding to odd", 2008.
    """
    inexact_even = (error != 0) & ((s.view(np.int64) & 1) == 0)
    towards = np.nextafter(s, np.copysign(np.inf, error))
    return np.where(inexact_even, towards, s)


def fma32(a: np.ndarray, b: Any, c: Any) -> np.ndarray:
    """Return a * b + c with a single rounding, float32; b and c are float32 arrays or scalars.

    The product of two float32 is exact in float64; the sum is rounded there and then again. That
    second rounding can go wrong only on a float32 tie or below the normal numbers: those few
    sums are rounded to odd first.
    """
    product = np.multiply(a, b, dtype=np.float64)
    addend = np.float64(c) if np.ndim(c) == 0 else c.astype(np.float64)
    s = product + addend
    risky = (s.view(np.int64) & 0x1FFFFFFF) == 0x10000000
    risky |= np.abs(s) < _SMALLEST_NORMAL32
    if risky.any():
        where = np.nonzero(risky)
        addends = np.broadcast_to(addend, s.shape)[where]
        s[where] = _to_odd(*_two_sum(product[where], addends))
    return s.astype(np.float32)


def fma64(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """Return a * b + c with a single rounding, float64, for an array ``a`` and Python floats b,
    c."""
    if c == 0.0:
        return a * b + 0.0  # -0 becomes +0, as in the fused form
    if not (math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    if abs(math.frexp(b)[0]) in (0.0, 0.5):  # zero or a power of two: the product is exact
        return a * b + c
    # Splitting the product exactly needs room on both sides of the exponent range.
    if not (2.0**-800 < abs(b) < 2.0**800 and abs(c) < 2.0**900):
        exact = [_fma_by_fractions(x, b, c) for x in a.ravel().tolist()]
        return np.array(exact, np.float64).reshape(a.shape)
    product, product_error = _two_product(a, b)
    addend = np.full_like(a, c)
    low_sum, low_error = _two_sum(addend, product_error)
    high_sum, high_error = _two_sum(product, low_sum)
    return high_sum + _to_odd(*_two_sum(high_error, low_error))


def _two_product(a: np.ndarray, b: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded product and its error (Dekker, with Veltkamp's splitting by 2**27 + 1)."""
    scaled = a * 134217729.0
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    scaled_b = b * 134217729.0
    b_high = scaled_b - (scaled_b - b)
    b_low = b - b_high
    product = a * b
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _fma_by_fractions(a: float, b: float, c: float) -> float:
    try:
        exact = Fraction(a) * Fraction(b) + Fraction(c)
    except (OverflowError, ValueError):  # `a` is infinite or not a number
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return ``values`` as ``dtype``; to the half types through float32, so with two roundings.

    Floats to integers as the C++ casts do on x86-64: out of range gives the smallest int64 or
    int32, and narrower integers are the low bits of an int32.
    """
    if values.dtype == dtype:
        return values
    with np.errstate(over="ignore", invalid="ignore"):
        if dtype in HALVES:
            return values.astype(np.float32).astype(dtype)
        if dtype.kind in "iu" and values.dtype.kind == "f" and dtype.itemsize < 4:
            return values.astype(np.int32).astype(dtype)
        return values.astype(dtype)


def round_to(value: float, dtype: np.dtype) -> float:
    """Return the Python float ``value`` rounded to ``dtype``, as a Python float."""
    if abs(value) < _SURELY_FINITE:
        # Without the array and the error state that `cast` needs: 0.4 µs instead of 3.
        return float(value if dtype == FLOAT64 else dtype.type(np.float32(value)))
    return float(cast(np.array([value]), dtype)[0])


# -- a tensor and a Python number, as PyTorch computes them ----------------------------------------
# The half types compute in float32 and round the result. A number to add is rounded to the half
# type first, a number to multiply with or divide by only to float32.


def _work(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32) if values.dtype in HALVES else values


def add_scalar(values: np.ndarray, number: float) -> np.ndarray:
    """Return values + number, in the dtype of ``values``."""
    work = _work(values)
    return cast(work + work.dtype.type(round_to(number, values.dtype)), values.dtype)


def multiply_scalar(values: np.ndarray, number: float) -> np.ndarray:
    """Return values * number, in the dtype of ``values``."""
    work = _work(values)
    return cast(work * work.dtype.type(number), values.dtype)


def divide_scalar(values: np.ndarray, number: float) -> np.ndarray:
    """Return values / number, in the dtype of ``values``."""
    work = _work(values)
    return cast(work / work.dtype.type(number), values.dtype)


def rounded_surely(
    approximate: np.ndarray,
    slack: np.ndarray,
    exact: Callable[[np.ndarray], np.ndarray],
    finish: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the results of ``finish`` on the C library's values, mostly by way of numpy's faster
    ones.

    numpy's vector log1p, tan and log may differ from the C library's in the last bits. ``finish``
    (a rounding, a ceiling) is monotone and hides that unless a step of it lies within ``slack``
    of the approximate value; there ``exact(indices)`` gives the C library's value. For float32
    results that is about one value in 10**7.
    """
    low, high = finish(approximate - slack), finish(approximate + slack)
    unsure = np.nonzero(low != high)[0]
    if unsure.size:
        high[unsure] = finish(exact(unsure))
    return high


# -- C's functions where Python's raise ------------------------------------------------------------


def c_log(x: float) -> float:
    """Return log with C's edges: -inf at 0, nan below."""
    if x > 0.0:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan


def c_exp(x: float) -> float:
    """Return exp with C's edge: inf where it overflows."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def c_sqrt(x: float) -> float:
    """Return sqrt with C's edge: nan below 0."""
    return math.nan if x < 0.0 else math.sqrt(x)
