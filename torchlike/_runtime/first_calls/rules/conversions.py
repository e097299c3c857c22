"""From one dtype to another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from torchlike._runtime.first_calls.rules.registry import (
    Equation,
    NoNumpyRule,
    is_complex,
    is_float,
    is_integer,
    rule,
)


@rule("convert_element_type")
def _convert_element_type(eqn: Equation) -> Callable[..., Any]:
    return _converter(np.dtype(eqn.operands[0].dtype), np.dtype(eqn.dtype))


def _converter(source: np.dtype, target: np.dtype) -> Callable[[Any], Any]:
    if source == target:
        return lambda x: x
    if target == np.bool_:
        return lambda x: x != 0
    if is_complex(source) and not is_complex(target):
        of_real = _converter(np.dtype(f"f{source.itemsize // 2}"), target)
        return lambda x: of_real(x.real)
    if is_float(source) and is_integer(target):
        return _saturating(source, target)
    return lambda x: x.astype(target)


def _saturating(source: np.dtype, target: np.dtype) -> Callable[[Any], Any]:
    """Return the function that converts floats to integers as XLA does: what does not fit is the
    nearest number that does, and NaN is 0."""
    limits = np.iinfo(target)
    wide = source if source.kind == "f" and source.itemsize >= 4 else np.dtype(np.float32)
    top, bottom = float(limits.max), float(limits.min)

    def saturated(x: Any) -> np.ndarray:
        x = x.astype(wide, copy=False)
        plain = x.astype(target)
        fits = (x < top) & (x > bottom)  # False for NaN
        if np.all(fits):
            return plain
        outside = np.where(x >= top, limits.max, np.where(x <= bottom, limits.min, 0))
        return np.where(fits, plain, outside.astype(target))

    return saturated


@rule("bitcast_convert_type")
def _bitcast_convert_type(eqn: Equation) -> Callable[..., Any]:
    shape, dtype = eqn.shape, eqn.dtype
    return lambda x: np.array(x, order="C", ndmin=1).view(dtype).reshape(shape)


_BY_BITS = {(8, 7): ml_dtypes.bfloat16, (5, 10): np.float16, (8, 23): np.float32}


@rule("reduce_precision")
def _reduce_precision(eqn: Equation) -> Callable[..., Any]:
    bits = eqn.params["exponent_bits"], eqn.params["mantissa_bits"]
    narrow = _BY_BITS.get(bits)
    if narrow is None:
        raise NoNumpyRule(f"reduce_precision to {bits[0]} and {bits[1]} bits")
    dtype = eqn.dtype
    return lambda x: x.astype(narrow).astype(dtype)
