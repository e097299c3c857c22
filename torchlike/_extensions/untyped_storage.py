"""torch.UntypedStorage."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from torchlike._core import devices, dtypes, modes
from torchlike._core.cells import KINDS
from torchlike._core.errors import type_name
from torchlike._core.storage import Storage, Unread
from torchlike._runtime import mapped_files, shared_memory
from torchlike.tensor import add_method


class UntypedStorage:
    """What ``Tensor.untyped_storage()`` gives: identity, size and address of the memory.

    ``UntypedStorage(3)`` makes one of three bytes (0 here, anything in PyTorch),
    ``UntypedStorage([1, 2])`` one of these bytes.
    """

    __module__ = "torchlike"

    def __init__(self, storage: Any = 0) -> None:
        if not isinstance(storage, Storage):
            if type(storage) is int or isinstance(storage, np.integer):
                memory = np.zeros(int(storage), np.uint8)
            else:
                memory = _bytes_of(storage)
            storage = Storage(None, memory)
        self._storage = getattr(storage, "root", storage)

    def data_ptr(self) -> int:
        """Return the address at which the memory begins. RuntimeError for that of a wrapper
        subclass."""
        self._check_memory("access the data pointer")
        return self._storage.data_ptr()

    @property
    def _cdata(self) -> int:
        """A number that storages of one memory share while it lives."""
        modes.running_capture().refuse_value("._cdata", "`is`")
        return id(self._storage)

    def _check_memory(self, attempt: str) -> None:
        """Raise RuntimeError in PyTorch's words where a wrapper subclass has no memory."""
        if type(self._storage.cell) in KINDS and not self._storage.cell.has_memory:
            raise RuntimeError(f"Attempted to {attempt} on an invalid python storage.")

    def nbytes(self) -> int:
        return self._storage.nbytes

    size = __len__ = nbytes

    def untyped(self) -> UntypedStorage:
        """Return this storage itself."""
        return self

    @property
    def device(self) -> devices.device:
        return self._storage.device

    @property
    def filename(self) -> str | None:
        """The file that the memory is mapped from, where writes reach it; None for other memory."""
        return mapped_files.name_of(self._storage.host)

    #: Set by ``_ops/shape/resizing.py``.
    resize_: Callable[[UntypedStorage, int], UntypedStorage]

    def resizable(self) -> bool:
        """Return whether the storage may grow: not where NumPy sees the memory."""
        return self._storage.host is None

    @classmethod
    def _new_shared(cls, size: int, *, device: str | devices.device = "cpu") -> UntypedStorage:
        """Allocate a storage of ``size`` bytes, zeros, in memory that processes share. RuntimeError
        where there is none."""
        block = shared_memory.allocate(size)
        return UntypedStorage(Storage(None, block.array(np.uint8, (size,))))

    def is_shared(self) -> bool:
        """Return whether processes that its tensors are sent to see the same memory."""
        return self._storage.is_shared()

    def share_memory_(self) -> UntypedStorage:
        """Move the storage, with the tensors on it, to memory that processes share, and return it.
        RuntimeError where there is none."""
        self._storage.share_with_processes()
        return self

    def memory(self) -> np.ndarray:
        """Return the bytes as an array that shares its memory with the tensors on the storage."""
        storage = self._storage
        host = storage.share_with_host()
        if storage.strides is not None or not host.flags.c_contiguous:
            raise NotImplementedError(
                "bytes of memory that is not row-major cannot be shared. Use instead: the storage "
                "of x.contiguous()."
            )
        return host.reshape(-1).view(np.uint8)

    def _write_file(self, *args: object) -> None:
        self._check_memory("call _write_file()")
        raise NotImplementedError("UntypedStorage._write_file(): use torch.save")

    def __getitem__(self, index: int | slice) -> Any:
        """Return a byte as a number, or the bytes of a slice as a storage on the same memory.

        IndexError out of range; RuntimeError for a slice with a step.
        """
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RuntimeError(
                    f"Trying to slice with a step of {index.step}, but only a step of 1 is "
                    "supported"
                )
            return _Bytes(self.memory()[index])
        if not isinstance(index, int):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        n = self.nbytes()
        if not -n <= index < n:
            place = index + n if index < 0 else index
            raise IndexError(f"index {place} out of range for storage of size {n}")
        return int(self.memory()[index])

    def tolist(self) -> list[int]:
        """Return all bytes as a list."""
        return self.memory().tolist()

    @staticmethod
    def from_file(filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """Map the first bytes of a file into memory. ``shared``: writes reach the file, which is
        made where it is missing, and as long as it has to be. For no bytes, no file is opened.

        RuntimeError for a file that cannot be opened or (not ``shared``) is shorter. Differs from
        PyTorch: unless ``shared``, a slice has the file's bytes to itself, read when it is made.
        """
        if not isinstance(filename, str):
            raise TypeError(f"argument 1 must be str, not {type(filename).__name__}")
        if not nbytes:
            return _Bytes(np.empty(0, np.uint8))
        try:
            with open(filename, "r+b" if shared else "rb", opener=_making) as file:
                size = os.fstat(file.fileno()).st_size
                if shared and size < nbytes:
                    file.truncate(nbytes)
        except OSError as error:
            mode = "read-write" if shared else "read-only"
            raise RuntimeError(
                f"unable to open file <{filename}> in {mode} mode: {error.strerror} ({error.errno})"
            ) from None
        if not shared and size < nbytes:
            raise RuntimeError(
                f"file <{filename}> size <{size}> is smaller than the required mapping size "
                f"<{nbytes}>"
            )
        mapped = np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(nbytes,))
        mapped.filename = filename  # as it was given, not made absolute
        return _Bytes(mapped.view(np.ndarray), private=not shared)

    @staticmethod
    def from_buffer(
        buffer: Any,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        *,
        dtype: dtypes.dtype | None = None,
    ) -> UntypedStorage:
        """Copy the contents of a Python buffer: ``count`` elements of ``dtype``, ``offset`` bytes
        after its beginning (-1: all).

        ``byte_order`` of elements of several bytes is "little", "big" or "native". RuntimeError
        without one, ValueError for a buffer that is too short or ends within an element.
        """
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        size = dtype.numpy.itemsize
        if size > 1 and byte_order is None:
            raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
        if byte_order not in (None, "little", "big", "native"):
            raise ValueError(
                f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')"
            )
        raw = memoryview(buffer).cast("B")
        given = np.frombuffer(raw, np.uint8) if len(raw) else np.empty(0, np.uint8)
        if not 0 <= offset <= given.size:
            raise ValueError(
                f"offset must be non-negative and no greater than buffer length ({given.size}) "
                f"(got {offset})"
            )
        if count < 0:
            if (given.size - offset) % size:
                raise ValueError(
                    f"buffer size ({given.size}) must be a multiple of element size ({size})"
                )
            count = (given.size - offset) // size
        if offset + count * size > given.size:
            raise ValueError(
                f"buffer has only {given.size - offset} elements after offset {offset}, but "
                f"specified a size of {count}"
            )
        taken = np.array(given[offset : offset + count * size])
        if byte_order in ("little", "big") and byte_order != sys.byteorder:
            part = size // 2 if dtype.is_complex else size
            taken = np.ascontiguousarray(taken.reshape(-1, part)[:, ::-1]).reshape(-1)
        return UntypedStorage(Storage(None, taken))

    def __repr__(self) -> str:
        lines = " " + "\n ".join(map(str, self.tolist())) + "\n"
        return (
            f"{lines}[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._storage is self._storage

    def __hash__(self) -> int:
        return id(self._storage)


def _making(path: str, flags: int) -> int:
    """Open a file, and make one that is to be written where it is missing."""
    return os.open(path, flags | (os.O_CREAT if flags & os.O_RDWR else 0), 0o600)


def _bytes_of(numbers: Any) -> np.ndarray:
    """Return a sequence of integers as bytes, the lowest byte of each. RuntimeError for anything
    else."""
    if isinstance(numbers, (Mapping, np.generic)) or not hasattr(numbers, "__getitem__"):
        raise RuntimeError(
            f"torch.UntypedStorage(): Expected a sequence type, but got {type_name(numbers)}"
        )
    if not hasattr(numbers, "__len__") or (isinstance(numbers, np.ndarray) and not numbers.ndim):
        raise RuntimeError(
            "torch.UntypedStorage(): Could not obtain the length of sequence of type "
            f"{type_name(numbers)}"
        )
    for number in numbers:
        if not isinstance(number, int):
            raise RuntimeError(
                "torch.UntypedStorage(): tried to construct a storage from a sequence "
                f"({type_name(numbers)}), but one of the items was of type {type_name(number)} "
                "instead of int"
            )
    return np.array([number & 0xFF for number in numbers], np.uint8)


class _Bytes(UntypedStorage):
    """Bytes that no tensor was on yet; of a ``private`` file mapping, slices are copies."""

    def __init__(self, memory: np.ndarray, private: bool = False) -> None:
        self._memory = memory
        self._private = private
        self._made: Storage | None = None

    @property
    def _storage(self) -> Storage:  # type: ignore[override]
        if self._made is None:
            self._made = Storage(None, self._memory)
        return self._made

    def memory(self) -> np.ndarray:
        return self._memory

    def nbytes(self) -> int:
        return self._memory.nbytes

    size = __len__ = nbytes

    def __getitem__(self, index: int | slice) -> Any:
        found = super().__getitem__(index)
        if self._private and isinstance(index, slice):
            return _Bytes(np.array(found._memory))
        return found


def read_as(storage: UntypedStorage, dtype: np.dtype) -> Unread:
    """Return the memory of a storage as elements of a dtype; bytes at the end that do not fill one
    are left out."""
    memory = storage.memory()
    return Unread(None, memory[: memory.nbytes // dtype.itemsize * dtype.itemsize].view(dtype))


def untyped_storage(self: Any) -> UntypedStorage:
    """Return the storage, as an object that can be compared and measured."""
    return UntypedStorage(self._storage)


add_method("untyped_storage", untyped_storage)
