"""Indices of numbers, slices and one Ellipsis, which most are: their view, without asking what else
an index may be."""

from __future__ import annotations

from types import EllipsisType, NoneType
from typing import Any

from torchlike._ops.shape.views import select, sliced
from torchlike.tensor import Tensor

_KINDS = frozenset((int, slice, EllipsisType))
_BOUNDS = frozenset((int, NoneType))


def view_of(x: Tensor, item: Any) -> Tensor | None:
    """Return the view that a plain index takes. None where the index is of another kind, takes all
    of ``x``, or is to be refused: `indexing.take_apart` knows all of them."""
    items = item if type(item) is tuple else (item,)
    if not _KINDS.issuperset(map(type, items)):
        return None
    size = x._geometry.size
    d, skipped, taken = 0, len(size) - len(items) + 1, []
    for i in items:
        if type(i) is EllipsisType:
            if skipped < 0:
                return None
            d += skipped
            skipped = -1  # a second one stands for no dimension
            continue
        if d >= len(size) or type(size[d]) is not int:
            return None
        if type(i) is int:
            if not -size[d] <= i < size[d]:
                return None
            taken.append((i, d))
        elif i.step is not None or type(i.start) not in _BOUNDS or type(i.stop) not in _BOUNDS:
            return None
        elif i.start or (i.stop is not None and i.stop < size[d]):  # by what is written: 1: counts
            taken.append((i, d))
        d += 1
    view = x
    selected = 0
    for i, d in taken:
        if type(i) is int:
            view = select(view, d - selected, i % size[d])
            selected += 1
        else:
            start, stop, _ = i.indices(size[d])
            view = sliced(view, d - selected, start, max(stop - start, 0), 1, "SliceBackward0")
    return view if taken else None
