"""Memory that several processes see: blocks without a name.

A block is a file without a name (``memfd_create``; elsewhere ``shm_open``, whose name is taken back
at once), mapped. Processes hand it on as a file descriptor. The kernel frees it when the last
process that has it open or mapped ends, however that ends: nothing can be left behind, and the size
of ``/dev/shm`` is no limit.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import math
import mmap
import os
import secrets
import weakref
from typing import Any

import numpy as np

#: Arrays in a block begin at whole cache lines: JAX uses memory that is so aligned in place.
ALIGNMENT = 64

#: Blocks that this process has mapped and can hand on, by what their file is.
_known: weakref.WeakValueDictionary[tuple[int, int], Block] = weakref.WeakValueDictionary()


class Block:
    """Some bytes, mapped into this process until the last array on them is gone.

    ``identity`` says which file it is, as long as one process has it.

    ``descriptor`` is what other processes get; None where this process does not hand it on, and
    keeps no file open for it.
    """

    def __init__(self, descriptor: int, nbytes: int, *, private: bool = False) -> None:
        """Map a file that is open; the descriptor stays the caller's. ``private``: writes are seen
        by nobody else, and cost a copy of the page they are on."""
        kind = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
        length = max(nbytes, 1)
        access = mmap.PROT_READ | mmap.PROT_WRITE
        address = _libc().mmap(None, length, access, kind, descriptor, 0)
        if address in (None, _FAILED):
            raise _refusal(ctypes.get_errno(), nbytes)
        self.nbytes = nbytes
        self.descriptor: int | None = None
        self.identity: tuple[int, int] | None = None
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }
        weakref.finalize(self, _libc().munmap, address, length).atexit = False

    def keep(self, descriptor: int) -> Block:
        """Take over the descriptor, so that other processes can be given it."""
        self.descriptor = descriptor
        weakref.finalize(self, os.close, descriptor).atexit = False
        self.identity = _identity(descriptor)
        _known[self.identity] = self
        return self

    def array(self, dtype: Any, shape: tuple[int, ...], offset: int = 0) -> np.ndarray:
        """Return the elements from byte ``offset`` on, as an array on the block."""
        count = math.prod(shape) * np.dtype(dtype).itemsize
        return np.asarray(self)[offset : offset + count].view(dtype).reshape(shape)


def allocate(nbytes: int) -> Block:
    """Allocate a new block, zeros. RuntimeError where there is no memory for it, or no file left to
    open."""
    descriptor = -1
    try:
        descriptor = _unnamed_file()
        os.ftruncate(descriptor, max(nbytes, 1))
        _reserve(descriptor, nbytes)
        return Block(descriptor, nbytes).keep(descriptor)
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)
        raise _refusal(error.errno or 0, nbytes) from None


def attach(descriptor: int) -> Block:
    """Map the block of a descriptor that another process sent, which is taken over: the same object
    for the same block, as long as one is in use."""
    found = known(_identity(descriptor))
    if found is not None:
        os.close(descriptor)
        return found
    return Block(descriptor, os.fstat(descriptor).st_size).keep(descriptor)


def known(identity: tuple[int, int]) -> Block | None:
    """Return a block that this process has mapped and can hand on, by its ``identity``."""
    return _known.get(identity)


def block_of(array: np.ndarray) -> Block | None:
    """Return the block that an array is on, if it is."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, Block) else None


def offset_in(block: Block, array: np.ndarray) -> int:
    """Return the offset, in bytes, at which an array begins in its block."""
    return array.__array_interface__["data"][0] - block.__array_interface__["data"][0]


def aligned(nbytes: int) -> int:
    """Return the number of bytes that an array takes in a block where another one follows."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _unnamed_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("torchlike", os.MFD_CLOEXEC)
    import _posixshmem  # noqa: PLC0415 - the standard library's, where there is no memfd

    name = f"/torchlike-{secrets.token_hex(8)}"
    descriptor = _posixshmem.shm_open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode=0o600)
    _posixshmem.shm_unlink(name)
    return descriptor


def _reserve(descriptor: int, nbytes: int) -> None:
    """Have the kernel find the memory, or say now that there is none: later it would end the
    process at a write. (It also takes 0.9 of the time of finding it page by page.)"""
    if nbytes > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    if nbytes and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, nbytes)


def _refusal(code: int, nbytes: int) -> RuntimeError:
    """Return the error that PyTorch raises for a block that cannot be had."""
    advice = ""
    if code in (errno.EMFILE, errno.ENFILE):
        advice = (
            ". Every shared block is an open file: raise their number (`ulimit -n`), or share a "
            "module by Module.share_memory(), which puts all of its tensors into one block"
        )
    return RuntimeError(
        f"unable to allocate shared memory of {nbytes} bytes: {os.strerror(code)} ({code}){advice}"
    )


_FAILED = ctypes.c_void_p(-1).value


@functools.cache
def _libc() -> Any:
    libc: Any = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int64,
    ]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return libc
