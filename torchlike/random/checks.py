"""What the fills refuse, in PyTorch's words: names of types and the few shared checks."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np

from torchlike._core.dtypes import c_name, scalar_type

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
HALVES = (FLOAT16, BFLOAT16)
FLOATS = (FLOAT32, FLOAT64, *HALVES)

#: The real dtype a complex dtype is filled as.
COMPONENT = {np.dtype(np.complex64): FLOAT32, np.dtype(np.complex128): FLOAT64}

#: Significant bits: every integer up to 2**bits is a value of the type.
SIGNIFICANT_BITS = {FLOAT32: 24, FLOAT64: 53, FLOAT16: 11, BFLOAT16: 8}


def number(value: float) -> str:
    """Return a double as C++ streams print it: six significant digits."""
    return f"{value:g}"


def not_implemented(kernel: str, dtype: np.dtype) -> NotImplementedError:
    """Return PyTorch's error for a dtype that a kernel does not take."""
    return NotImplementedError(f"\"{kernel}\" not implemented for '{scalar_type(dtype)}'")


def check_std(std: float) -> None:
    """Raise RuntimeError unless ``std >= 0``."""
    if not std >= 0.0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {number(std)}")


@functools.cache
def limits(dtype: np.dtype) -> tuple[float, float]:
    """Return the smallest and the largest finite value of a real dtype (ints for integers and
    bool)."""
    if dtype == np.bool_:
        return 0, 1
    if dtype in FLOATS:
        info = ml_dtypes.finfo(dtype)
        return float(info.min), float(info.max)
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def check_in_bounds(value: float, name: str, dtype: np.dtype) -> None:
    """Raise RuntimeError unless the number ``value`` lies within the limits of ``dtype``."""
    low, high = limits(dtype)
    if not low <= value <= high:
        raise RuntimeError(f"{name} is out of bounds for {c_name(dtype)}")
