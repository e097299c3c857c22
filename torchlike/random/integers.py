"""Integer fills: ``random_`` in its three forms, and ``randint``."""

from __future__ import annotations

import math
import warnings

import numpy as np

from torchlike._core.dtypes import c_name
from torchlike.random.arithmetic import cast
from torchlike.random.checks import (
    FLOAT16,
    FLOAT64,
    FLOATS,
    SIGNIFICANT_BITS,
    check_in_bounds,
    limits,
    not_implemented,
)
from torchlike.random.engine import Engine, atomic, by_engine
from torchlike.random.uniform import chunks

#: A range this wide or wider takes 64-bit words, whatever the dtype.
WIDE = 1 << 28

_INT64_MIN = -(1 << 63)
_INT64 = np.dtype(np.int64)
_BOOL = np.dtype(np.bool_)
_UNSIGNED = (np.dtype(np.uint16), np.dtype(np.uint32), np.dtype(np.uint64))
#: What ``random_()`` gives: the word modulo this.
_FULL_SPAN = {
    _INT64: 1 << 63,
    np.dtype(np.int32): 1 << 31,
    np.dtype(np.int16): 1 << 15,
    np.dtype(np.int8): 1 << 7,
    np.dtype(np.uint8): 1 << 8,
    _BOOL: 2,
} | {dtype: (1 << bits) + 1 for dtype, bits in SIGNIFICANT_BITS.items()}


@atomic
def random(
    engine: Engine,
    shape: tuple[int, ...],
    dtype: np.dtype,
    low: int | None = None,
    high: int | None = None,
) -> np.ndarray:
    """Draw integers as PyTorch's ``random_``: (), (low, None) and (low, high); ``random_(n)`` is
    (0, n).

    Without bounds: the non-negative integers of the dtype (for floats 0 to 2**bits inclusive).
    With ``high`` None: from ``low`` to the largest of these. Floats get integers; their bounds
    are first moved inwards where rounding would step over them.

    Draws 1 word an element; 2 where the range is 2**28 or wider, and 2 for int64 and float64
    without bounds.

    Raises:
      RuntimeError: low >= high, or a bound outside the dtype.
      NotImplementedError: a dtype without this form.
    """
    if low is None:
        return _full(engine, shape, dtype)
    if high is None:
        return _from(engine, shape, dtype, low)
    return randint(engine, shape, dtype, low, high)


@atomic
def randint(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, low: int, high: int
) -> np.ndarray:
    """Draw integers in [low, high) as ``dtype``: ``randint`` and ``random_(low, high)``.

    Draws 1 word an element, 2 where high - low >= 2**28.

    Raises:
      ValueError: a bound outside int64.
      RuntimeError: low >= high, a bound outside the dtype, or a complex dtype.
    """
    for bound in (low, high):
        if not _INT64_MIN <= bound < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    if dtype.kind == "c":
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    if dtype in FLOATS:
        low, high = _narrow_low(low, dtype), _narrow_high(high, dtype)
        if low >= high:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
                f"but got from={low} >= to={high}"
            )
    elif dtype.kind not in "iub":
        raise not_implemented("random_update_from_to", dtype)
    _check_range(low, high - 1, dtype)
    return integer_numbers(engine, shape, dtype, high - low, low, high - low >= WIDE)


def _full(engine: Engine, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    span = _FULL_SPAN.get(dtype)
    if span is None:
        if math.prod(shape) == 0:
            return np.empty(shape, dtype)
        raise not_implemented("random_kernel_cpu", dtype)
    return integer_numbers(engine, shape, dtype, span, 0, dtype in (_INT64, FLOAT64))


def _from(engine: Engine, shape: tuple[int, ...], dtype: np.dtype, low: int) -> np.ndarray:
    if not _INT64_MIN <= low < 1 << 63:
        raise ValueError("Overflow when unpacking long long")
    if low == _INT64_MIN:
        return _every_int64(engine, shape, dtype)
    if dtype in FLOATS:
        last = 1 << SIGNIFICANT_BITS[dtype]
        low = _narrow_low(low, dtype)
        # PyTorch's words allow equality, its check does not.
        if low >= last:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' "
                f"casted to dtype, but got from={low} > to_inc={last}"
            )
    elif dtype.kind in "iub":
        last = int(limits(dtype)[1])
        if last >= 1 << 63:  # uint64: its maximum is -1 as the int64 that PyTorch computes with
            last = -1
    else:
        raise not_implemented("random_from_to_range_calc", dtype)
    _check_range(low, last, dtype)
    span = last - low + 1
    return integer_numbers(engine, shape, dtype, span, low, span >= WIDE)


def _every_int64(engine: Engine, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    kernel = "random_full_64_bits_range_kernel_cpu"
    if (dtype != _INT64 and dtype not in FLOATS) or dtype == FLOAT16:
        if dtype.kind in "iu" and dtype not in _UNSIGNED:
            raise RuntimeError(f"{kernel} handles only int64, double, float and bfloat16")
        raise not_implemented(kernel, dtype)
    return integer_numbers(engine, shape, dtype, 1 << 64, 0, True)


def _narrow_low(low: int, dtype: np.dtype) -> int:
    """Return ``low``, raised to the next value of ``dtype`` if low + 1 would round below it."""
    rounded = _as_float(low + 1, dtype)
    if not math.isfinite(rounded) or int(rounded) >= low:
        return low
    return int(rounded) + _spacing(low + 1, dtype)


def _narrow_high(high: int, dtype: np.dtype) -> int:
    """Return ``high``, lowered if high - 1 would round up to it."""
    rounded = _as_float(high - 1, dtype)
    if not math.isfinite(rounded) or int(rounded) < high:
        return high
    return int(rounded) - _spacing(high - 1, dtype)


def _as_float(value: int, dtype: np.dtype) -> float:
    """Return an int64 as a value of ``dtype``: not by way of a double, which would round once
    more."""
    return float(cast(np.array([value], np.int64), dtype)[0])


def _spacing(value: int, dtype: np.dtype) -> int:
    """Return the distance between the values of ``dtype`` around ``value``."""
    return 1 << (abs(value).bit_length() - SIGNIFICANT_BITS[dtype])


def _check_range(first: int, last: int, dtype: np.dtype) -> None:
    """Refuse, with RuntimeError, bounds outside the dtype, and warn where floats skip integers."""
    for value, name in ((first, "from"), (last, "to - 1")):
        check_in_bounds(value, name, dtype)
    if dtype not in FLOATS:
        return
    bits = SIGNIFICANT_BITS[dtype]
    for value, name in ((first, "from"), (last, "to - 1")):
        if abs(value) > 1 << bits:
            warnings.warn(
                f"{name} is out of bounds [-(2^{bits}), 2^{bits}]. Due to precision limitations "
                f"{c_name(dtype)} can support discrete uniform distribution only within this "
                "range.",
                UserWarning,
                stacklevel=4,
            )


@by_engine
def integer_numbers(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, span: int, low: int, wide: bool
) -> np.ndarray:
    """Draw word % span + low in wrapping int64 arithmetic, cast to ``dtype``.

    Draws 2 words an element where ``wide`` is said, else 1.
    """
    flat = np.empty(math.prod(shape), dtype)
    addend = np.int64(low)
    for start, stop in chunks(flat.size):
        if wide:
            words = engine.words64(stop - start)
            if span < 1 << 64:
                words = _modulo(words, span)
            values = words.view(np.int64)
        else:
            values = _modulo(engine.words32(stop - start), span).view(np.int32)
            if low:
                values = values.astype(np.int64)
        if low:
            values += addend
        flat[start:stop] = cast(values, dtype)
    return flat.reshape(shape)


def _modulo(words: np.ndarray, span: int) -> np.ndarray:
    if span & (span - 1) == 0:
        words &= words.dtype.type(span - 1)
        return words
    return words % words.dtype.type(span)
