"""Casts and fused multiply-adds that give PyTorch's last bits in NumPy.

PyTorch's fills are compiled with AVX2 and FMA; a separate multiply and add gives other last bits in
30-50 % of the values.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def cast(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Cast as PyTorch does: to float16 and bfloat16 through float32 (two roundings)."""
    if dtype.itemsize == 2 and dtype.kind not in "iub" and values.dtype != np.float32:
        values = values.astype(np.float32)
    return values.astype(dtype, copy=False)


def fma32(x: np.ndarray, y: Any, z: Any) -> np.ndarray:
    """``x * y + z`` in float32 with one rounding.

    The product is exact in float64. The sum is rounded to float64 first, which only matters when it
    falls on a float32 tie although it was itself rounded: then it is moved an ulp towards the exact
    value.
    """
    product = np.asarray(x, np.float64) * np.float64(np.float32(y)) if np.ndim(y) == 0 else (
        np.asarray(x, np.float64) * np.asarray(y, np.float64))  # fmt: skip
    addend = np.asarray(z, np.float32).astype(np.float64)
    total = product + addend
    tie = (total.view(np.uint64) & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)
    if tie.any():
        virtual = total - product
        error = (product - (total - virtual)) + (addend - virtual)
        up, down = tie & (error > 0), tie & (error < 0)
        total = np.where(up, np.nextafter(total, np.inf), total)
        total = np.where(down, np.nextafter(total, -np.inf), total)
    return total.astype(np.float32)


def fma64(x: np.ndarray, y: float, z: float) -> np.ndarray:
    """``x * y + z`` in float64 with one rounding (Dekker's product and a two-sum)."""
    x = np.asarray(x, np.float64)
    if z == 0.0:
        return x * y + 0.0
    if y == 1.0:
        return x + z
    high, low = _product(x, np.float64(y))
    total = high + z
    virtual = total - high
    error = (high - (total - virtual)) + (z - virtual)
    return total + (error + low)


def _product(a: np.ndarray, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """``a * b`` as an unevaluated sum of two doubles."""
    split = np.float64((1 << 27) + 1)
    c = split * a
    a_high = c - (c - a)
    a_low = a - a_high
    d = split * b
    b_high = d - (d - b)
    b_low = b - b_high
    p = a * b
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low
