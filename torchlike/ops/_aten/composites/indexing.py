"""``x[...]`` and ``x[...] = …``: selects, slices, ``index`` and ``index_put_``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._compat.symbolic import SymInt, expression_of, is_symbolic, perhaps, surely
from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.ops._aten.handlers import composite, unhandled
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor


def _tensor_of(value: Any) -> Any:
    with unhandled():
        made = NAMESPACES[""]["tensor"](value)
    return aten.lift_fresh.default(made)


def _parts(index: Any) -> list[Any]:
    if isinstance(index, tuple):
        return list(index)
    if isinstance(index, list) and any(
        isinstance(i, (slice, Tensor, list, tuple, type(None), type(...))) for i in index
    ):
        return index
    return [index]


def _consumed(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, bool):
        return 0
    if isinstance(part, Tensor) and part.dtype in (dtypes.bool, dtypes.uint8):
        return part.dim()
    return 1


def _viewed(self: Tensor, index: Any) -> tuple[Tensor, list[Any]]:
    """Return the view that the plain parts of an index make, and the parts that are tensors."""
    parts = _parts(index)
    if any(p is Ellipsis for p in parts):
        at = next(i for i, p in enumerate(parts) if p is Ellipsis)
        missing = self.dim() - sum(map(_consumed, parts))
        parts = [*parts[:at], *[slice(None)] * missing, *parts[at + 1 :]]
    x, dim, tensors = self, 0, []
    for part in parts:
        if part is None:
            x = aten.unsqueeze.default(x, dim)
            dim += 1
        elif isinstance(part, bool):
            x = aten.unsqueeze.default(x, dim)
            tensors += [None] * (dim - len(tensors)) + [_tensor_of([part])]
            dim += 1
        elif isinstance(part, slice):
            x = _sliced(x, dim, part)
            dim += 1
        elif isinstance(part, (Tensor, list, tuple, np.ndarray, range)):
            given = part if isinstance(part, Tensor) else _tensor_of(part)
            tensors += [None] * (dim - len(tensors)) + [given]
            dim += given.dim() if given.dtype is dtypes.bool else 1
        else:
            n = x.shape[dim] if dim < x.dim() else 0
            place = _place(part)
            if not (perhaps(place >= -n) and perhaps(place < n)):
                if x.dim() == 0 or dim >= x.dim():
                    raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
                raise IndexError(
                    f"index {place} is out of bounds for dimension {dim} with size {n}"
                )
            x = aten.select.int(x, dim, place)
    return x, tensors


def _place(index: Any) -> Any:
    """Return an int, or a SymInt as it is."""
    return index if isinstance(index, SymInt) else index.__index__()


def _sliced(x: Tensor, dim: int, part: slice) -> Tensor:
    start = 0 if part.start is None else _place(part.start)
    stop = sys.maxsize if part.stop is None else _place(part.stop)
    step = 1 if part.step is None else part.step.__index__()
    if step <= 0:
        raise ValueError("step must be greater than zero")
    if step == 1 and _is_whole(start, stop, x.shape[dim]):
        return x
    return aten.slice.Tensor(x, dim, start, stop, *([step] if step != 1 else []))


def _is_whole(start: Any, stop: Any, n: Any) -> bool:
    """Return whether a slice is all of a dimension of size n; of symbols, whether it is so for any,
    so that no condition on them is noted."""
    if is_symbolic(start) or start != 0:
        return False
    if is_symbolic(stop) or (is_symbolic(n) and stop != sys.maxsize):
        return expression_of(stop) == expression_of(n)
    return surely(stop >= n)


@composite("Tensor.__getitem__")
def getitem(self: Tensor, index: Any) -> Tensor:
    """Return ``self[index]``."""
    x, tensors = _viewed(self, index)
    if tensors:
        return aten.index.Tensor(x, tensors)
    return aten.alias.default(self) if x is self else x


@composite("Tensor.__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """Assign ``self[index] = value``."""
    number = not isinstance(value, Tensor)
    if number:
        value = aten.lift_fresh.default(_number(self, value))
    x, tensors = _viewed(self, index)
    if tensors:
        if value.device != self.device and value.dim() == 0:
            value = aten._to_copy.default(value, device=self.device)
        aten.index_put_.default(x, tensors, value)
    elif number and value.dim() == 0:
        aten.fill_.Tensor(x, value)
    else:
        aten.copy_.default(x, _without_ones(value, x))


def _without_ones(value: Tensor, x: Tensor) -> Tensor:
    size = list(value.shape)
    while len(size) > x.dim() and size[0] == 1:
        size = size[1:]
    if len(size) == value.dim():
        return value
    return aten.view.default(value, size)


def _number(self: Tensor, value: Any) -> Tensor:
    with unhandled():
        return NAMESPACES[""]["tensor"](value, dtype=self.dtype)


@composite("index_put", "Tensor.index_put")
def index_put(
    self: Tensor, indices: Sequence[Any], values: Tensor, accumulate: Any = False
) -> Tensor:
    """Return a copy with other values at indices."""
    rest = [True] if accumulate else []
    return aten.index_put.default(self, list(indices), values, *rest)


@composite("index_put_", "Tensor.index_put_")
def index_put_(
    self: Tensor, indices: Sequence[Any], values: Tensor, accumulate: Any = False
) -> Tensor:
    """Write other values at indices, in place."""
    rest = [True] if accumulate else []
    return aten.index_put_.default(self, list(indices), values, *rest)
