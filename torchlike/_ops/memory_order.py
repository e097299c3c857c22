"""The memory order of results: how PyTorch's loops and kernels for images lay out what they write.

torchlike's arrays are always row-major; the order is metadata (``Storage.strides``) that decides
``stride()``, which views a later ``view()`` allows and which elements ``as_strided`` reaches.

An op names the rule that its results follow (``memory_order=``); without one they are row-major. A
rule is called where an operand is a view or has an order of its own, with the result, the operands,
the op's spec and its static arguments; one marked ``whatever_the_operands``, for every result.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torchlike._core import layouts, modes, views
from torchlike._core.dispatch.spec import lay_out_loop
from torchlike._core.overrides import TENSOR_TYPES
from torchlike._runtime.reference import follows

if TYPE_CHECKING:
    from torchlike._core.cells import Result
    from torchlike._core.dispatch.spec import OpSpec, Statics
    from torchlike.tensor import Tensor

    #: The operands of an op: tensors, numbers and None, as its schema takes them.
    Operands = Sequence[Any]


def whatever_the_operands(rule: Any) -> Any:
    """Mark a rule of a kernel with an order of its own: it is called where all operands are
    row-major, too."""
    rule.whatever_the_operands = True
    return rule


@lay_out_loop.by
def of_loop(result: Result, operands: Sequence[Any], spec: OpSpec, statics: Statics) -> None:
    """Give outputs the memory order of their inputs, as PyTorch's TensorIterator does.

    Operands of one shape that are all row-major or channels last give such a result, and those that
    are all dense with the same strides hand these on as they are; else dimensions are ordered by
    the strides of all. A number in a tensor's place (``spec.wrapped_mask`` says which places are)
    is an operand of another shape.
    """
    wrapped = spec.wrapped_mask
    tensors, numbers = [], False
    for bit, o in enumerate(operands):
        if type(o) in TENSOR_TYPES:
            tensors.append(o)
        elif wrapped >> bit & 1:
            numbers = True
    read = tuple([(g.size, g.stride) for o in tensors for g in (o._geometry,)])
    # While a program is traced its sizes may be symbols, whose comparisons are noted each time.
    find = _strides_of_loop if modes.current.watcher is None else _strides_of_loop.__wrapped__
    for t in result if isinstance(result, tuple) else (result,):
        strides = find(read, numbers, t._storage.shape)
        if strides is not None:
            t._storage.strides = strides


@functools.lru_cache(4096)
def _strides_of_loop(
    read: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...],
    numbers: bool,
    size: tuple[int, ...],
) -> tuple[int, ...] | None:
    """Return the strides of a result of this size, of operands of these sizes and strides; None for
    row-major."""
    geometries = [views.Geometry(*g, 0) for g in read]
    alike = not numbers and len({g.size for g in geometries}) == 1
    if alike and all(views.is_contiguous(g.size, g.stride) for g in geometries):
        return None
    if alike and all(map(_is_channels_last, geometries)):
        return views.dense_strides(size, CHANNELS_LAST_ORDER)
    same = alike and len({g.stride for g in geometries}) == 1 and views.is_dense(geometries[0])
    if same and geometries[0].size == size:
        return geometries[0].stride
    strides = [broadcast_strides(g, size) for g in geometries if len(g.size) <= len(size)]
    return iterator_strides(size, strides) if strides and len(size) > 1 else None


#: Dimensions of (N, C, H, W) from slowest to fastest.
CHANNELS_LAST_ORDER = (0, 2, 3, 1)


def _is_channels_last(g: views.Geometry) -> bool:
    """Return whether memory order is that of channels last; strides of size 1 do not matter."""
    if len(g.size) != 4:
        return False
    order = CHANNELS_LAST_ORDER
    return views.is_contiguous(tuple(g.size[d] for d in order), tuple(g.stride[d] for d in order))


def like_first(result: Tensor, operands: Sequence[Any], spec: OpSpec, statics: Statics) -> None:
    """Give the result the memory order of the first operand, whose shape it has."""
    result._storage.strides = strides_like(operands[0]._geometry)


def of_first(result: Result, operands: Sequence[Any], spec: OpSpec, statics: Statics) -> None:
    """Order the result channels last where the first operand is: poolings, norms, resampling,
    padding."""
    _order(result, suggested_order(operands[0]._geometry))


def of_first_row(result: Result, operands: Sequence[Any], spec: OpSpec, statics: Statics) -> None:
    """Order the result as of_first does, for (N, C, L), which PyTorch pools as images (N, C, 1,
    L)."""
    size, stride, offset = operands[0]._geometry
    if len(size) != 3:
        return
    row = views.Geometry(
        (*size[:2], 1, size[2]), (*stride[:2], size[2] * stride[2], stride[2]), offset
    )
    if suggested_order(row) is not None:
        for t in result if isinstance(result, tuple) else (result,):
            t._storage.strides = views.dense_strides(t._storage.shape, (0, 2, 1))


_MORE_FUSED = follows("attention lies as its query")


def of_query(result: Tensor, operands: Sequence[Any], spec: OpSpec, statics: Statics) -> None:
    """Order the result as the query, whose shape it has, where PyTorch's fused attention runs on
    query, key, value and mask: 4-D, rows without gaps, one batch, one width of the heads, a mask
    that is a constant.

    Heads of the keys that are shared (``enable_gqa``) are fused; one head of keys and values that
    broadcasts, and three dimensions, by the releases that `_MORE_FUSED` tells of.
    """
    query, key, value = (o._geometry for o in operands[:3])
    mask, enable_gqa = operands[3], statics[2]
    rank = len(query.size)
    at = rank - 3  # of the heads, behind the batch
    fused = (rank == 4 or (rank == 3 and _MORE_FUSED)) and query.size[-1] == value.size[-1]
    for g in (query, key, value):
        fused = fused and len(g.size) == rank and g.stride[-1] == 1
        fused = fused and g.size[:at] == query.size[:at]
    if fused and not enable_gqa:
        shared = _MORE_FUSED and key.size[at] == value.size[at] == 1
        fused = shared or key.size[at] == value.size[at] == query.size[at]
    if type(mask) in TENSOR_TYPES:
        fused = fused and mask.dim() in (2, rank) and not mask.requires_grad
    if fused:
        result._storage.strides = strides_like(query)


def of_any(result: Result, operands: Sequence[Any], spec: OpSpec, statics: Statics) -> None:
    """Order the result channels last where an operand is: a convolution's input or its weight."""
    suggested = (suggested_order(o._geometry) for o in operands if type(o) in TENSOR_TYPES)
    _order(result, next(filter(None, suggested), None))


def of_all(result: Tensor, operands: Sequence[Any], spec: OpSpec, statics: Statics) -> None:
    """Order the result channels last where all operands of its rank are: concatenation."""
    rank = len(result._storage.shape)
    whole = [o._geometry for o in operands if len(o._geometry.size) == rank]
    _order(result, common_order(whole))


@whatever_the_operands
def in_columns(result: Result, operands: Sequence[Any], spec: OpSpec, statics: Statics) -> None:
    """Order matrices column by column, as LAPACK writes them: results with the first operand's
    rank."""
    rank = len(operands[0]._geometry.size)
    for t in result if isinstance(result, tuple) else (result,):
        if len(t._storage.shape) == rank:
            t._storage.strides = column_strides(t._storage.shape)


@whatever_the_operands
def solution_in_columns(result: Result, operands: Operands, spec: OpSpec, statics: Statics) -> None:
    """Order the first result column by column, a batch of vectors too, whatever the operands'
    ranks."""
    x = result[0] if isinstance(result, tuple) else result
    if len(x._storage.shape) > 1:
        x._storage.strides = column_strides(x._storage.shape)


@whatever_the_operands
def solution_from_left(result: Result, operands: Operands, spec: OpSpec, statics: Statics) -> None:
    """Order the result as solution_in_columns does where ``left``, the first parameter, says so;
    else the transposed equation was solved, whose columns are rows."""
    if statics[0]:
        solution_in_columns(result, operands, spec, statics)


def column_strides(size: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of matrices column by column; batches of them are row-major."""
    *batch, m, n = size
    *outer, by_column, by_row = views.contiguous_strides((*batch, n, m))
    return (*outer, by_row, by_column)


def _order(result: Result, order: tuple[int, ...] | None) -> None:
    """Order the results whose rank it fits, one without a batch like a batch of one."""
    if order is None:
        return
    for t in result if isinstance(result, tuple) else (result,):
        size = t._storage.shape
        if len(size) == len(order):
            t._storage.strides = views.dense_strides(size, order)
        elif len(size) == len(order) - 1:
            t._storage.strides = views.dense_strides(size, tuple(d - 1 for d in order[1:]))


def strides_like(
    model: views.Geometry, memory_format: layouts.memory_format | None = None
) -> tuple[int, ...]:
    """Return the strides of a fresh tensor with the memory order of its model, without gaps."""
    size, stride, _ = model
    if memory_format is None or memory_format is layouts.preserve_format:
        if views.is_dense(model):
            return stride
        return views.dense_strides(size, iterator_order(size, [stride]))
    order = memory_format.order_of_new(len(size))
    if memory_format is layouts.contiguous_format:
        return views.contiguous_strides(size)
    return views.dense_strides(size, order)


def suggested_order(g: views.Geometry) -> tuple[int, ...] | None:
    """Return the dimensions from slowest to fastest if images lie channels last, or None.

    What PyTorch's ``suggest_memory_format`` reads from strides, and so its answer where sizes of 1
    leave it open: row-major.
    """
    order = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}.get(len(g.size))
    if order is None or g.stride[1] == 0 or 0 in g.size:
        return None
    least = 0
    for d in reversed(order):
        if g.stride[d] < least or (d == 0 and least == g.stride[1]):
            return None
        least = g.stride[d] * g.size[d]
    return order


def common_order(geometries: Sequence[views.Geometry]) -> tuple[int, ...] | None:
    """Return the order that all geometries suggest, or None."""
    orders = set(map(suggested_order, geometries))
    return orders.pop() if len(orders) == 1 else None


def broadcast_strides(g: views.Geometry, size: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of an operand as it is read for a result of ``size``: 0 where it is
    repeated."""
    new = len(size) - len(g.size)
    return (0,) * new + tuple(
        0 if n == 1 and m != 1 else s for n, s, m in zip(g.size, g.stride, size[new:], strict=True)
    )


def iterator_order(size: tuple[int, ...], strides: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the dimensions from slowest to fastest for an elementwise result.

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
    """Return the strides of a loop's result, given the operands' strides; None for row-major.

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
