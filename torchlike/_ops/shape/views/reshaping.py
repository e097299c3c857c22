"""The same elements in the same order in another shape, or read as another dtype: view, reshape,
flatten, unflatten."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from torchlike._core import dtypes, errors, modes, views
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import ints, require_tensor
from torchlike._core.size import Size
from torchlike._core.storage import Unread
from torchlike._core.views import Step, step
from torchlike._ops.shape.views.view_factory import (
    make_view,
    on_unread,
    one_argument,
    shape_arguments,
    unread,
)
from torchlike.tensor import Tensor


def infer_size(shape: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """Fill in a single -1. RuntimeError in PyTorch's words when the sizes do not fit."""
    invalid = RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if any(n < -1 for n in shape):
        raise RuntimeError(f"invalid shape dimension {min(shape)}")
    if -1 in shape:
        known = math.prod(n for n in shape if n != -1)
        if known == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous"
                if numel == 0
                else str(invalid)
            )
        if numel % known:
            raise invalid
        return tuple(numel // known if n == -1 else n for n in shape)
    if math.prod(shape) != numel:
        raise invalid
    return shape


def reshaped(t: Tensor, kind: Step, name: str) -> Tensor:
    """Return a view of the same elements in the same order, by a `Reshape` already found."""
    if type(t._storage) is Unread:
        host = unread(t)
        if host is not None:
            return on_unread(host.reshape(kind.params[0]))
    return make_view(t, kind, (), name)


def _found(t: Tensor, wanted: tuple[int, ...]) -> tuple[tuple[int, ...], Step | None]:
    """Return the shape of a view for which ``wanted`` asks, and its step; None where the strides of
    the tensor do not allow it."""
    size, stride, _ = t._geometry
    # While a program is traced its sizes may be symbols, whose comparisons are noted each time.
    find = _shape_and_step if modes.current.capture is None else _shape_and_step.__wrapped__
    return find(size, stride, wanted)


@functools.lru_cache(4096)
def _shape_and_step(
    size: tuple[int, ...], stride: tuple[int, ...], wanted: tuple[int, ...]
) -> tuple[tuple[int, ...], Step | None]:
    new = infer_size(wanted, math.prod(size))
    strides = views.view_strides(size, stride, new)
    return new, None if strides is None else step(views.Reshape, new, strides)


def _is_plain(shape: tuple[Any, ...]) -> bool:
    """Return whether arguments are plain ints, more than one, as most are."""
    return len(shape) > 1 and _INT.issuperset(map(type, shape))


_INT = frozenset((int,))
_SIZES = frozenset((Size, tuple))


def view_or_none(t: Tensor, shape: tuple[int, ...], name: str) -> Tensor | None:
    """Return the view of this (complete) shape, or None where strides do not allow it."""
    size, stride, _ = t._geometry
    new = views.view_strides(size, stride, shape)
    return None if new is None else reshaped(t, step(views.Reshape, shape, new), name)


@composite(namespaces=(), only_self=True)
def view(input: Tensor, *shape: Any, dtype: Any = None, size: Any = None) -> Tensor:
    """Return a view of the same memory with another shape, or another dtype (``view(dtype)``).

    RuntimeError where strides do not allow a view; ``reshape`` copies there.

    Example:
      >>> x = torch.zeros(2, 3)
      >>> x.view(-1)[0] = 1
      >>> x
      tensor([[1., 0., 0.],
              [0., 0., 0.]])
    """
    if len(shape) == 1 and type(shape[0]) in _SIZES and len(shape[0]) > 1:
        shape = tuple(shape[0])
    if dtype is not None or (len(shape) == 1 and dtypes.is_argument(shape[0])):
        return _view_dtype(input, dtypes.from_argument(dtype or shape[0]))
    if size is not None or not _is_plain(shape):
        shape = shape_arguments(shape if size is None else (size,), "view", "size")
    _, kind = _found(input, shape)
    if kind is None:
        raise RuntimeError(errors.VIEW_INCOMPATIBLE)
    return reshaped(input, kind, "ViewBackward0")


def _check_bits(
    t: Tensor, dtype: dtypes.dtype, size: Sequence[int], stride: Sequence[int], offset: int
) -> None:
    """Refuse, with RuntimeError, elements that do not lie so that they can be taken for others of
    another width."""
    ending = (
        f"to view {dtypes.scalar_type(t.dtype)} as {dtypes.scalar_type(dtype)} (different element "
        "sizes)"
    )
    if not size:
        raise RuntimeError(f"self.dim() cannot be 0 {ending}")
    if stride[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {ending}, but got {stride[-1]}")
    ratio = dtype.itemsize // t.itemsize
    if ratio < 2:
        return
    for name, n in (
        ("size(-1)", size[-1]),
        ("storage_offset()", offset),
        *((f"stride({d})", s) for d, s in enumerate(stride[:-1])),
    ):
        if n % ratio:
            raise RuntimeError(f"self.{name} must be divisible by {ratio} {ending}, but got {n}")


def _view_dtype(t: Tensor, dtype: dtypes.dtype) -> Tensor:
    old, new = t.itemsize, dtype.itemsize
    size, stride, offset = t._geometry
    if t._view is not None and not t._view.shows_memory:
        lazy = (
            "conjugate view tensors" if t._view.is_conjugated else "tensors with negative bit set"
        )
        raise RuntimeError(
            f"torch.Tensor.view is not supported for {lazy} when converting to a different dtype."
        )
    if dtype is t.dtype:  # no gradient passes, as through a view of another dtype
        return make_view(t, step(views.Alias), (), "ViewBackward0", differentiable=False)
    if old != new:
        _check_bits(t, dtype, size, stride, offset)
    if old < new:
        ratio = new // old
        size = (*size[:-1], size[-1] // ratio)
        stride = (*(s // ratio for s in stride[:-1]), 1)
        scale = (1, ratio)
    elif old > new:
        ratio = old // new
        size = (*size[:-1], size[-1] * ratio)
        stride = (*(s * ratio for s in stride[:-1]), 1)
        scale = (ratio, 1)
    else:
        scale = (1, 1)
    host = unread(t)
    if host is not None:
        return on_unread(host.view(dtype.numpy))
    kind = step(views.Bitcast, dtype.numpy, size, stride, scale)
    return make_view(t, kind, (), "ViewBackward0", differentiable=False)


@composite(only_self=True)
def reshape(input: Tensor, *shape: Any, **kwargs: Any) -> Tensor:
    """Return a view where strides allow one, else a copy in the new shape.

    One size may be -1, which is what is left. RuntimeError for a shape of another number of
    elements.

    Example:
      >>> torch.arange(6).reshape(2, -1).T.reshape(6)
      tensor([0, 3, 1, 4, 2, 5])
    """
    require_tensor(input, "reshape")
    if len(shape) == 1 and type(shape[0]) in _SIZES and len(shape[0]) > 1:
        shape = tuple(shape[0])
    if kwargs or not _is_plain(shape):
        shape = shape_arguments(
            shape if shape and not kwargs else one_argument(shape, kwargs, "reshape", "shape"),
            "reshape",
            "shape",
        )
    new, kind = _found(input, shape)
    if kind is not None:
        name = "ViewBackward0" if input.is_contiguous() else "ReshapeAliasBackward0"
        return reshaped(input, kind, name)
    found = view_or_none(input.clone(memory_format=None), new, "UnsafeViewBackward0")
    assert found is not None
    # A fresh copy: PyTorch's _unsafe_view is no view to the user. Its own history says whether
    # it needs gradients, no longer the base.
    found._base = None
    found._requires_grad = found._node is not None
    return found


@composite(namespaces=())
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """Return a view in the shape of ``other``."""
    return input.view(other.shape)


@composite(namespaces=())
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Reshape to ``other.size()``."""
    return input.reshape(other.shape)


@composite(only_self=True)
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Join the dimensions ``start_dim..end_dim`` into one (a view where possible).

    IndexError for a dimension out of range, RuntimeError where ``end_dim`` comes before
    ``start_dim``.

    Example:
      >>> torch.zeros(2, 3, 4).flatten(1).shape
      torch.Size([2, 12])
    """
    require_tensor(input, "flatten")
    size = input._geometry.size
    first, last = errors.wrap_dim(start_dim, len(size)), errors.wrap_dim(end_dim, len(size))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not size:
        return input.reshape(1)
    if first == last:
        return input
    return input.reshape((*size[:first], math.prod(size[first : last + 1]), *size[last + 1 :]))


@composite(aliases=())
def ravel(input: Tensor) -> Tensor:
    """Flatten to one dimension, row-major: a view of a contiguous tensor, else of a copy."""
    require_tensor(input, "ravel")
    return input.contiguous().view(-1)


@composite()
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """Split one dimension into ``sizes`` (one may be -1)."""
    size = input._geometry.size
    d = errors.wrap_dim(dim, len(size))
    wanted = ints(sizes)
    try:
        inner = infer_size(wanted, size[d])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(wanted)} don't multiply up to the size of dim {d} "
            f"({size[d]}) in the input tensor"
        ) from None
    found = view_or_none(input, (*size[:d], *inner, *size[d + 1 :]), "ViewBackward0")
    assert found is not None
    return found
