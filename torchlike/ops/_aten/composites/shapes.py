"""Shapes: what ``reshape``, ``chunk``, ``movedim`` and kin are made of."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

from torchlike._compat.symbolic import SymInt, hint_of
from torchlike._core import dtypes, errors, views
from torchlike._core.layouts import contiguous_format
from torchlike.ops._aten.handlers import composite
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor


def ints(args: Sequence[Any]) -> list[Any]:
    """Return ints that are given one by one or as one list."""
    if len(args) == 1 and not hasattr(args[0], "__index__"):
        args = args[0]
    return [a if isinstance(a, SymInt) else int(a) for a in args]


def can_view(self: Tensor, size: Sequence[int]) -> bool:
    """Return whether the elements can be viewed in a new shape by strides, without a copy."""
    g = self._geometry
    return views.view_strides(g.size, g.stride, tuple(map(hint_of, size))) is not None


def _product(sizes: list[int]) -> int:
    """Return the product of sizes; of one size that size, with no multiplication for a graph to
    record."""
    return functools.reduce(operator.mul, sizes) if sizes else 1


def _known(self: Tensor, size: list[int]) -> list[int]:
    if -1 not in size:
        return size
    rest = _product([n for n in size if n != -1])
    return [self.numel() // rest if n == -1 and rest else n for n in size]


@composite("reshape", "Tensor.reshape")
def reshape(self: Tensor, *shape: Any, **kwargs: Any) -> Tensor:
    """Return the elements in another shape: as a view where that is possible."""
    size = ints(shape or (kwargs["shape"],))
    if can_view(self, _known(self, size)):
        return aten.view.default(self, size if self.is_contiguous() else _known(self, size))
    size = _known(self, size)
    copied = aten.clone.default(self, memory_format=contiguous_format)
    return aten._unsafe_view.default(copied, size)


@composite("flatten")
def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Join dimensions into one."""
    n = self.dim()
    if n == 0:
        return reshape(self, [1])
    start, end = errors.wrap_dim(start_dim, n), errors.wrap_dim(end_dim, n)
    if start == end:
        return self
    size = self.shape
    joined = _product(list(size[start : end + 1]))
    return reshape(self, [*size[:start], joined, *size[end + 1 :]])


@composite("ravel")
def ravel(self: Tensor) -> Tensor:
    """Return the elements in one dimension."""
    return aten.view.default(self, [-1]) if self.is_contiguous() else reshape(self, [-1])


@composite("unflatten", "Tensor.unflatten")
def unflatten(self: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split one dimension into several."""
    at = errors.wrap_dim(dim, self.dim())
    size = _sized(self.shape[at], list(sizes))
    return aten.view.default(self, [*self.shape[:at], *size, *self.shape[at + 1 :]])


def _sized(n: int, size: list[int]) -> list[int]:
    rest = math.prod(s for s in size if s != -1)
    return [n // rest if s == -1 else s for s in size]


@composite("view_as", "reshape_as")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """Return the elements in another tensor's shape."""
    return reshape(self, list(other.shape))


@composite("expand_as")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expand to another tensor's shape."""
    return aten.expand.default(self, list(other.shape))


@composite("broadcast_to")
def broadcast_to(self: Tensor, size: Any) -> Tensor:
    """Expand to a shape."""
    return aten.expand.default(self, list(size))


def broadcast_sizes(one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    """Return the size that two sizes broadcast to; the operator that comes next refuses those that
    do not."""
    n = max(len(one), len(other))
    padded = [(1,) * (n - len(s)) + tuple(s) for s in (one, other)]
    return tuple(b if a == 1 else a for a, b in zip(*padded, strict=True))


@composite("broadcast_tensors", "F.broadcast_tensors")
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Expand tensors to the shape that they broadcast to."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    size = list(functools.reduce(broadcast_sizes, [t.shape for t in tensors]))
    return tuple(aten.expand.default(t, size) for t in tensors)


@composite("T", "Tensor.T")
def transposed(self: Tensor) -> Tensor:
    """Reverse the order of the dimensions."""
    return aten.permute.default(self, list(range(self.dim()))[::-1])


@composite("mT", "Tensor.mT", "adjoint", "Tensor.mH")
def matrices_transposed(self: Tensor) -> Tensor:
    """Exchange the last two dimensions."""
    return aten.transpose.int(self, -2, -1)


@composite("H", "Tensor.H")
def hermitian(self: Tensor) -> Tensor:
    """Transpose the matrix."""
    return aten.transpose.int(self, 0, 1)


@composite("transpose")
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Exchange two dimensions."""
    return aten.transpose.int(self, dim0, dim1)


@composite("movedim")
def movedim(self: Tensor, source: Any, destination: Any) -> Tensor:
    """Move dimensions to other places."""
    n = self.dim()
    sources = [errors.wrap_dim(d, n) for d in ints((source,))]
    places = [errors.wrap_dim(d, n) for d in ints((destination,))]
    order = [-1] * n
    for s, d in zip(sources, places, strict=True):
        order[d] = s
    rest = iter(d for d in range(n) if d not in sources)
    return aten.permute.default(self, [d if d >= 0 else next(rest) for d in order])


@composite("chunk")
def chunk(self: Tensor, chunks: int, dim: int = 0) -> Any:
    """Split into parts of equal size, but for the last."""
    n = self.shape[errors.wrap_dim(dim, self.dim())]
    size = (n + chunks - 1) // chunks or 1
    return aten.split.Tensor(self, size, *([dim] if dim else []))


@composite("split", "Tensor.split")
def split(tensor: Tensor, split_size_or_sections: Any = None, dim: int = 0, **kwargs: Any) -> Any:
    """Split into parts of one size, or of the sizes given."""
    given = kwargs.get("split_size", split_size_or_sections)
    rest = [dim] if dim else []
    if isinstance(given, (list, tuple)):
        return aten.split_with_sizes.default(tensor, list(given), *rest)
    return aten.split.Tensor(tensor, given, *rest)


@composite("tensor_split")
def tensor_split(self: Tensor, indices_or_sections: Any = None, dim: int = 0, **named: Any) -> Any:
    """Split at indices, or into a number of parts."""
    given: Any = indices_or_sections
    if given is None:
        given = named.get("indices", named.get("sections"))
    n = self.shape[errors.wrap_dim(dim, self.dim())]
    if isinstance(given, Tensor):
        given = given.tolist()
    if isinstance(given, int):
        small, more = divmod(n, given)
        ends = [small * (k + 1) + min(k + 1, more) for k in range(given)]
        starts = [0, *ends[:-1]]
    else:
        starts, ends = [0, *given], [*given, n]
    return tuple(aten.slice.Tensor(self, dim, s, e) for s, e in zip(starts, ends, strict=True))


@composite("narrow")
def narrow(self: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """Return a part along a dimension."""
    start = start if isinstance(start, SymInt) else int(start)
    if start < 0:
        start += self.shape[dim]
    return aten.slice.Tensor(self, dim, start, start + length)


@composite("hstack", "F.hstack")
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join along the second dimension, vectors along their only one."""
    tensors = [t if t.dim() else reshape(t, [1]) for t in tensors]
    return aten.cat.default(tensors, *([1] if tensors[0].dim() > 1 else []))


@composite("vstack", "row_stack")
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join along the first dimension, vectors as rows."""
    return aten.cat.default([atleast_2d(t) for t in tensors])


@composite("atleast_2d")
def atleast_2d(*tensors: Any) -> Any:
    """Return tensors with at least two dimensions."""
    if len(tensors) != 1 or not isinstance(tensors[0], Tensor):
        given = tensors[0] if len(tensors) == 1 else tensors
        return tuple(atleast_2d(t) for t in given)
    t = tensors[0]
    if t.dim() == 0:
        return reshape(t, [1, 1])
    return aten.unsqueeze.default(t, 0) if t.dim() == 1 else t


@composite("tile")
def tile(self: Tensor, *dims: Any, **kwargs: Any) -> Tensor:
    """Repeat along dimensions."""
    counts = ints(dims or (kwargs["dims"],))
    return aten.repeat.default(self, [1] * (self.dim() - len(counts)) + counts)


@composite("meshgrid", "F.meshgrid")
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Return the coordinates of a grid."""
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    swapped = indexing == "xy" and len(tensors) > 1
    given = list(tensors)
    if swapped:
        given[:2] = given[1::-1]
    size = [t.numel() for t in given]
    grids = []
    for i, t in enumerate(given):
        row = [-1 if d == i else 1 for d in range(len(given))]
        grids.append(aten.expand.default(aten.view.default(t, row), size))
    if swapped:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@composite("diag")
def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """Return the diagonal of a matrix, or a matrix with a diagonal."""
    rest = [diagonal] if diagonal else []
    if self.dim() == 1:
        return aten.diag_embed.default(self, *rest)
    return aten.diagonal_copy.default(self, *rest)


@composite("repeat_interleave")
def repeat_interleave(self: Tensor, repeats: Any = None, dim: int | None = None, **kw: Any) -> Any:
    """Repeat each element several times."""
    if repeats is None or isinstance(repeats, Tensor):
        operator = aten.repeat_interleave.Tensor if repeats is None else None
        if operator is not None:
            return operator(self, **kw)
        x = self if dim is not None else flatten(self)
        at = 0 if dim is None else dim
        return aten.index_select.default(x, at, aten.repeat_interleave.Tensor(repeats, **kw))
    x = self if dim is not None else flatten(self)
    at = errors.wrap_dim(0 if dim is None else dim, x.dim())
    size = list(x.shape)
    wide = aten.expand.default(
        aten.unsqueeze.default(x, at + 1), [*size[: at + 1], repeats, *size[at + 1 :]]
    )
    copied = aten.clone.default(wide, memory_format=contiguous_format)
    return aten.view.default(copied, [*size[:at], size[at] * repeats, *size[at + 1 :]])


def _without_defaults(*given: Any) -> tuple[Any, ...]:
    """Return ``(sorted, return_inverse, return_counts)`` up to the last that differs from its
    default."""
    kept = [bool(g) for g in given]
    while kept and kept[-1] == (True, False, False)[len(kept) - 1]:
        kept.pop()
    return tuple(kept)


@composite("unique", "Tensor.unique")
def unique(
    input: Tensor,
    sorted: Any = True,
    return_inverse: Any = False,
    return_counts: Any = False,
    dim: int | None = None,
) -> Any:
    """Return the distinct elements, and their indices."""
    if dim is None:
        given = _without_defaults(sorted, return_inverse, return_counts)
        found = aten._unique2.default(input, *given)
    else:
        found = aten.unique_dim.default(
            input, dim, *_without_defaults(sorted, return_inverse, return_counts)
        )
    wanted = [found[0], *found[1:2] * bool(return_inverse), *found[2:] * bool(return_counts)]
    return tuple(wanted) if len(wanted) > 1 else wanted[0]


@composite("diff")
def diff(self: Tensor, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the differences of neighbours."""
    if n == 0:  # what is before and behind it does not count
        return aten.copy_.default(aten.zeros_like.default(self), self)
    parts = [p for p in (prepend, self, append) if p is not None]
    x = aten.cat.default(parts, dim) if len(parts) > 1 else self
    minus = aten.logical_xor.default if x.dtype is dtypes.bool else aten.sub.Tensor
    for _ in range(min(n, x.shape[dim])):
        size = x.shape[dim]
        before = aten.slice.Tensor(x, dim, 0, size - 1)
        x = minus(aten.slice.Tensor(x, dim, 1, size), before)
    return x
