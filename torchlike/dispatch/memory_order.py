"""The memory order of results: how PyTorch's TensorIterator lays out what its loops write.

torchlike's arrays are always row-major; the order is metadata (``Storage.strides``) that decides
``stride()``, which views a later ``view()`` allows and which elements ``as_strided`` reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike import views
from torchlike.tensor import TENSOR_TYPES


def keep_memory_order(result: Any, operands: Sequence[Any], wrapped: int) -> None:
    """Give outputs the memory order of their inputs, as PyTorch's TensorIterator does.

    Operands of one shape that are all row-major, or all dense with the same strides, hand these on
    as they are; else dimensions are ordered by the strides of all. A number in a tensor's place
    (the bit mask ``wrapped`` says which places are) is an operand of another shape.
    """
    tensors, numbers = [], False
    for bit, o in enumerate(operands):
        if type(o) in TENSOR_TYPES:
            tensors.append(o)
        elif wrapped >> bit & 1:
            numbers = True
    geometries = [o._geometry for o in tensors]
    alike = not numbers and len({g.size for g in geometries}) == 1
    if alike and all(views.is_contiguous(g.size, g.stride) for g in geometries):
        return
    same = alike and len({g.stride for g in geometries}) == 1 and views.is_dense(geometries[0])
    for t in result if isinstance(result, tuple) else (result,):
        size = t._storage.shape
        if same and geometries[0].size == size:
            t._storage.strides = geometries[0].stride
            continue
        strides = [broadcast_strides(g, size) for g in geometries if len(g.size) <= len(size)]
        if strides and len(size) > 1:
            t._storage.strides = iterator_strides(size, strides) or t._storage.strides


def broadcast_strides(g: views.Geometry, size: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of an operand as it is read for a result of ``size``: 0 where it is repeated."""
    new = len(size) - len(g.size)
    return (0,) * new + tuple(
        0 if n == 1 and m != 1 else s for n, s, m in zip(g.size, g.stride, size[new:], strict=True)
    )


def iterator_order(size: tuple[int, ...], strides: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Dimensions from slowest to fastest for an elementwise result.

    An insertion sort over dimensions by the operands' strides; a stride of 0 (broadcast) does not
    vote, and equal strides are ordered by size. Follows TensorIterator's reorder_dimensions.
    """
    ndim = len(size)
    perm = list(range(ndim - 1, -1, -1))  # fastest first

    def should_swap(a: int, b: int) -> int:
        for stride in strides:
            sa, sb = stride[a], stride[b]
            if sa == 0 or sb == 0:
                continue
            if sa != sb:
                return -1 if sa < sb else 1
            if size[a] > size[b]:
                return 1
        return 0

    for i in range(1, ndim):
        at = i
        for before in range(i - 1, -1, -1):
            decision = should_swap(perm[before], perm[at])
            if decision > 0:
                perm[before], perm[at] = perm[at], perm[before]
                at = before
            elif decision < 0:
                break
    return tuple(reversed(perm))


def iterator_strides(
    size: tuple[int, ...], strides: list[tuple[int, ...]]
) -> tuple[int, ...] | None:
    """Strides of a loop's result, given the operands' strides; None for row-major.

    Beyond a dimension of size 0 all are 0, unlike those of an empty tensor made otherwise.
    """
    order = iterator_order(size, strides)
    if order == tuple(range(len(size))):
        return None
    result = [0] * len(size)
    step = 1
    for d in reversed(order):
        result[d] = step
        step *= size[d]
    return tuple(result)
