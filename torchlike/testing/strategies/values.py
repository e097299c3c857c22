"""The elements of drawn tensors, each of which shrinks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from torchlike._core import dtypes as _dtypes
from torchlike.testing.strategies.hypothesis_package import arrays, st

#: In a larger array most elements are one value: each that is drawn takes of hypothesis's bytes.
_DRAWN_ONE_BY_ONE = 256
#: Of so many arrays one has elements that are not drawn.
_SOME_NOT_DRAWN = 4


def values(kind: _dtypes.dtype, shape: tuple[int, ...], special: bool, low: Any, high: Any) -> Any:
    """Return a strategy for NumPy arrays of a dtype.

    Args:
      kind: the dtype of the elements.
      shape: of the arrays.
      special: whether elements may also be NaN, infinities, zeros of both signs, the smallest
        normal and the extreme numbers of the dtype. Without it floats are 0 or at least the
        dtype's eps in size, so that no product of a few of them underflows.
      low, high: bounds of the other elements, and of their real and imaginary parts.
    """
    if kind is _dtypes.bool:
        return _arrays(np.dtype(bool), shape, st.booleans(), False)
    if kind.category < 2:
        return _integers(kind, shape, special, low, high)
    if not kind.is_complex:
        return _floats(kind, shape, special, low, high)
    part = _dtypes.float64 if kind is _dtypes.complex128 else _dtypes.float32
    pairs = _floats(part, (*shape, 2), special, low, high)
    return pairs.map(lambda found: found.view(kind.numpy)[..., 0])


def _integers(
    kind: _dtypes.dtype, shape: tuple[int, ...], special: bool, low: Any, high: Any
) -> Any:
    facts = _dtypes.iinfo(kind)
    least, most = max(math.ceil(low), facts.min), min(math.floor(high), facts.max)
    elements = st.integers(least, most)
    if special:
        elements |= st.sampled_from((0, facts.max, facts.min))
    return _arrays(np.dtype(kind.numpy), shape, elements, min(max(0, least), most))


def _floats(kind: _dtypes.dtype, shape: tuple[int, ...], special: bool, low: Any, high: Any) -> Any:
    facts: Any = _dtypes.finfo(kind)
    width = {_dtypes.float64: 64, _dtypes.float16: 16}.get(kind, 32)
    least, most = _bounds(kind, max(low, facts.min), min(high, facts.max))
    elements = st.floats(least, most, width=width, allow_subnormal=False)
    if special:
        rare = (0.0, -0.0, facts.tiny, facts.max, facts.min, math.inf, -math.inf, math.nan)
        elements |= st.sampled_from(rare)

    def rounded(found: np.ndarray) -> np.ndarray:
        if not special and least <= 0 <= most and max(-least, most) > facts.eps:
            found = np.where(abs(found) < facts.eps, found.dtype.type(0), found)
        return np.asarray(found.astype(kind.numpy))

    simplest = min(max(0.0, least), most)
    return _arrays(np.dtype(f"float{width}"), shape, elements, simplest).map(rounded)


def _arrays(dtype: np.dtype, shape: tuple[int, ...], elements: Any, simplest: Any) -> Any:
    if math.prod(shape) <= _DRAWN_ONE_BY_ONE:
        return _one_by_one(dtype, shape, elements, simplest)
    return arrays(dtype, shape, elements=elements)


@st.composite
def _one_by_one(
    draw: Any, dtype: np.dtype, shape: tuple[int, ...], elements: Any, simplest: Any
) -> np.ndarray:
    """Draw elements, all of them or those at the beginning: hypothesis, which takes what was drawn
    away, moves a value to the front so, and from there into a smaller shape."""
    found = np.full(math.prod(shape), simplest, dtype)
    if found.size:
        for i in range(min(draw(st.integers(0, _SOME_NOT_DRAWN * found.size)), found.size)):
            found[i] = draw(elements)
    return found.reshape(shape)


def _bounds(kind: _dtypes.dtype, low: float, high: float) -> tuple[float, float]:
    """Return the least and the largest number of a dtype between two bounds; those that are nearest
    to the bounds where there is none between them."""
    number = np.dtype(kind.numpy).type
    least, most = number(low), number(high)
    inner_least = np.nextafter(least, number(math.inf)) if float(least) < low else least
    inner_most = np.nextafter(most, number(-math.inf)) if float(most) > high else most
    if inner_least <= inner_most:
        least, most = inner_least, inner_most
    return float(least), float(most)
