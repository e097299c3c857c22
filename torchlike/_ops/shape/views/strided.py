"""Views that may reach an element more than once: unfold (sliding windows), as_strided."""

from __future__ import annotations

import math
from typing import Any

from torchlike._core import errors, views
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import ints
from torchlike._core.dispatch.view_history import node_of_view
from torchlike._core.tape import gradient_edge
from torchlike._core.views import Geometry, View, step
from torchlike._extensions import boxes
from torchlike._ops.shape.views.view_factory import make_view
from torchlike.tensor import Tensor


@composite(name="unfold", namespaces=())
def unfold_op(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Return a view of sliding windows of ``size`` every ``step`` along a dimension, as a new last
    dimension."""
    shape = input._geometry.size
    d = errors.wrap_dim(dimension, len(shape))
    have = shape[d] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > have:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {have} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return make_view(input, views.step(views.UnfoldStep, d, size, step), (), "UnfoldBackward0")


def whole_memory(input: Tensor, name: str, *, of_one_dtype: bool = True) -> Geometry:
    """Return the geometry of a tensor's storage in memory. NotImplementedError where it has gaps
    there, or (of one dtype only) is seen as another, so that elements of the tensor cannot be
    counted in it."""
    whole = input._whole_geometry
    if input._storage.strides is not None and not views.is_dense(whole):
        raise NotImplementedError(
            f"{name} of a tensor on a NumPy array with gaps between its elements: clone() it "
            "first, or make the view in NumPy"
        )
    if of_one_dtype and input.dtype.numpy != input._storage.dtype:
        raise NotImplementedError(
            f"{name} of a tensor that is viewed as another dtype: clone() it first"
        )
    return whole


def _memory_as(input: Tensor, order: tuple[int, ...], n: int) -> views.Steps:
    """Return the steps from a storage to its memory, as a vector of ``n`` elements of a dtype."""
    flat = step(views.Reshape, (input._storage.size,), (1,))
    return (
        step(views.Permute, order),
        flat,
        step(views.Bitcast, input.dtype.numpy, (n,), (1,), (1, 1)),
    )


@composite()
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Return a view of the storage's memory with any size, stride and offset.

    RuntimeError when it would reach beyond the storage, and for negative numbers;
    NotImplementedError inside a ``vmap`` over examples that do not lie one after the other, and for
    a dual tensor whose primal is a view.
    """
    if input._storage.is_of_a_view:
        raise NotImplementedError(
            "as_strided of a dual tensor whose primal is a view: make_dual(primal.clone(), tangent)"
        )
    if boxes.reordered(input._storage.cell):
        raise NotImplementedError(
            "as_strided inside vmap over tensors whose examples do not lie one after the other in "
            "memory: map over dimension 0 of x.movedim(dim, 0).contiguous() instead"
        )
    new_size, new_stride = ints(size), ints(stride)
    if len(new_size) != len(new_stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(new_stride, default=0) < 0:
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(new_stride)}"
        )
    if min(new_size, default=0) < 0:
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(new_size)} and "
            f"strides={list(new_stride)}"
        )
    own_offset = input.storage_offset()
    offset = own_offset if storage_offset is None else storage_offset
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    reach = offset + sum((n - 1) * s for n, s in zip(new_size, new_stride, strict=True)) + 1
    storage, whole = input._storage, whole_memory(input, "as_strided", of_one_dtype=False)
    have = storage.nbytes // input.itemsize
    if math.prod(new_size) and reach > have:
        raise RuntimeError(
            f"setStorage: sizes {list(new_size)}, strides {list(new_stride)}, storage offset "
            f"{offset}, and itemsize {input.itemsize} requiring a storage size of "
            f"{reach * input.itemsize} are out of bounds for storage of size {storage.nbytes}"
        )
    order = views.dense_order(whole.size, whole.stride)
    kinds: views.Steps = (step(views.AsStrided, new_size, new_stride, offset, order),)
    if input.dtype.numpy != storage.dtype:
        kinds = (
            *_memory_as(input, order, have),
            step(views.AsStrided, new_size, new_stride, offset, (0,)),
        )
    # The geometry speaks of the storage's memory, so the chain begins anew; the history is that of
    # the input, whose elements are found again by where they lie.
    t = make_view(input, step(views.Alias), (), "AsStridedBackward0")
    t._view = View(kinds, (), views.Geometry(new_size, new_stride, offset))
    t._view = t._view.pending_of(input._view)
    if t._node is not None:
        again = step(views.AsStridedAgain, input._geometry, t._view.geometry)
        t._node = node_of_view(gradient_edge(input), input, (again,), (), "AsStridedBackward0")
    return t
