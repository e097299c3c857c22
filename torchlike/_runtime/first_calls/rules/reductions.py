"""Sums, products, extrema and their places, along dimensions and cumulative."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._runtime.first_calls.rules.registry import (
    Equation,
    NoNumpyRule,
    Rule,
    highest,
    is_complex,
    is_half,
    lowest,
    rule,
)


def _reducing(ufunc: np.ufunc, identity: Callable[[Any], Any]) -> Rule:
    def reduction(eqn: Equation) -> Callable[..., Any]:
        axes, dtype = tuple(eqn.params["axes"]), eqn.dtype
        extremum = ufunc in (np.maximum, np.minimum)
        if is_complex(dtype) and extremum:
            raise NoNumpyRule("extrema of complex numbers")
        if math.prod(eqn.operands[0].shape) == 0:
            value = np.full(eqn.shape, identity(dtype), dtype)
            return lambda x: value
        if extremum and dtype.kind in "fiu" and not is_half(dtype):
            return _extrema(ufunc, axes, eqn.operands[0].shape)
        if extremum or dtype == np.bool_:
            return lambda x: ufunc.reduce(x, axis=axes)
        if is_half(dtype):
            return lambda x: ufunc.reduce(x, axis=axes, dtype=np.float32).astype(dtype)
        return lambda x: ufunc.reduce(x, axis=axes, dtype=dtype)

    return reduction


def _extrema(ufunc: np.ufunc, axes: tuple[int, ...], shape: tuple[int, ...]) -> Callable[..., Any]:
    """Return the reduction, of rows by ``reduceat``: NumPy's own takes 1.4 to 2.8 times as long for
    rows of up to 512 numbers (32 of 32: 3.6 and 2.2 µs)."""
    kept = len(shape) - len(axes)
    if sorted(axes) != list(range(kept, len(shape))):
        return lambda x: ufunc.reduce(x, axis=axes)
    rows = shape[:kept]
    starts = np.arange(0, math.prod(shape), math.prod(shape[kept:]))

    def of_rows(x: Any) -> Any:
        if not x.flags.c_contiguous:  # flat it would be a copy
            return ufunc.reduce(x, axis=axes)
        return ufunc.reduceat(x.reshape(-1), starts).reshape(rows)

    return of_rows


def _all_bits(dtype: Any) -> Any:
    return True if dtype == np.bool_ else np.array(-1).astype(dtype)


for _name, _ufunc, _identity in (
    ("reduce_sum", np.add, lambda dtype: 0),
    ("reduce_prod", np.multiply, lambda dtype: 1),
    ("reduce_max", np.maximum, lowest),
    ("reduce_min", np.minimum, highest),
    ("reduce_and", np.bitwise_and, _all_bits),
    ("reduce_or", np.bitwise_or, lambda dtype: 0),
    ("reduce_xor", np.bitwise_xor, lambda dtype: 0),
):
    rule(_name)(_reducing(_ufunc, _identity))


def _place_of(function: Callable[..., Any]) -> Rule:
    def place(eqn: Equation) -> Callable[..., Any]:
        if is_complex(eqn.operands[0].dtype) or len(eqn.params["axes"]) != 1:
            raise NoNumpyRule("place of an extremum")
        (dim,), dtype = eqn.params["axes"], np.dtype(eqn.params["index_dtype"])
        return lambda x: function(x, axis=dim).astype(dtype)

    return place


rule("argmax")(_place_of(np.argmax))
rule("argmin")(_place_of(np.argmin))


#: From so many elements on running results are made part by part.
_LARGE = 1 << 16
#: A part that stays in the processor's cache, in elements.
_PART = 1 << 15


def _accumulated_in_parts(ufunc: np.ufunc, x: np.ndarray, dim: int, dtype: Any, wide: Any) -> Any:
    """Return the running result along a dimension, computed in the dtype ``wide``.

    Where many elements lie behind one another in the dimensions after it, all of them are taken a
    step on at a time (2048 × 2048 along 0: 15 ms, where ``ufunc.accumulate`` jumps from row to row
    for 196, and 289 in double). Else some rows are computed at a time, so that those in double
    precision stay in the cache (along 1: 43 ms for 73).
    """
    shape, n = x.shape, x.shape[dim]
    inner = math.prod(shape[dim + 1 :])
    x = x.reshape(-1, n, inner)
    out = np.empty(x.shape, dtype)
    if inner >= _WIDE_STEP:
        total = x[:, 0].astype(wide)
        out[:, 0] = total
        for i in range(1, n):
            ufunc(total, x[:, i], out=total)
            out[:, i] = total
    else:
        rows = max(1, _PART // (n * inner))
        for i in range(0, len(x), rows):
            out[i : i + rows] = ufunc.accumulate(x[i : i + rows], axis=1, dtype=wide)
    return out.reshape(shape)


#: Elements of a step that are worth a call of NumPy's.
_WIDE_STEP = 64


def _cumulative(ufunc: np.ufunc) -> Rule:
    def accumulation(eqn: Equation) -> Callable[..., Any]:
        dim, backwards, dtype = eqn.params["axis"], eqn.params["reverse"], eqn.dtype
        if is_half(dtype) or is_complex(dtype):
            raise NoNumpyRule("cumulative results in half precision or complex")

        # One by one, sums in single precision lose a digit with each ten thousand elements.
        wide = np.float64 if ufunc is np.add and dtype == np.float32 else dtype

        def along(x: Any) -> np.ndarray:
            if x.size < _LARGE:
                return ufunc.accumulate(x, axis=dim, dtype=wide).astype(dtype, copy=False)
            return _accumulated_in_parts(ufunc, x, dim, dtype, wide)

        if backwards:
            return lambda x: np.flip(along(np.flip(x, dim)), dim)
        return along

    return accumulation


for _name, _ufunc in (
    ("cumsum", np.add),
    ("cumprod", np.multiply),
    ("cummax", np.maximum),
    ("cummin", np.minimum),
    ("cumlogsumexp", np.logaddexp),
):
    rule(_name)(_cumulative(_ufunc))
