"""A strategy for index expressions: what may stand in ``x[...]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._compat import functions
from torchlike.testing.strategies.hypothesis_package import st


def indices(shape: Sequence[int], *, advanced: bool = True, masks: bool = False) -> Any:
    """Indices that a tensor of this shape takes: numbers, slices, None, ``...``, in a tuple.

    Args:
      shape: of the tensor.
      advanced: also tensors and lists of integers, one or two in an index, of one length.
      masks: also tensors of bool over one dimension, in place of tensors of integers. The size of
        the result is their count of True, so compiled functions refuse them.
    """
    size = tuple(shape)

    @st.composite
    def made(draw: Any) -> Any:
        taken = draw(st.integers(0, len(size)))
        length = draw(st.integers(1, 3))
        ways = ["slice", "number", *(["tensor", "list"] if advanced else []),
                *(["mask"] if masks else [])]  # fmt: skip
        # From the back, behind "...", or from the front.
        behind = draw(st.booleans())
        dims = size[len(size) - taken :] if behind else size[:taken]
        parts: list[Any] = []
        masked = False
        for n in dims:
            way = draw(st.sampled_from(ways if n else ["slice"]))
            if way in ("tensor", "list", "mask") and masked:
                way = "number"
            masked = masked or way == "mask"
            parts.append(_part(draw, way, n, length))
        if masked:  # a mask counts as a list of its own length: nothing else beside it
            parts = [
                p if _is_mask(p) or isinstance(p, (slice, int)) else slice(None) for p in parts
            ]
        for _ in range(draw(st.integers(0, 2)) if draw(st.booleans()) else 0):
            parts.insert(draw(st.integers(0, len(parts))), None)
        if behind:
            parts.insert(0, ...)
        elif draw(st.booleans()):
            parts.append(...)
        return parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)

    return made()


def _part(draw: Any, way: str, n: int, length: int) -> Any:
    if way == "number":
        return draw(st.integers(-n, n - 1))
    if way in ("tensor", "list"):
        places = draw(st.lists(st.integers(-n, n - 1), min_size=length, max_size=length))
        return places if way == "list" else functions.from_numpy(np.array(places, np.int64))
    if way == "mask":
        bits = draw(st.lists(st.booleans(), min_size=n, max_size=n))
        return functions.from_numpy(np.array(bits))
    ends = st.none() | st.integers(-n - 1, n + 1)
    return slice(draw(ends), draw(ends), draw(st.none() | st.integers(1, 3)))


def _is_mask(part: Any) -> bool:
    return getattr(getattr(part, "dtype", None), "name", "") == "bool"
