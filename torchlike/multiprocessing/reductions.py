"""How tensors go to another process: by their memory, which both see from then on."""

from __future__ import annotations

import multiprocessing
import multiprocessing.reduction as standard
import os
import pickle
import time
import weakref
from multiprocessing import queues, resource_sharer, util
from typing import Any

import numpy as np

from torchlike._core.overrides import TENSOR_TYPES
from torchlike._core.storage import Storage, Unread
from torchlike._extensions.meta import MetaArray
from torchlike._runtime import shared_memory
from torchlike._runtime.shared_memory import Block
from torchlike.tensor import Tensor

__all__ = ["StorageWeakRef", "init_reductions", "reduce_storage", "reduce_tensor"]

_NON_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not "
    "support crossing process boundaries.  If you just want to transfer the data, call detach() on "
    "the tensor before serializing (e.g., putting it on the queue)."
)


class StorageWeakRef:
    """A storage's identity, without keeping it: references to one storage are equal and hash alike.

    ``cdata`` is a number for it, ``expired()`` whether it is gone.
    """

    __slots__ = ("_reference", "cdata")

    def __init__(self, storage: Any) -> None:
        held = storage.untyped()._storage
        self._reference = weakref.ref(held)
        self.cdata = id(held)

    def expired(self) -> bool:
        """Return whether the storage is gone."""
        return self._reference() is None

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, StorageWeakRef) and self._reference == other._reference
        )


#: Seconds that a child that has ended its work waits for those it has sent tensors to.
_PATIENCE = 5.0
#: When that is, in the order of what `multiprocessing` does at the end: queues take nothing more
#: (10), and the socket that memory is fetched from is there still (0).
_BETWEEN = 5

#: Whether this process has sent what only it can hand over.
_waits_for_receivers = False
#: Bytes of what goes along by value, too.
_SMALL = 1 << 16

#: Storages on blocks, so that what comes twice, or comes back, is one storage again.
_known: weakref.WeakValueDictionary[Any, Storage] = weakref.WeakValueDictionary()


def reduce_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """Return the reduction by which ``multiprocessing`` pickles a tensor. RuntimeError for one that
    has a history."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(_NON_LEAF)
    return tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)


def reduce_storage(storage: Storage) -> tuple[Any, ...]:
    """Move a tensor's memory to where processes share it, and return the reduction by which
    ``multiprocessing`` pickles it. On accelerators a copy goes."""
    if type(storage.cell) is MetaArray or storage.device.type != "cpu":
        return storage.__reduce__()
    storage.share_with_processes()
    host = storage.host
    assert host is not None
    block = shared_memory.block_of(host)
    assert block is not None
    start = shared_memory.offset_in(block, host)
    made = (block, start, host.dtype, host.shape, host.strides, storage.strides)
    _known[_key(*made)] = storage
    return _rebuild_storage, (*made, _copied(host))


def _copied(host: np.ndarray) -> np.ndarray | None:
    """Copy small contents, which go along, too, for a receiver that comes when the sender has
    ended; None for large ones, for whose receivers this process then waits."""
    global _waits_for_receivers
    if host.nbytes <= _SMALL:
        return np.array(host, order="C")
    _waits_for_receivers = True
    return None


def _rebuild_storage(
    block: Block | None,
    start: int,
    dtype: np.dtype,
    shape: tuple[int, ...],
    steps: tuple[int, ...],
    strides: tuple[int, ...] | None,
    copy: np.ndarray | None,
) -> Storage:
    if block is None:
        if copy is None:
            raise RuntimeError(
                "a tensor was received from a process that has ended meanwhile, and its memory "
                "with it: the sender must wait until it has been received"
            )
        made = Storage(copy)
        made.strides = strides
        return made
    key = _key(block, start, dtype, shape, steps, strides)
    found = _known.get(key)
    if found is not None and found.is_shared():
        return found
    made = Storage(None, np.ndarray(shape, dtype, np.asarray(block), start, steps))
    made.strides = strides
    _known[key] = made
    return made


def _key(block: Block, *what: Any) -> tuple[Any, ...]:
    return (id(block), *what)


def _reduce_block(block: Block) -> tuple[Any, ...]:
    assert block.descriptor is not None
    return _rebuild_block, (standard.DupFd(block.descriptor), block.identity)


def _rebuild_block(descriptor: Any, identity: tuple[int, int]) -> Block | None:
    """Attach the block; None where the sender has ended and this process does not have it
    already."""
    try:
        return shared_memory.attach(descriptor.detach())
    except (OSError, EOFError):
        return shared_memory.known(identity)


def _wait_at_the_end(_: Any = None) -> None:
    """Have a child that sends a tensor and ends give the receiver time to fetch the memory."""
    util.Finalize(None, _until_all_are_fetched, exitpriority=_BETWEEN)


def _until_all_are_fetched() -> None:
    if multiprocessing.parent_process() is None or not _waits_for_receivers:
        return
    for finalizer in list(util._finalizer_registry.values()):  # type: ignore[attr-defined]
        if getattr(finalizer, "_callback", None) is queues.Queue._finalize_join:  # type: ignore[attr-defined]
            finalizer()  # what was put into a queue is on its way
    waiting = getattr(getattr(resource_sharer, "_resource_sharer", None), "_cache", None)
    late = time.monotonic() + _PATIENCE
    while waiting and time.monotonic() < late:
        time.sleep(0.01)
        if not waiting:
            time.sleep(0.05)  # the last one is being handed over


def init_reductions() -> None:
    """Tell ``multiprocessing``, for all of its queues, pipes and processes."""
    if not hasattr(standard, "DupFd") or os.name != "posix":
        return
    register = standard.ForkingPickler.register
    for kind in (Storage, Unread):
        register(kind, reduce_storage)
    for kind in TENSOR_TYPES:
        register(kind, reduce_tensor)
    register(Block, _reduce_block)
    _wait_at_the_end()  # in one that "spawn" has started
    util.register_after_fork(reduce_storage, _wait_at_the_end)  # in the others, which forget
