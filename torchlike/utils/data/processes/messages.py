"""Messages that carry objects to another process: a pickle, and the memory of tensors beside it.

Arrays and tensors do not pass through the pickle. Where they are large, they and the pickle lie in
one shared block, whose descriptor is sent; a tensor that is in shared memory already is sent by its
block's descriptor, and stays shared.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import io
import multiprocessing.context
import os
import pickle
import threading
from collections.abc import Iterator
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from torchlike._core import dtypes
from torchlike._core.storage import Storage, host_value
from torchlike._extensions.meta import MetaArray
from torchlike._extensions.parts_storage import PartsStorage
from torchlike._runtime import shared_memory
from torchlike._runtime.shared_memory import Block, aligned
from torchlike.tensor import Tensor
from torchlike.utils.data.processes import by_value
from torchlike.utils.data.processes.shared_memory_pool import Received, SharedMemoryPool, lease_of

#: Up to so many bytes an object goes through the socket: a block costs 40 µs on each side.
_INLINE = 1 << 14
#: Arrays below this are part of the pickle.
_LEAST = 1 << 9


class _Receiver:
    """Stands for the process that a message goes to where ``multiprocessing`` asks which one is
    being started: its locks, queues and memory are pickled for such a one alone."""

    def __init__(self) -> None:
        self.descriptors: list[int] = []

    def duplicate_for_child(self, descriptor: int) -> int:
        """Send a descriptor along, and return its place among those that are sent."""
        self.descriptors.append(descriptor)
        return len(self.descriptors) - 1

    def DupFd(self, place: int) -> _SentDescriptor:
        """Return what gives the receiver its copy of a descriptor."""
        return _SentDescriptor(place)


class _SentDescriptor:
    """A descriptor that came with the message. ``detach()`` hands it over."""

    def __init__(self, place: int) -> None:
        self._place = place

    def detach(self) -> int:
        return os.dup(_here.descriptors[self._place])


_starting: Any = multiprocessing.context
#: Where ``multiprocessing`` says how its memory, connections and numbers in memory are pickled.
_REDUCING = ("multiprocessing.heap", "multiprocessing.connection", "multiprocessing.sharedctypes")


@contextlib.contextmanager
def _sent_to(receiver: _Receiver) -> Iterator[None]:
    """Pickle in a `with` block for a process that is being started."""
    before = _starting.get_spawning_popen()
    _starting.set_spawning_popen(receiver)
    try:
        yield
    finally:
        _starting.set_spawning_popen(before)


class _MessagePickler(by_value.Pickler):
    def __init__(self, file: Any, pool: SharedMemoryPool | None, whole: bool) -> None:
        self.buffers: list[Any] = []
        # No method of this object, which would refer to itself: the memory that it refers to is to
        # be free at once.
        keep = functools.partial(_keep, self.buffers)
        super().__init__(file, back=pool is not None, buffer_callback=keep)
        self.blocks: list[Block] = []
        #: Memory of which a view was sent without the rest, and how many tensors are on each.
        self.cut: set[int] = set()
        self.tensors_on: collections.Counter[int] = collections.Counter()
        self._pool, self._whole = pool, whole
        self._places: dict[int, int] = {}
        self.receiver = _Receiver()
        self._reducers: Any = None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return self._tensor(obj)
        if isinstance(obj, Storage):
            return self._storage(obj)
        if type(obj) is np.ndarray and self._pool is not None:
            found = self._in_pool(obj)
            if found is not None:
                return _array_in_pool, (*found, obj.dtype, obj.shape)
        found = super().reducer_override(obj)
        return self._by_multiprocessing(obj) if found is NotImplemented else found

    def _by_multiprocessing(self, obj: Any) -> Any:
        if self._reducers is None:
            self._reducers = ForkingPickler(io.BytesIO()).dispatch_table
        reduce = self._reducers.get(type(obj))
        return (
            NotImplemented if getattr(reduce, "__module__", None) not in _REDUCING else reduce(obj)
        )

    def _tensor(self, t: Tensor) -> tuple[Any, ...]:
        """Send a small view of much memory without the rest, unless others are on that, too."""
        storage, view = t._storage, t._view
        self.tensors_on[id(storage)] += 1
        if (
            self._whole
            or view is None
            or type(t) is not Tensor
            or type(storage) is PartsStorage
            or type(storage.cell) is MetaArray
            or storage.is_shared()
            or 2 * t.nbytes > storage.nbytes
        ):
            return NotImplemented
        self.cut.add(id(storage))
        made = Storage(None, np.array(t.detach()._value("DataLoader")))
        return _rebuilt_view, (made, t.requires_grad)

    def _storage(self, storage: Storage) -> tuple[Any, ...]:
        if isinstance(storage, PartsStorage) or type(storage.cell) is MetaArray:
            return NotImplemented
        values = np.asarray(storage.cell if storage.host is None else storage.host)
        dtype = dtypes.from_numpy_dtype(storage.dtype)
        shared = None if storage.host is None else shared_memory.block_of(values)
        if shared is not None and shared.descriptor is not None:
            place = self._places.setdefault(id(shared), len(self.blocks))
            if place == len(self.blocks):
                self.blocks.append(shared)
            start = shared_memory.offset_in(shared, values)
            strides = tuple(n // values.itemsize for n in values.strides)
            return _shared_storage, (place, start, dtype, values.shape, strides, storage.strides)
        found = None if self._pool is None else self._in_pool(values)
        if found is not None:
            return _storage_in_pool, (*found, dtype, values.shape, storage.strides)
        flat: Any = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        return _storage_of, (pickle.PickleBuffer(flat), dtype, values.shape, storage.strides)

    def _in_pool(self, values: np.ndarray) -> tuple[Any, ...] | None:
        lease = lease_of(values)
        if lease is None or not values.flags.c_contiguous or self._pool is None:
            return None
        return self._pool.lend(lease), lease.offset_of(values)


def _keep(buffers: list[Any], buffer: pickle.PickleBuffer) -> bool:
    """Keep a buffer beside the pickle, and return whether it is so small that it is to be part of
    it."""
    raw = buffer.raw()
    if raw.nbytes < _LEAST:
        return True
    buffers.append(raw)
    return False


class _Unpacking(threading.local):
    """The message that this thread unpacks."""

    blocks: list[Block]
    descriptors: list[int]
    pool: Received


_here = _Unpacking()


def pack(
    obj: Any, pool: SharedMemoryPool | None = None
) -> tuple[bytes, list[int], list[Any], set[str]]:
    """Pack an object into the bytes of a message and its descriptors, what must live until those
    are sent, and the modules that the receiver will import.

    ``pool``: where a worker's batches lie, which it uses again. Raises what ``pickle`` does.
    """
    try:
        file, pickler = _pickled(obj, pool, False)
        if any(pickler.tensors_on[storage] > 1 for storage in pickler.cut):
            if pool is not None:
                pool.take_back()
            file, pickler = _pickled(obj, pool, True)
    except BaseException:
        if pool is not None:
            pool.take_back()
        raise
    return _laid_out(file.getbuffer(), pickler, pool)


def _pickled(
    obj: Any, pool: SharedMemoryPool | None, whole: bool
) -> tuple[io.BytesIO, _MessagePickler]:
    file = io.BytesIO()
    pickler = _MessagePickler(file, pool, whole)
    with contextlib.nullcontext() if pool is not None else _sent_to(pickler.receiver):
        pickler.dump(obj)
    return file, pickler


def _laid_out(body: Any, pickler: _MessagePickler, pool: SharedMemoryPool | None) -> Any:
    parts = [body, *pickler.buffers]
    head: dict[str, Any] = {"sizes": [part.nbytes for part in parts]}
    descriptors = [block.descriptor for block in pickler.blocks]
    keep: list[Any] = [*pickler.blocks]
    head["shared"] = len(descriptors)
    descriptors += pickler.receiver.descriptors
    head["sent"] = len(pickler.receiver.descriptors)
    if sum(head["sizes"]) <= _INLINE:
        head["inline"] = [bytes(part) for part in parts]
    else:
        need = sum(map(aligned, head["sizes"]))
        if pool is None:
            block: Any = shared_memory.allocate(need)
            descriptors.append(block.descriptor)
            keep.append(block)
        else:
            block = pool.allocate(need)
            head["block"] = pool.lend(block)
        _fill(np.asarray(block), parts)
    if pool is not None:
        head["lent"] = pool.lent()
        new, head["dropped"] = pool.commit()
        descriptors += new
    return pickle.dumps(head), descriptors, keep, pickler.modules


def _fill(memory: np.ndarray, parts: list[Any]) -> None:
    start = 0
    for part in parts:
        memory[start : start + part.nbytes] = np.frombuffer(part, np.uint8)
        start += aligned(part.nbytes)


def unpack(
    body: bytes, descriptors: list[int], pool: Received | None = None, *, private: bool = False
) -> Any:
    """Unpack the object of a message. ``private``: writes to its memory are seen by nobody else;
    the descriptors are closed, or kept by blocks that stay shared."""
    head = pickle.loads(body)
    attached, sent = head["shared"], head["sent"]
    shared, others = descriptors[:attached], descriptors[attached + sent :]
    _here.descriptors = descriptors[attached : attached + sent]
    _here.blocks = [shared_memory.attach(d) for d in shared]
    if pool is not None:
        _here.pool = pool
        pool.receive(head["lent"], others, head["dropped"])
    try:
        if "inline" in head:
            first, *rest = head["inline"]
            parts: list[Any] = [first, *map(bytearray, rest)]
        else:
            lease: Any = pool.borrowed(head["block"]) if pool else _mapped(others[0], private)
            parts = _cut(np.asarray(lease), head["sizes"])
        return pickle.loads(parts[0], buffers=parts[1:])
    finally:
        for descriptor in _here.descriptors:
            os.close(descriptor)
        _here.__dict__.clear()
        if pool is not None:
            pool.release()


def _cut(memory: np.ndarray, sizes: list[int]) -> list[np.ndarray]:
    parts, start = [], 0
    for size in sizes:
        parts.append(memory[start : start + size])
        start += aligned(size)
    return parts


def _mapped(descriptor: int, private: bool) -> Block:
    try:
        return Block(descriptor, os.fstat(descriptor).st_size, private=private)
    finally:
        os.close(descriptor)


# -- what unpickling calls -------------------------------------------------------------------------


def _storage(values: np.ndarray, strides: Any) -> Storage:
    made = Storage(host_value(values))
    made.strides = strides
    return made


def _storage_of(buffer: Any, dtype: Any, shape: Any, strides: Any) -> Storage:
    return _storage(np.frombuffer(buffer, np.uint8).view(dtype.numpy).reshape(shape), strides)


def _shared_storage(
    place: int, start: int, dtype: Any, shape: Any, order: Any, strides: Any
) -> Storage:
    block = _here.blocks[place]
    width = dtype.numpy.itemsize
    steps = [n * width for n in order]
    values = np.ndarray(shape, dtype.numpy, np.asarray(block), start, steps)
    made = Storage(None, values)
    made.strides = strides
    return made


def _array_in_pool(number: int, start: int, dtype: Any, shape: Any) -> np.ndarray:
    return _here.pool.borrowed(number).array(dtype, shape, start)


def _storage_in_pool(number: int, start: int, dtype: Any, shape: Any, strides: Any) -> Storage:
    return _storage(_array_in_pool(number, start, dtype.numpy, shape), strides)


def _rebuilt_view(storage: Storage, requires_grad: bool) -> Tensor:
    made = object.__new__(Tensor)
    made._storage = storage
    made._requires_grad = requires_grad
    return made
