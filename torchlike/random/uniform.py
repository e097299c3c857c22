"""Uniform fills: where the words become floats in [0, 1), and in [from, to)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from torchlike._core.dtypes import scalar_type
from torchlike.random.arithmetic import as_complex, cast, fma32, fma64, round_to
from torchlike.random.checks import (
    COMPONENT,
    FLOAT32,
    FLOAT64,
    FLOATS,
    check_in_bounds,
    limits,
    not_implemented,
    number,
)
from torchlike.random.engine import MASK53, UNIT53, Engine, atomic, by_engine

#: Elements made at a time: a few arrays of this size stay in the second-level cache, which made
#: float32 uniforms 2 times as fast as whole-array passes over a million numbers.
CHUNK = 1 << 14


def chunks(n: int) -> Iterator[tuple[int, int]]:
    """Yield the half-open pieces [start, stop) of at most ``CHUNK`` elements that cover
    ``range(n)``."""
    for start in range(0, n, CHUNK):
        yield start, min(start + CHUNK, n)


def unit_floats(words: np.ndarray) -> np.ndarray:
    """Convert uint32 words to float32 in [0, 1): the LOW 24 bits of each. Overwrites ``words``."""
    words &= np.uint32(0xFFFFFF)
    floats = words.view(np.int32).astype(np.float32)
    floats *= np.float32(2.0**-24)
    return floats


def unit_doubles(engine: Engine, n: int) -> np.ndarray:
    """Draw ``n`` float64 in [0, 1): the low 53 bits of 64-bit words. Draws 2n words."""
    words = engine.words64(n)
    words &= np.uint64(MASK53)
    doubles = words.view(np.int64).astype(np.float64)
    doubles *= UNIT53
    return doubles


def _check_bounds(from_: float, to: float, dtype: np.dtype) -> None:
    """Raise RuntimeError, in PyTorch's words, unless [from, to) is a range of ``dtype``'s
    values."""
    check_in_bounds(from_, "from", dtype)
    check_in_bounds(to, "to", dtype)
    if not from_ <= to:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={number(from_)} > "
            f"to={number(to)}"
        )
    if not to - from_ <= limits(dtype)[1]:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{scalar_type(dtype)}>::max(), but "
            f"found to={number(to)} and from={number(from_)} which result in to-from to exceed "
            "the limit"
        )


@atomic
def uniform(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, from_: float = 0.0, to: float = 1.0
) -> np.ndarray:
    """Draw uniforms on [from, to): PyTorch's ``uniform_``; with the defaults, ``rand``.

    Draws 1 word an element (float32 and the half types), 2 for float64, and twice that for
    complex dtypes, whose real and imaginary parts are drawn one after the other.

    Returns:
      An array of ``shape`` and ``dtype``. A value that rounding took to ``to`` becomes ``from``.

    Raises:
      RuntimeError: a bound outside the dtype, from > to, or a range wider than the dtype.
      NotImplementedError: an integer or boolean dtype.
    """
    if dtype in COMPONENT:
        return as_complex(uniform(engine, (*shape, 2), COMPONENT[dtype], from_, to), dtype)
    if dtype not in FLOATS:
        raise not_implemented("check_uniform_bounds", dtype)
    _check_bounds(from_, to, dtype)
    return uniform_numbers(engine, shape, dtype, from_, to)


@by_engine
def uniform_numbers(
    engine: Engine, shape: tuple[int, ...], dtype: np.dtype, from_: float, to: float
) -> np.ndarray:
    """Draw what `uniform` does, of a range and a floating point dtype that were checked."""
    flat = np.empty(math.prod(shape), dtype)
    if dtype == FLOAT64:
        _uniform64(engine, flat, float(from_), float(to))
    else:
        _uniform32(engine, flat, np.float32(from_), np.float32(to))
    return flat.reshape(shape)


def _uniform64(engine: Engine, out: np.ndarray, from_: float, to: float) -> None:
    plain = from_ == 0.0 and to == 1.0
    for start, stop in chunks(out.size):
        doubles = unit_doubles(engine, stop - start)
        if not plain:
            doubles = fma64(doubles, to - from_, from_)
            doubles[doubles == to] = from_
        out[start:stop] = doubles


def _uniform32(engine: Engine, out: np.ndarray, from_: np.float32, to: np.float32) -> None:
    plain = from_ == 0.0 and to == 1.0
    if plain and out.dtype == FLOAT32:  # the only case that is sure to stay below its upper end
        for start, stop in chunks(out.size):
            out[start:stop] = unit_floats(engine.words32(stop - start))
        return
    top, bottom = round_to(float(to), out.dtype), round_to(float(from_), out.dtype)
    for start, stop in chunks(out.size):
        floats = unit_floats(engine.words32(stop - start))
        if not plain:
            floats = fma32(floats, to - from_, from_)
        values = cast(floats, out.dtype)
        values[values == top] = bottom
        out[start:stop] = values
