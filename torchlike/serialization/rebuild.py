"""What a checkpoint's pickle is rebuilt by: storages, and the tensors on them."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._compat.typed_storage import TypedStorage
from torchlike._core import dtypes, layouts, views
from torchlike._core.storage import Storage
from torchlike._core.views import View, step
from torchlike._extensions.meta import MetaArray
from torchlike._extensions.untyped_storage import UntypedStorage
from torchlike._ops.aten.subclasses import _make_wrapper_subclass
from torchlike._ops.creation.filled import empty_strided
from torchlike.nn.parameter import Parameter
from torchlike.sparse._compressed import sparse_compressed_tensor
from torchlike.sparse._tensor import sparse_coo_tensor
from torchlike.tensor import FIELDS, Tensor, parts_of_state, set_state

# -- storages --------------------------------------------------------------------------------------


class StorageRecord:
    """A storage's bytes, and the cell that the first to ask gets in its own dtype.

    content: a memoryview of a file's map stays where it is, where the byte order is this machine's.
    """

    def __init__(
        self, content: bytes | memoryview, big: bool, place: Callable[[np.ndarray], Storage]
    ) -> None:
        self._content = content
        self._big = big
        self._place = place
        self._cell: Storage | None = None

    def cell(self, dtype: dtypes.dtype) -> Storage:
        if self._cell is None:
            stored = dtype.numpy.newbyteorder(">") if self._big else dtype.numpy
            count = len(self._content) // dtype.itemsize
            is_map = isinstance(self._content, memoryview)
            flat = np.frombuffer(self._content, stored, count).astype(dtype.numpy, copy=not is_map)
            self._cell = self._place(flat)
            self._content = b""
        return self._cell


class LoadedTyped(TypedStorage):
    """A storage of known dtype. Its vector is made when asked for: until then a tensor that covers
    the memory whole may give the cell its own shape."""

    def __init__(self, record: StorageRecord, dtype: dtypes.dtype, count: int) -> None:
        self.record = record
        self.kind = dtype
        self._count = count

    @property
    def _flat(self) -> Tensor:  # type: ignore[override]
        return _seen(self.record.cell(self.kind), self.kind, (self._count,), (1,), 0)


class LoadedUntyped(UntypedStorage):
    """A storage of bytes; tensors of dtypes without a storage class of their own are on such."""

    def __init__(self, record: StorageRecord) -> None:
        self.record = record

    @property
    def _storage(self) -> Storage:  # type: ignore[override]
        return self.record.cell(dtypes.uint8)


# -- tensors ---------------------------------------------------------------------------------------


def rebuild_tensor(
    storage: LoadedTyped,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: Any,
    hooks: Any,
    metadata: Any = None,
) -> Tensor:
    """Rebuild a tensor of the storage's dtype."""
    return _rebuilt(storage.record, storage.kind, offset, size, stride, requires_grad, metadata)


def rebuild_tensor_v3(
    storage: Any,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: Any,
    hooks: Any,
    dtype: dtypes.dtype,
    metadata: Any = None,
) -> Tensor:
    """Rebuild a tensor of a dtype without a storage class of its own."""
    return _rebuilt(storage.record, dtype, offset, size, stride, requires_grad, metadata)


def _rebuilt(
    record: StorageRecord,
    dtype: dtypes.dtype,
    offset: int,
    size: Any,
    stride: Any,
    requires_grad: Any,
    metadata: Any,
) -> Tensor:
    if len(size) != len(stride):
        raise RuntimeError(f"unequal size length ({len(size)}) and stride length ({len(stride)})")
    t = _on_memory(record.cell(dtype), dtype, tuple(size), tuple(stride), offset)
    for name, kind in (("conj", views.Conj), ("neg", views.Neg)):
        if (metadata or {}).get(name):
            before = t._view or View((), (), t._geometry)
            t._view = before.then(step(kind), ())
    t._requires_grad = bool(requires_grad)
    return t


def _on_memory(
    cell: Storage, dtype: dtypes.dtype, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> Tensor:
    """Make a tensor on a flat storage. One that covers it all owns it, and gives the storage its
    own shape."""
    order = views.dense_order(size, stride)
    whole = views.dense_strides(size, order) == stride and offset == 0
    fresh = len(cell.shape) == 1 and cell.version == 0 and cell.dtype == dtype.numpy
    without_values = type(cell.cell) is MetaArray
    if without_values or not (whole and fresh and cell.size == math.prod(size)):
        return _seen(cell, dtype, size, stride, offset)
    t = object.__new__(Tensor)
    t._storage = cell
    lengths, back = [size[d] for d in order], sorted(range(len(order)), key=order.__getitem__)
    held: Any = cell.concrete() if cell.host is None else cell.host
    held = held.reshape(lengths)
    if back != [*range(len(back))]:
        held = held.transpose(back)
    if cell.host is None:
        cell.cell = held
    else:
        cell.host = held
    cell.version = 1
    if stride != views.contiguous_strides(size):
        cell.strides = stride
    return t


def _seen(
    cell: Storage, dtype: dtypes.dtype, size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> Tensor:
    """Return a view of the storage's memory, as another dtype where the file has two on one
    storage."""
    base = object.__new__(Tensor)
    base._storage = cell
    if dtype.numpy == cell.dtype:
        t = base.as_strided(size, stride, offset)
    else:
        t = base.as_strided((cell.size,), (1,), 0).view(dtype)
        bits: Any = t._view
        t._view = bits.then(step(views.AsStrided, size, stride, offset, (0,)), ())
    t._base = None
    return t


def rebuild_parameter(data: Tensor, requires_grad: Any, hooks: Any) -> Parameter:
    return Parameter(data, bool(requires_grad))


def rebuild_parameter_with_state(data: Tensor, requires_grad: Any, hooks: Any, state: Any) -> Any:
    return with_state(Parameter(data, bool(requires_grad)), state)


def with_state(t: Tensor, state: Any) -> Tensor:
    """Give a tensor the state of the one saved, and return it. UnpicklingError for a field of the
    tensor's own in it."""
    if not hasattr(t, "__setstate__"):
        for part in parts_of_state(state):
            for name in part:
                if name in FIELDS or _is_tensors_own(name, type(t)):
                    raise pickle.UnpicklingError(
                        f"a tensor's own field {name!r} is given as an attribute"
                    )
    return set_state(t, state)


def _is_tensors_own(name: Any, kind: type) -> bool:
    """True if an attribute of that name would hide a method or a property of plain tensors, or is
    Python's. Subclasses, which a user has allowed, have what they like under such names."""
    if not isinstance(name, str) or name.startswith("__"):
        return True
    own = getattr(Tensor, name, None)
    return kind in (Tensor, Parameter) and (callable(own) or hasattr(type(own), "__set__"))


def rebuild_meta_tensor(dtype: dtypes.dtype, size: Any, stride: Any, requires_grad: Any) -> Tensor:
    """Rebuild a tensor without values."""
    made = empty_strided(size, stride, dtype=dtype, device="meta")
    made._requires_grad = bool(requires_grad)
    return made


def rebuild_wrapper_subclass(
    kind: type[Tensor],
    dtype: dtypes.dtype,
    size: Any,
    stride: Any,
    offset: int,
    layout: Any,
    device: Any,
    requires_grad: Any,
) -> Any:
    """Rebuild a tensor of a wrapper subclass; what is inside comes with its state."""
    return _make_wrapper_subclass(
        kind,
        size,
        stride,
        offset,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=bool(requires_grad),
    )


def rebuild_sparse_tensor(layout: layouts.layout, data: Any) -> Any:
    """Rebuild a tensor in coordinate form or compressed. RuntimeError for indices that do not
    fit."""
    if layout is not layouts.sparse_coo:
        return sparse_compressed_tensor(*data, layout=layout)
    indices, values, size, *coalesced = data
    return sparse_coo_tensor(indices, values, size, is_coalesced=bool(coalesced and coalesced[0]))


def layout_named(name: str) -> layouts.layout:
    """Return the layout that files call ``torch.strided`` and the like. RuntimeError for an unknown
    one."""
    found = getattr(layouts, name.removeprefix("torch."), None)
    if not isinstance(found, layouts.layout):
        raise RuntimeError(f"the checkpoint names an unknown layout: {name}")
    return found
