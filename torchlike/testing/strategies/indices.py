"""A strategy for index expressions: what may stand in ``x[...]``."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._ops import functions
from torchlike.testing.strategies.hypothesis_package import st


def indices(shape: Sequence[int], *, advanced: bool = True, masks: bool = False) -> Any:
    """Return a strategy for indices that a tensor of this shape takes: numbers, slices, None,
    ``...``, in a tuple.

    Args:
      shape: of the tensor.
      advanced: also tensors and lists of integers, one or two in an index, of one length.
      masks: also tensors of bool over one dimension, in place of tensors of integers. The size of
        the result is their count of True, so compiled functions refuse them.

    Returns:
      the strategy, of tuples.

    Example:
      >>> import hypothesis
      >>> from torchlike.testing import strategies
      >>> @hypothesis.settings(max_examples=5, database=None, deadline=None)
      ... @hypothesis.given(strategies.indices((3, 4), advanced=False))
      ... def check(index):
      ...     assert torch.ones(3, 4)[index].sum() == torch.ones(3, 4)[index].numel()
      >>> check()
    """
    size = tuple(shape)

    ways = [
        "slice",
        "number",
        *(["tensor", "list"] if advanced else []),
        *(["mask"] if masks else []),
    ]

    @st.composite
    def made(draw: Any) -> Any:
        taken = draw(st.integers(0, len(size)))
        length = draw(_LENGTHS)
        ellipsis = draw(_PLACES)
        dims = size[len(size) - taken :] if ellipsis == "before" else size[:taken]
        parts: list[Any] = []
        for n in dims:
            way = draw(st.sampled_from(ways)) if n else "slice"
            parts.append(draw(_parts(way, n, length)))
        if any(map(_is_mask, parts)):  # its length is its own: no list beside it
            mask = next(p for p in parts if _is_mask(p))
            parts = [p if p is mask or type(p) in (slice, int) else slice(None) for p in parts]
        for _ in range(draw(_NEW_DIMENSIONS)):
            parts.insert(draw(st.integers(0, len(parts))), None)
        if ellipsis != "none":
            parts.insert(0 if ellipsis == "before" else len(parts), ...)
        return parts[0] if len(parts) == 1 and length == 1 else tuple(parts)

    return made()


_LENGTHS = st.integers(1, 3)
_PLACES = st.sampled_from(("none", "none", "before", "behind"))
_NEW_DIMENSIONS = st.sampled_from((0, 0, 0, 1, 2))


@functools.cache
def _parts(way: str, n: int, length: int) -> Any:
    """Return a strategy for what stands for a dimension of this size. Few draws each: they are most
    of what an example costs."""
    if way == "number":
        return st.integers(-n, n - 1)
    if way in ("tensor", "list"):
        places = st.lists(st.integers(-n, n - 1), min_size=length, max_size=length)
        return places if way == "list" else _made_by(_tensor, places)
    if way == "mask":
        bits = st.lists(st.booleans(), min_size=n, max_size=n)
        return _made_by(_mask, bits)
    ends = (None, *range(n + 2), *range(-1, -n - 2, -1))
    return st.sampled_from([slice(*s) for s in itertools.product(ends, ends, (None, 1, 2, 3))])


@st.composite
def _made_by(draw: Any, make: Any, parts: Any) -> Any:
    """Map the parts to what ``make`` gives of them. ``parts.map(make)`` would print as a call of
    ``make``, which nobody can paste."""
    return make(draw(parts))


def _tensor(places: list[int]) -> Any:
    return functions.from_numpy(np.array(places, np.int64))


def _mask(bits: list[bool]) -> Any:
    return functions.from_numpy(np.array(bits))


def _is_mask(part: Any) -> bool:
    return getattr(getattr(part, "dtype", None), "name", "") == "bool"
