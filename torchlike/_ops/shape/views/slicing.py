"""Parts of a tensor: select, narrow, slices, diagonals."""

from __future__ import annotations

from typing import Any

from torchlike._core import errors, views
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import index_of, require_tensor
from torchlike._core.views import step
from torchlike._ops.shape.views.view_factory import make_view
from torchlike.tensor import Tensor


@composite()
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return a view at one index of a dimension; the dimension goes. IndexError when out of
    range."""
    require_tensor(input, "select")
    size = input._geometry.size
    if not size:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d = errors.wrap_dim(dim, len(size))
    i = index_of(index)
    if not -size[d] <= i < size[d]:
        raise IndexError(
            f"select(): index {i} out of range for tensor of size {list(size)} at dimension {d}"
        )
    return make_view(input, step(views.Select, d), (i % size[d],), "SelectBackward0")


def sliced(input: Tensor, dim: int, start: int, length: int, by: int, name: str) -> Tensor:
    """Return a view of a slice given by start, length and step."""
    return make_view(input, step(views.Slice, dim, length, by), (start,), name)


@composite()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """Return a view of ``length`` indices of a dimension from ``start`` on."""
    require_tensor(input, "narrow")
    size = input._geometry.size
    if not size:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    d = errors.wrap_dim(dim, len(size))
    if isinstance(start, Tensor) and (start.dim() or start.dtype.category != 1):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    start, length = index_of(start), index_of(length)
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -size[d] <= start <= size[d]:
        raise IndexError(
            f"start out of range (expected to be in range of [{-size[d]}, {size[d]}], but got "
            f"{start})"
        )
    start = start + size[d] if start < 0 else start
    if start + length > size[d]:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size ({size[d]})."
        )
    return sliced(input, d, start, length, 1, "SliceBackward0")


@composite()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a view of the diagonal of two dimensions as a new last one."""
    require_tensor(input, "diagonal")
    ndim = input.dim()
    a, b = errors.wrap_dim(dim1, ndim), errors.wrap_dim(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return make_view(input, step(views.Diagonal, offset, a, b), (), "DiagonalBackward0")
