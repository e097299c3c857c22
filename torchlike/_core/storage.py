"""Storage: the one mutable thing. A cell with a version, holding a jax.Array or a NumPy array.

A *device cell* holds one immutable ``jax.Array``. On the CPU it may instead hold a *host value*: a
NumPy array that nobody writes, the result of what NumPy computes faster than XLA. Compiled forms
take both (``value``); whoever wants a ``jax.Array`` turns the one into the other (``read``). A
*host buffer* is a NumPy array that somebody outside also sees (``from_numpy``, ``.numpy()``, shared
memory, a memory map): it is read afresh at each use and written through, so that both sides see
each other's writes.

The array has the *logical* shape of the storage's base tensor. Where the base tensor's memory order
is not row-major (``x.t() + 1`` keeps the strides of ``x.t()``, as in PyTorch), ``strides`` says so;
it is metadata for ``stride()``, ``as_strided`` and view compatibility, never a layout of the array.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import core

from torchlike._core import devices, modes
from torchlike._core.cells import KINDS
from torchlike._core.layouts import strided
from torchlike._core.views.geometry import contiguous_strides, dense_order
from torchlike._runtime import first_calls, late_checks, recycling, shared_memory, x64
from torchlike._runtime.addresses import Address, address_of
from torchlike._runtime.mapped_files import is_private
from torchlike._runtime.provided import Provided
from torchlike._runtime.transfer import to_device

if TYPE_CHECKING:
    from torchlike._core.cells import Array, Value
    from torchlike._core.layouts import layout as Layout

_ndarray = np.ndarray
_A = TypeVar("_A", bound="Array")


def device_array(values: np.ndarray) -> jax.Array:
    """Return a jax array of NumPy values that nobody writes any more (JAX may keep their memory).

    ``jnp.asarray`` compiles a copy for each new shape (7-24 ms).
    """
    capture = modes.current.capture
    if capture is None:
        found = to_device(values)
        if found.dtype != values.dtype:
            x64.require()
        return found
    return capture.unseen(jnp.asarray, values)


def host_value(values: np.ndarray) -> Array:
    """Return NumPy values that nobody writes any more as a cell holds them: as they are where NumPy
    may compute with them, else as a jax array."""
    current = modes.current
    if current.capture is None and not current.levels and first_calls.takes(values):
        return values
    return device_array(values)


def array_of_host_value(values: np.ndarray) -> jax.Array:
    """Return a host value as a jax array, outside any capture."""
    array = to_device(values)
    if array.dtype != values.dtype:  # 64-bit types are off; this value has them already
        with jax.enable_x64(True):
            array = to_device(values)
    return array


class Storage:
    """A mutable cell around an array, with a version that each write raises."""

    __slots__ = ("__weakref__", "_address", "abandoned", "cell", "host", "strides", "version")
    #: Whether the contents have a place on a mesh of devices, which writes keep.
    is_placed = False
    #: Whether its tensor is no DTensor though the array may lie on a mesh: a program put it there.
    is_ordinary = False
    #: Whether the memory is another tensor's, of which its tensor is a view: a dual's.
    is_of_another = False
    #: Whether that tensor is a view, so that offsets and strides here are other ones.
    is_of_a_view = False
    #: What only a wrapper subclass says otherwise: its first element's place, and its layout.
    offset: int = 0
    layout: Layout = strided

    def __init__(self, cell: object, host: np.ndarray | None = None) -> None:
        self.cell: Any = cell
        self.host = host
        self.version = 0
        self.strides: tuple[int, ...] | None = None
        self._address: Address | None = None
        #: Whether a tensor was moved off this storage by ``.data = …``; see modes.epoch.
        self.abandoned = False
        current = modes.current
        if current.watcher is not None:
            current.watcher.adopt(self)
        if current.levels and cell is not None:
            for level in current.levels:
                level.adopt(self)

    # -- reading and writing -----------------------------------------------------------------------

    def read(self) -> Any:
        """Return the contents as a jax array (a tracer while a capture runs and the cell is
        state)."""
        capture = modes.current.capture
        return self.concrete() if capture is None else capture.read(self)

    def value(self) -> Any:
        """Return the contents as a jax array or a host value (a tracer while a capture runs)."""
        capture = modes.current.capture
        if capture is not None:
            return capture.read(self)
        return self.cell if self.host is None else self._copied(host_value)

    def concrete(self) -> jax.Array:
        """Return the contents as a jax array, outside any capture; a host buffer is copied."""
        if self.host is not None:
            return self._copied(device_array)
        if type(self.cell) is _ndarray:
            self.cell = array_of_host_value(self.cell)
        return self.cell

    def _copied(self, make: Callable[[np.ndarray], _A]) -> _A:
        """Return the result of ``make`` for a copy of the host buffer, as JAX may alias aligned
        NumPy memory; where nobody else holds the buffer, keep that result in the cell in its
        place."""
        alone, host = is_alone_on_host(self), self.host
        assert host is not None
        found = make(np.array(host, order="C"))
        if alone:  # nobody outside holds the buffer any more: be a cell for good
            self.cell, self.host = found, None
        return found

    def write(self, array: Value) -> None:
        """Replace the contents and raise the version. The new array may have another shape.

        The primitive of all writes, which decides nothing: tensors are written by `Tensor._write`.
        """
        watcher = modes.current.watcher
        if watcher is not None:
            watcher.write(self, array)
        elif self.host is None:
            self.cell = array
        else:
            self._write_host(array)
        self.version += 1

    def _write_host(self, array: Value) -> None:
        host = self.host
        assert host is not None
        if host.shape != array.shape or host.dtype != array.dtype:
            self.cell, self.host = array, None  # resized: the old buffer stays with its owner
        else:
            _copy_into(host, array)

    def write_part(self, part: np.ndarray, array: Value) -> None:
        """Replace a part of the host buffer, and raise the version."""
        _copy_into(part, array)
        self.version += 1

    # -- ownership ---------------------------------------------------------------------------------

    def is_sole_owner(self) -> bool:
        """Return whether nothing but this cell refers to the array, so that it may be donated.

        A recorded node, a cached view, a NumPy array over the same memory or the user's own
        ``t.jax()`` each hold a reference; CPython counts them in ~25 ns.
        """
        return self.host is None and getrefcount(self.cell) == SOLE_ATTRIBUTE

    def alike(self, array: Value) -> Storage:
        """Return a new storage of this kind for an array."""
        return type(self)(array)

    def placed(self, array: jax.Array) -> jax.Array:
        """Move an array of the contents' shape to where the contents lie, and return it;
        `is_placed` says that it may move."""
        return array

    def share_with_host(self) -> np.ndarray:
        """Move the contents into a host buffer, and give that buffer (logical shape)."""
        if self.host is None:
            self._become_host_buffer(np.array(self._contents(".numpy()", "jax.pure_callback")))
            if late_checks.queue:
                late_checks.look(at_read=True)
        assert self.host is not None
        return self.host

    def share_with_processes(
        self, block: shared_memory.Block | None = None, offset: int = 0
    ) -> None:
        """Move the contents into a host buffer on shared memory: a new block's, or the place in
        ``block`` from byte ``offset`` on. Nothing where they are in one already."""
        if self.is_shared():
            return
        found = self._contents("share_memory_()", "tensors that were shared before")
        if block is None:
            block = shared_memory.allocate(self.nbytes)
        # In the tensor's memory order, so that NumPy arrays of it need no other buffer.
        order = dense_order(self.shape, self.strides or contiguous_strides(self.shape))
        buffer = block.array(self.dtype, tuple(self.shape[d] for d in order), offset)
        buffer = buffer.transpose(np.argsort(order))
        np.copyto(buffer, np.asarray(found))
        self._become_host_buffer(buffer)

    def is_shared(self) -> bool:
        """Return whether the contents are in memory that other processes see, or can be given."""
        return self.host is not None and shared_memory.block_of(self.host) is not None

    def _contents(self, what: str, instead: str) -> Any:
        """Return the values as an array, for ``what``, which no capture can do."""
        if type(self.cell) in KINDS:
            return np.asarray(self.cell)  # or its kind says why not
        modes.running_capture().refuse_value(what, instead)
        return self.cell if self.host is None else self.host

    def _become_host_buffer(self, buffer: np.ndarray) -> None:
        self.cell, self.host = None, buffer

    def __reduce__(self) -> tuple[object, ...]:
        found = self.cell.reduced(self) if type(self.cell) in KINDS else None
        if found is not None:
            return found
        values = self.host if self.host is not None else self.cell
        return _rebuild, (np.array(values), str(self.device), self.strides)

    # -- what it is --------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.cell if self.host is None else self.host).shape

    @property
    def dtype(self) -> np.dtype:
        return (self.cell if self.host is None else self.host).dtype

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def device(self) -> devices.device:
        cell = self.cell
        if type(cell) in KINDS:
            return cell.device
        if self.host is not None or type(cell) is _ndarray:
            return devices.CPU
        if isinstance(cell, core.Tracer):
            return modes.current.place or devices.get_default_device()
        found = cell.sharding.device_set
        return devices.from_jax(next(iter(found)))

    def data_ptr(self) -> int:
        """Return an address that is the same for tensors on this storage and differs between
        storages; on the CPU the elements are there until the next write (see ``addresses``)."""
        if self.size == 0 or (type(self.cell) in KINDS and not self.cell.has_address):
            return 0
        if self.host is not None:
            return self.host.__array_interface__["data"][0]
        # Cells keep their arrays while they are captured.
        return address_of(self, may_move=not modes.is_capturing())


class LargeStorage(Storage):
    """The cell of a large result, whose memory is for a later one when it goes (``recycling``)."""

    __slots__ = ()

    def __del__(self) -> None:
        if self.is_sole_owner():
            recycling.put_aside(self.cell)


def storage_of_large(array: Array) -> Storage:
    """Return a storage for a result of `recycling.forward`."""
    may_serve = not modes.is_capturing() and recycling.is_large(array)
    return (LargeStorage if may_serve else Storage)(array)


class Unread(Storage):
    """The bytes of a storage as elements, which may still become elements of another dtype or
    shape: ``asarray(bytes, dtype=uint8).view(dtype).reshape(shape)``, the way from a file to a
    parameter, gives a storage in the parameter's own shape and no chain of views."""

    __slots__ = ()


def _copy_into(memory: np.ndarray, array: Value) -> None:
    if not memory.flags.writeable:
        raise RuntimeError("the tensor's memory is a read-only NumPy array")
    np.copyto(memory, np.asarray(array))


def is_alone_on_host(storage: Storage) -> bool:
    """Return whether a cell is the only way to its host buffer: nothing else refers to the array or
    to what it is a view of, or it has a part of its own of a file mapped for this process."""
    host = storage.host
    if host is None or getrefcount(host) != SOLE_LOCAL:
        return False
    while isinstance(host.base, np.ndarray):
        if getrefcount(host.base) != _SOLE_BASE:
            return False
        host = host.base
    return (host.base is None and host.flags.owndata) or is_private(host)


def _rebuild(values: np.ndarray, device: str, strides: tuple[int, ...] | None) -> Storage:
    """Unpickle a storage. The device falls back to the CPU where the saved one does not exist
    here."""
    x64.require()
    target = devices.device(device)
    array = jnp.asarray(values)
    if target.type != "cpu" and devices.available(target.type):
        array = jax.device_put(array, devices.to_jax(target))
    storage = Storage(array)
    storage.strides = strides
    return storage


#: Names that pickles of earlier versions have for what stands in rooms above now.
_rebuild_meta = Provided("unpickles a storage on the meta device")
SparseStorage = Provided("unpickles the storage of a sparse tensor")


def _count_cell_references() -> tuple[int, int]:
    """Return the getrefcount of an array held only by a cell: read as attribute, and as a local."""
    probe = Storage(object(), None)
    probe.cell = object()
    attribute = getrefcount(probe.cell)
    local = probe.cell
    return attribute, getrefcount(local)


SOLE_ATTRIBUTE, SOLE_LOCAL = _count_cell_references()
_view = np.empty(1).view()
_SOLE_BASE = getrefcount(_view.base)
del _view
