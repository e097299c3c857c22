"""Shared memory that a worker lends for its batches, and uses again when nothing refers to them.

The kernel takes ten times as long to give out new pages (77 ms for 100 MB) as a worker to write
into pages that it has (8 ms). So a block stays with its worker and mapped on both sides; the
receiver says when nothing refers to it any more.
"""

from __future__ import annotations

import collections
import os
import weakref
from typing import Any

import numpy as np

from torchlike._runtime import shared_memory
from torchlike._runtime.shared_memory import Block

#: Free blocks that a worker keeps.
_SPARE = 4


class BlockLease:
    """A block on loan for as long as arrays on it are used."""

    def __init__(self, block: Block, number: int) -> None:
        self.block, self.number = block, number
        self.__array_interface__ = block.__array_interface__

    def array(self, dtype: Any, shape: tuple[int, ...], offset: int = 0) -> np.ndarray:
        """Return the elements from byte ``offset`` on."""
        count = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
        return np.asarray(self)[offset : offset + count].view(dtype).reshape(shape)

    def offset_of(self, array: np.ndarray) -> int:
        """Return where an array on it begins, in bytes."""
        return shared_memory.offset_in(self.block, array)


def lease_of(array: np.ndarray) -> BlockLease | None:
    """Return the lease of the block that an array is in, if it is in one."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, BlockLease) else None


class _PooledBlock:
    """A block of a worker's pool, and who uses it."""

    def __init__(self, block: Block) -> None:
        self.block = block
        #: Whether the receiver has its descriptor; the batches there that are on it; whether arrays
        #: in this process are.
        self.known, self.there, self.here = False, 0, False

    def leave(self) -> None:
        self.here = False

    @property
    def is_free(self) -> bool:
        return not self.here and not self.there


class SharedMemoryPool:
    """A worker's blocks, which it uses again when they are free."""

    def __init__(self) -> None:
        self._all: dict[int, _PooledBlock] = {}
        self._next = 0
        self._lending: dict[int, _PooledBlock] = {}

    def allocate(self, nbytes: int) -> BlockLease:
        """Lease a free block of so many bytes, with any content, or allocate one. Raises
        RuntimeError where there is no memory."""
        for number, lent in self._all.items():
            if lent.is_free and nbytes <= lent.block.nbytes <= 2 * nbytes:
                return self._lease(number, lent)
        lent = _PooledBlock(shared_memory.allocate(nbytes))
        number = self._next
        self._next += 1
        self._all[number] = lent
        return self._lease(number, lent)

    def _lease(self, number: int, lent: _PooledBlock) -> BlockLease:
        lease = BlockLease(lent.block, number)
        lent.here = True
        weakref.finalize(lease, lent.leave).atexit = False
        return lease

    def lend(self, lease: BlockLease) -> int:
        """Lend a block along with the message that is being packed, and return its number."""
        self._lending[lease.number] = self._all[lease.number]
        return lease.number

    def lent(self) -> list[tuple[int, int]]:
        """Return what is lent with the message: numbers, and sizes of those whose descriptors are
        sent, too."""
        return [(n, 0 if lent.known else lent.block.nbytes) for n, lent in self._lending.items()]

    def commit(self) -> tuple[list[int], list[int]]:
        """Record that the message is packed, and return the descriptors to send with it and the
        numbers that mean nothing any more."""
        new = [lent for lent in self._lending.values() if not lent.known]
        for lent in self._lending.values():
            lent.known = True
            lent.there += 1
        self._lending = {}
        free = [number for number, lent in self._all.items() if lent.is_free]
        dropped = free[: max(0, len(free) - _SPARE)]
        for number in dropped:
            del self._all[number]
        return [lent.block.descriptor for lent in new if lent.block.descriptor is not None], dropped

    def take_back(self) -> None:
        """Take back the blocks of a message that is not sent."""
        self._lending = {}

    def freed(self, numbers: list[int]) -> None:
        """Record the blocks that the receiver says it has used, once for each batch."""
        for number in numbers:
            self._all[number].there -= 1


class Received:
    """A worker's blocks, on the side of the receiver."""

    def __init__(self) -> None:
        self._blocks: dict[int, Block] = {}
        self._borrowed: dict[int, BlockLease] = {}
        #: Numbers for the worker to use again; finalizers add to it, in any thread.
        self.freed: collections.deque[int] = collections.deque()

    def receive(
        self, lent: list[tuple[int, int]], descriptors: list[int], dropped: list[int]
    ) -> None:
        """Record a message that has come with these numbers, and the descriptors of those that are
        new."""
        for number in dropped:
            self._blocks.pop(number, None)
        new = iter(descriptors)
        for number, nbytes in lent:
            if nbytes:
                descriptor = next(new)
                self._blocks[number] = Block(descriptor, nbytes)
                os.close(descriptor)
            lease = self._borrowed[number] = BlockLease(self._blocks[number], number)
            weakref.finalize(lease, self.freed.append, number).atexit = False

    def borrowed(self, number: int) -> BlockLease:
        return self._borrowed[number]

    def release(self) -> None:
        """Release the leases of a message whose object is made: what it does not refer to is
        free."""
        self._borrowed = {}
