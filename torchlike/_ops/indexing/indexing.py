"""``x[index]`` and ``x[index] = value``: basic parts give views, index tensors give copies.

An index is taken apart into a chain of basic steps (ints, slices, None, Ellipsis: one view) and,
where index tensors or masks remain, one gather on that view.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import casts, cells, dtypes, errors, modes, overrides, views
from torchlike._core.dispatch.copying import copy_
from torchlike._core.dispatch.inplace import update_with_sequences
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Input, Inputs, Int, Operand, Static
from torchlike._core.views import Alias, Geometry, Select, SelectAt, Slice, step
from torchlike._extensions import boxes
from torchlike._extensions.meta import MetaArray
from torchlike._ops.checks import check_mask
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike._ops.indexing.gathering import missing_value, out_of_bounds
from torchlike._ops.indexing.host_masks import chosen
from torchlike._ops.indexing.overwrite import accumulate as add_at
from torchlike._ops.indexing.overwrite import overwrite
from torchlike._ops.indexing.plain import view_of
from torchlike._ops.memory_order import broadcast_strides, iterator_strides
from torchlike._ops.shape.views import make_view, select, sliced, unsqueeze
from torchlike._ops.shape.views.view_factory import make_window, on_unread, unread
from torchlike._ops.value_checks import (
    refuse_outside,
    refuse_tensor,
    refuse_unfit,
    refuse_unfit_tensor,
)
from torchlike._runtime.jax_private.symbolic_sizes import is_symbolic
from torchlike.tensor import Tensor, add_method, wrap

_INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {kind})"
)


def _check_bounds(input: Any, indices: Any, layout: Any) -> None:
    """Refuse, with IndexError, an index tensor out of range (XLA would clamp it silently)."""
    for position, d in enumerate(d for d, used in enumerate(layout) if used):
        check_index(indices[position], input.shape[d], d)


def _check_put(input: Any, indices: Any, values: Any, layout: Any, accumulate: Any) -> None:
    _check_bounds(input, indices, layout)


def check_index(index: Any, size: int, dim: int) -> None:
    """Refuse, with an IndexError in PyTorch's words, an index array that leaves ``[-size,
    size)``."""
    empty = "index is out of bounds for dimension with size 0"
    words = out_of_bounds(dim, size) if size else empty
    refuse_outside(index, -size, size, IndexError, words)


def _as_numpy_index(indices: Any, layout: Any) -> tuple[Any, ...]:
    arrays = iter(indices)
    return tuple(next(arrays) if used else slice(None) for used in layout)


@op("index", namespaces=(), method=False, check=_check_bounds)
def index_op(input: Input, indices: Inputs, layout: Static):
    """Gather at index tensors; ``layout`` says which dimensions are indexed."""
    return input.at[_as_numpy_index(indices, layout)].get(
        mode="fill", fill_value=missing_value(input)
    )


@op(
    "index_put_op",
    namespaces=(),
    method=False,
    check=_check_put,
    grad_name="IndexPutBackward0",
    reorders=True,
    autocast={"cuda": "widest"},
)
def index_put_op(input: Input, indices: Inputs, values: Input, layout: Static, accumulate: Bool):
    """Return ``input`` with ``values`` written (or added) at index tensors."""
    at = _as_numpy_index(indices, layout)
    rank = _check_fits(values.shape, input, indices, layout)
    values = values.reshape(values.shape[max(values.ndim - rank, 0) :]).astype(input.dtype)
    return add_at(input, at, values) if accumulate else overwrite(input, at, values)


def _check_fits(shape: tuple[int, ...], input: Any, indices: Any, layout: Any) -> int:
    """Return the rank of what the indices choose. RuntimeError unless values of ``shape`` fill it;
    leading dimensions of size 1 may be in excess."""
    region = jax.eval_shape(lambda x, i: x[_as_numpy_index(i, layout)], input, indices).shape
    while len(shape) > len(region) and shape[0] == 1:
        shape = shape[1:]
    fits = len(shape) <= len(region) and all(
        a in (1, b) for a, b in zip(reversed(shape), reversed(region), strict=False)
    )
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to "
            f"indexing result of shape {list(region)}"
        )
    return len(region)


# -- taking an index apart -------------------------------------------------------------------------


def _is_bool(i: Any) -> bool:
    return isinstance(i, (bool, np.bool_))


def _dims_taken(i: Any) -> int:
    """Return how many dimensions of the input an index consumes."""
    if i is None or _is_bool(i) or i is Ellipsis:
        return 0
    if isinstance(i, Tensor) and i.dtype.name in ("bool", "uint8"):
        return i.dim()
    return 1


def _normalize(item: Any) -> Any:
    """Convert sequences and arrays to index tensors, and return the rest as it is."""
    if _selects(item) and modes.current.capture is None:
        if modes.current.levels and type(item._value_now()) in boxes.BOXES:
            return item  # one for each example: gathered like any index tensor
        return int(item._value("an index"))
    if item is None or item is Ellipsis or isinstance(item, (slice, Tensor, bool, int)):
        return item
    if isinstance(item, (list, tuple, range, np.ndarray)):
        array = np.asarray(
            [i.item() if isinstance(i, Tensor) else i for i in item]
            if not isinstance(item, np.ndarray)
            else item
        )
        if array.size == 0 and not isinstance(item, np.ndarray):
            array = array.astype(np.int64)
        if array.dtype.kind not in "iub":
            raise IndexError(_INVALID.format(kind=type(item).__name__))
        if not array.ndim and array.dtype not in (np.bool_, np.uint8):  # those are masks
            return array.item()
        return make_tensor(array)
    if isinstance(item, (np.integer, np.bool_)):
        return item.item()
    if hasattr(item, "__index__"):
        return item.__index__()
    raise IndexError(_INVALID.format(kind=type(item).__name__))


def _selects(item: Any) -> bool:
    """Return whether an index is a number in a tensor, which gives a view as the number would."""
    return (
        isinstance(item, Tensor)
        and not item.dim()
        and item.dtype.category == 1
        and item.dtype.name != "uint8"
    )


def _expand_ellipsis(items: list[Any], ndim: int) -> list[Any]:
    taken = 0
    for i in items:
        taken += _dims_taken(i)
    if taken > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    ellipses = [k for k, i in enumerate(items) if i is Ellipsis]
    fill = [slice(None)] * (ndim - taken)
    if ellipses:  # further ones, which NumPy refuses, stand for no dimension
        k = ellipses[0]
        return items[:k] + fill + [i for i in items[k + 1 :] if i is not Ellipsis]
    return items + fill


def _as_written(position: int, written: list[Any], expanded: int) -> int:
    """Return the place, as written, of the index that is at ``position`` once the ellipsis is
    filled in."""
    at = next((k for k, i in enumerate(written) if i is Ellipsis), len(written))
    return position if position < at else position - (expanded - len(written))


def _slice_bounds(s: slice, n: int) -> tuple[int, int, int]:
    """Return the start, length and step of a slice of a dimension of size n."""
    try:
        start, stop, by = s.indices(n)
    except TypeError:
        if not any(map(is_symbolic, (n, s.start, s.stop))):
            raise
        start, stop, by = _indices_of_symbols(s, n)
    if by <= 0:
        raise ValueError("step must be greater than zero")
    length = -(-(stop - start) // by)
    return start, (length if length > 0 else 0), by


def _indices_of_symbols(s: slice, n: Any) -> tuple[Any, Any, int]:
    """Return what ``s.indices(n)`` says, where sizes are expressions of symbols."""

    def bound(given: Any, default: Any) -> Any:
        if given is None:
            return default
        at = given if given >= 0 else given + n
        return 0 if at < 0 else n if at > n else at

    return bound(s.start, 0), bound(s.stop, n), 1 if s.step is None else s.step.__index__()


def _may_leave_out(s: slice, n: Any) -> bool:
    """Return whether a slice of a dimension of size n is written as a part of it. By symbols it is:
    whether it is the whole would be a condition on them."""
    if any(map(is_symbolic, (n, s.start, s.stop))):
        return s.start is not None or s.stop is not None
    return bool(s.start) or (s.stop is not None and s.stop.__index__() < n)


def _is_deprecated_tuple(item: Any) -> bool:
    """Return whether a list stands for a tuple of indices, as it did in early NumPy: when it is
    short and holds anything but numbers. PyTorch still reads it so, and warns."""
    if type(item) is not list or len(item) >= 32:
        return False
    if not any(i is None or i is Ellipsis or isinstance(i, _NO_NUMBERS) for i in item):
        return False
    errors.warn_user(
        "Using a non-tuple sequence for multidimensional indexing is deprecated: it means "
        "x[tuple(seq)] and may come to mean x[torch.tensor(seq)]; write the one you want",
        UserWarning,
    )
    return True


_NO_NUMBERS = (Tensor, list, tuple, range, str, np.ndarray, slice)


def _check_mask(mask: Tensor, view: Tensor, d: int, x: Tensor) -> None:
    """Refuse, with IndexError, a mask that does not have the shape of the dimensions from ``d``
    on."""
    shape = view._geometry.size[d : d + mask.dim()]
    if mask._geometry.size != shape:
        at = next(k for k in range(mask.dim()) if k >= len(shape) or mask.shape[k] != shape[k])
        raise IndexError(
            f"The shape of the mask {list(mask.shape)} at index {at} does not match the shape "
            f"of the indexed tensor {list(x.shape)} at index {d + at}"
        )


def take_apart(
    x: Tensor,
    item: Any,
    masks: list[tuple[Tensor, int]] | None = None,
    *,
    window: bool = False,
) -> tuple[Tensor, list[Tensor | None] | None]:
    """Return the view reached by the basic parts of an index, and the index tensors left (or None).

    The list has an entry for each leading dimension of the view: a tensor, or None for a dimension
    taken whole. Into ``masks``, if given, go masks with the dimension of the view that they begin
    at, which count as dimensions taken whole; else a mask becomes index tensors. A ``window`` is a
    view to write through, of which nothing is recorded (`_is_unrecorded`).
    """
    items = list(item) if isinstance(item, tuple) or _is_deprecated_tuple(item) else [item]
    items = [_normalize(i) for i in items]
    if x.dim() == 0 and any(type(i) is int or _selects(i) for i in items):
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
            "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
        )
    written, items = items, _expand_ellipsis(items, x.dim())
    parts = _IndexParts(x, masks, window)
    for k, i in enumerate(items):
        if i is None:
            parts.add_dimension(None)
        elif _is_bool(i):
            parts.add_dimension(i)
        elif isinstance(i, slice):
            parts.slice(i)
        elif isinstance(i, int):
            n = parts.size()
            if not -n <= i < n:
                at = _as_written(k, written, len(items))
                raise IndexError(f"index {i} is out of bounds for dimension {at} with size {n}")
            parts.select(i if is_symbolic(n) else i % n)
        elif _selects(i) and not cells.is_stand_in(i._value_now()):  # while a graph is captured
            n, at = parts.size(), _as_written(k, written, len(items))
            outside = f"index {{0}} is out of bounds for dimension {at} with size {n}"
            refuse_tensor(i, functools.partial(_leaves, n), IndexError, outside, n)
            kind = step(SelectAt, parts.at)
            parts.view = make_view(parts.view, kind, (i._read(),), "SelectBackward0")
        elif i.dtype.name in ("bool", "uint8"):
            parts.mask(i, x)
        elif i.dtype.category != 1:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        else:
            parts.take(i)
    if not parts.advanced:
        return parts.view, None
    shapes = [tuple(i.shape) for i in parts.indices if i is not None]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(str(list(s)) for s in shapes)
        ) from None
    return parts.view, parts.indices


def _leaves(n: int, index: Any) -> Any:
    return (index < -n) | (index >= n)


class _IndexParts:
    """An index taken apart from left to right: the view so far, and the index tensors left."""

    def __init__(self, x: Tensor, masks: list[tuple[Tensor, int]] | None, window: bool) -> None:
        self.view = x
        self.window = window
        self.masks = masks
        self.indices: list[Tensor | None] = []
        #: Whether one of them is a tensor.
        self.advanced = False

    @property
    def at(self) -> int:
        """The dimension of the view that the next part is about."""
        return len(self.indices)

    def size(self) -> int:
        return self.view._geometry.size[self.at]

    def take(self, index: Tensor) -> None:
        """Record an index tensor that chooses elements of the next dimension by number."""
        self.advanced = True
        self.indices.append(index)

    def select(self, i: int) -> None:
        """Take one index of the next dimension."""
        if self.window:
            self.view = make_window(self.view, step(Select, self.at), (i,))
        else:
            self.view = select(self.view, self.at, i)

    def add_dimension(self, keep: Any) -> None:
        """Insert a new dimension of size 1: for None as it is, for a bool taken once or not at
        all."""
        self.view = unsqueeze(self.view, self.at)
        if keep is None:
            self.indices.append(None)
        else:
            self.take(make_tensor([0] if keep else [], dtype=dtypes.int64))

    def slice(self, bounds: slice) -> None:
        n = self.size()
        start, length, by = _slice_bounds(bounds, n)
        # By what is written: 1: is no view of the whole where there is nothing, either.
        if by != 1 or _may_leave_out(bounds, n):
            if self.window:
                self.view = make_window(self.view, step(Slice, self.at, length, by), (start,))
            else:
                self.view = sliced(self.view, self.at, start, length, by, "SliceBackward0")
        self.indices.append(None)

    def mask(self, mask: Tensor, x: Tensor) -> None:
        """Record a bool (or uint8) tensor, which stands for as many dimensions as it has."""
        _check_mask(mask, self.view, self.at, x)
        if mask.dtype is dtypes.uint8:
            if not mask.dim():
                mask = mask.bool()
            elif self.masks is None:
                errors.warn_user(
                    "indexing with dtype torch.uint8 is now deprecated, please use a dtype "
                    "torch.bool instead.",
                    UserWarning,
                )
        if self.masks is not None:
            self.masks.append((mask, self.at))
            if mask.dim():
                self.indices += [None] * mask.dim()
            else:
                self.add_dimension(None)
            return
        where = mask._value(
            "indexing with a boolean mask (its size depends on values)",
            "torchlike.where(mask, x, other)",
        )
        if not mask.dim():
            self.add_dimension(bool(where))
            return
        for part in np.nonzero(where):
            self.take(make_tensor(np.ascontiguousarray(part)))


def getitem(self: Tensor, item: Any) -> Tensor:
    """Return ``x[item]``: a view for ints, slices, None and Ellipsis; a copy where index tensors
    occur."""
    if type(item) is int and self.dim():
        n = self._geometry.size[0]
        if not -n <= item < n:
            raise IndexError(f"index {item} is out of bounds for dimension 0 with size {n}")
        return select(self, 0, item)
    found = view_of(self, item)
    if found is None:
        found = chosen(self, item)
    if found is not None:
        return found
    try:
        view, indices = take_apart(self, item)
    except IndexError:
        if not overrides.is_asked_now.get()(Tensor.__getitem__, _GETITEM, (item,), {}):
            raise
        return self[item]
    if indices is None:
        if view is self:
            host = unread(self)
            if host is not None:
                return on_unread(host)
            name = "SliceBackward0" if isinstance(item, slice) else "AliasBackward0"
            return make_view(self, step(Alias), (), name)
        return view
    layout = tuple(i is not None for i in indices)
    used = [i for i in indices if i is not None]
    found = index_op(view, used, layout)
    keep_gathered_order(found, view, used, layout)
    return found


_GETITEM = getitem.__code__


def keep_gathered_order(found: Tensor, view: Tensor, used: list[Tensor], layout: Any) -> None:
    """Set the memory order of a gathered tensor to the one that PyTorch gives it.

    There the gather is one elementwise loop over the source, with a stride of 0 along the
    dimensions of the index, and the index tensors; the order of the result is that loop's.
    """
    if all(t._view is None and t._storage.strides is None for t in (view, *used)):
        return
    size, stride, _ = view._geometry
    indexed = [d for d, is_indexed in enumerate(layout) if is_indexed]
    if indexed[-1] - indexed[0] == len(indexed) - 1:
        before = list(range(indexed[0]))
    else:
        before = []  # dimensions of separated index tensors come first
    after = [d for d in range(len(size)) if d not in before and d not in indexed]
    of_result = found._geometry.size
    index_size = of_result[len(before) : len(of_result) - len(after)]
    zeros = (0,) * len(index_size)
    strides = [(*(stride[d] for d in before), *zeros, *(stride[d] for d in after))]
    for i in used:
        # The index is expanded, and reshaped to stand at its place among the other dimensions.
        expanded = broadcast_strides(i._geometry, index_size)
        placed = (1,) * len(before) + index_size + (1,) * len(after)
        found_strides = views.view_strides(index_size, expanded, placed)
        of_index = Geometry(placed, found_strides or views.contiguous_strides(placed), 0)
        strides.append(broadcast_strides(of_index, of_result))
    found._storage.strides = iterator_strides(of_result, strides)


def _mentions_mask(item: Any) -> bool:
    """Return whether an index has a mask in it: a tensor, a NumPy array or a list of bools."""
    return any(
        type(i[0]) is bool if type(i) is list and i else getattr(i, "dtype", None) in _MASK_DTYPES
        for i in (item if type(item) is tuple else (item,))
    )


_ONE_NUMBER = (int, float, complex)
_MASK_DTYPES = (dtypes.bool, dtypes.uint8, np.dtype(bool))


def _fill_by_mask(self: Tensor, item: Any, value: Any) -> bool:
    """Carry out ``x[…, mask, …] = value`` for one value, without index tensors, whose number
    depends on values (a graph could not have them, and eagerly each number would be compiled for).
    Return False if ``item`` has other index tensors too."""
    masks: list[tuple[Tensor, int]] = []
    view, indices = take_apart(self, item, masks)
    if indices is not None or len(masks) != 1:
        return False
    ((mask, start),) = masks
    if not mask.dim() and isinstance(value, Tensor) and value.dtype is not view.dtype:
        if value.dim() <= view.dim():  # fits whatever the mask's value is, which a program lacks
            raise _other_dtypes(view, value)
        return False  # an error, which the next index has words for
    if type(value) in casts.NUMBERS:
        casts.check_fill(value, view.dtype.numpy, 1)
    mask_put_op.spec.in_place(view, mask, value, start)
    return True


def _check_mask_put(input: Any, mask: Any, value: Any, start: int) -> None:
    refuse_unfit(value, input.dtype)


@op(
    "mask_put_op",
    namespaces=(),
    method=False,
    inplace=True,
    check=_check_mask_put,
    needs={"input": ["mask"], "value": ["mask"]},
    grad_name="IndexPutBackward0",
)
def mask_put_op(input: Input, mask: Input, value: Operand, start: Int):
    """Return ``input`` with one value where a mask of its dimensions from ``start`` on is True."""
    check_mask(mask, "masked_fill_")
    chosen = mask.reshape(*mask.shape, *(1,) * (input.ndim - start - max(mask.ndim, 1)))
    value = casts.convert(jnp.asarray(value).reshape(()), input.dtype)
    return jnp.where(chosen, value, input)


def _is_unrecorded(x: Tensor, value: Any) -> bool:
    """Return whether nothing hears of a write but the storage: no tape, no capture, no level, and
    no mode or class that would be told of the view that is written to."""
    current = modes.current
    return (
        current.capture is None
        and not current.levels
        and not overrides.state.busy
        and type(x) in overrides.PLAIN
        and type(value) in overrides.PLAIN
        and not cells.is_stand_in(x._storage.cell)
        and not (current.grad_enabled and (x.requires_grad or _requires_grad(value)))
    )


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def setitem(self: Tensor, item: Any, value: Any) -> None:
    """Assign ``x[item] = value``, broadcast and cast."""
    try:
        _assign(self, item, value)
    except (IndexError, TypeError):
        if not overrides.is_asked_now.get()(Tensor.__setitem__, _SETITEM, (item, value), {}):
            raise
        self[item] = value


_SETITEM = setitem.__code__


def _is_assignable(value: Any) -> bool:
    """Return whether a value that is no plain tensor or number may be one or many of them."""
    return isinstance(value, (Tensor, list, tuple)) or any(
        hasattr(value, name) for name in ("dtype", "__float__", "__index__", "__complex__")
    )


def _assign(self: Tensor, item: Any, value: Any) -> None:
    if isinstance(value, np.generic):
        value = value.item()
    one = value.numel() == 1 if isinstance(value, Tensor) else isinstance(value, _ONE_NUMBER)
    if one and _mentions_mask(item) and _fill_by_mask(self, item, value):
        return
    view, indices = take_apart(self, item, window=_is_unrecorded(self, value))
    if (symbolic := casts.of_program(value)) is not None:
        value = wrap(casts.convert(symbolic, view.dtype.numpy))
    if (
        value is None
        or isinstance(value, (str, bytes))
        or (type(value) not in overrides.PLAIN and not _is_assignable(value))
    ):
        raise TypeError(
            f"can't assign a {type(value).__name__} to a torch.{dtypes.scalar_type(view.dtype)}"
            "Tensor"
        )
    if indices is None:
        if isinstance(value, np.ndarray):
            value = make_tensor(value)
        elif isinstance(value, (list, tuple)):
            value = make_tensor(value, dtype=view.dtype)
        if isinstance(value, Tensor):
            # Leading dimensions of size 1 in excess are dropped, as PyTorch does.
            while value.dim() > view.dim() and value.shape[0] == 1:
                value = value.squeeze(0)
            if not value.dim() and view.dim():
                view.fill_(value)
                return
        copy_(view, value, expanded=True)
        return
    if type(value) in casts.NUMBERS:
        value = casts.number(value, view.dtype.numpy)
    if not isinstance(value, Tensor):
        value = make_tensor(value, dtype=view.dtype)
    if value._storage is view._storage:
        # As PyTorch, which then asks about their overlap only where both fill their memory.
        while value.dim() and value.shape[0] == 1:
            value = value.squeeze(0)
    used = [i for i in indices if i is not None]
    layout = tuple(i is not None for i in indices)
    put_in_place(view, used, value, layout, False)


def _to_fill_with(view: Tensor, indices: Any, value: Tensor) -> Tensor:
    """Return the value, in the dtype of the view if it is one for all that a mask chooses: a
    fill."""
    masked = any(isinstance(i, Tensor) and i.dtype is dtypes.bool for i in indices)
    if value.dtype is view.dtype or value.numel() != 1 or not masked:
        return value
    refuse_unfit_tensor(value, view.dtype.numpy)
    return value.to(view.dtype)


def _other_dtypes(view: Tensor, value: Tensor) -> RuntimeError:
    return RuntimeError(
        "Index put requires the source and destination dtypes match, got "
        f"{dtypes.scalar_type(view.dtype)} for the destination and "
        f"{dtypes.scalar_type(value.dtype)} for the source."
    )


def put_in_place(view: Tensor, used: list[Tensor], value: Tensor, layout: Any, add: Any) -> None:
    """Write values into a view by the in-place index_put. RuntimeError when the dtypes differ."""
    if value.dtype is not view.dtype:
        shapes = [jax.ShapeDtypeStruct(t.shape, t.dtype.numpy) for t in (view, *used)]
        _check_fits(value.shape, shapes[0], shapes[1:], layout)
        raise _other_dtypes(view, value)
    update_with_sequences(index_put_op.spec, view, (view, used, value), (layout, add))


def _layout(input: Tensor, indices: Any) -> tuple[Tensor, list[Tensor], tuple[Any, ...]]:
    view, found = take_apart(input, tuple(slice(None) if i is None else i for i in indices))
    if found is None:  # 0-dim indices alone: one place, which is a view
        return view, [], ()
    return view, [i for i in found if i is not None], tuple(i is not None for i in found)


@composite()
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: Any = False) -> Tensor:
    """Return a copy of ``input`` with ``values`` written (or added) at index tensors."""
    return index_put_(input.clone(), indices, values, accumulate)


@composite()
def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: Any = False) -> Tensor:
    """Write (or add) ``values`` at index tensors, in place."""
    if input.is_meta:
        indices = _without_mask(input, indices, values)
    view, used, layout = _layout(input, indices)
    if not used and view.dtype is values.dtype:
        (view.add_ if accumulate else view.copy_)(values)
        return input
    if not accumulate:
        values = _to_fill_with(view, indices, values)
    put_in_place(view, used, values, layout, accumulate)
    return input


@composite(namespaces=("aten",), method=False)
def index(input: Tensor, indices: Any) -> Tensor:
    """Return ``input[indices]``, with None for a dimension that is taken whole."""
    return getitem(input, tuple([slice(None) if i is None else i for i in indices]))


def _without_mask(input: Tensor, indices: Any, values: Tensor) -> list[Any]:
    """Replace a mask on the meta device by index tensors of as many elements as ``values`` has: how
    many it selects is not known, and the shape of the result does not depend on it."""
    given = [i for i in indices if i is not None]
    if len(given) != 1 or given[0].dtype is not dtypes.bool or not given[0].dim():
        return indices
    mask = given[0]
    before = next(d for d, i in enumerate(indices) if i is not None)
    _check_mask(mask, input, before, input)
    after = input.dim() - before - mask.dim()
    count = values.shape[-1 - after] if values.dim() > after else 1
    places = wrap(MetaArray((count,), np.int64))
    return [*indices[:before], *[places] * mask.dim()]


add_method("__getitem__", getitem)
add_method("__setitem__", setitem)
