"""What programs say about all checkpoints: whose byte order a file has that does not say so, who
sees writes to a mapped one, and whether the bytes of storages are left out."""

from __future__ import annotations

import mmap
import sys
import threading
from enum import Enum
from typing import Any


class LoadEndianness(Enum):
    """A byte order."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


_endianness: LoadEndianness | None = None


def get_default_load_endianness() -> LoadEndianness | None:
    """Return the byte order of checkpoints that do not name theirs; None is little."""
    return _endianness


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Say which byte order checkpoints have that do not name theirs. TypeError for other types."""
    global _endianness
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _endianness = endianness


def unnamed_is_big() -> bool:
    """Return whether a checkpoint that names no byte order is taken for big-endian."""
    if _endianness is LoadEndianness.NATIVE:
        return sys.byteorder == "big"
    return _endianness is LoadEndianness.BIG


#: As in Python's ``mmap``, whose names Windows does not have.
PRIVATE, SHARED = getattr(mmap, "MAP_PRIVATE", 2), getattr(mmap, "MAP_SHARED", 1)
_map_flags = PRIVATE


def get_default_mmap_options() -> int:
    """Return ``mmap.MAP_PRIVATE`` or ``mmap.MAP_SHARED``."""
    return _map_flags


class set_default_mmap_options:
    """Say how ``torch.load(mmap=True)`` maps files: ``mmap.MAP_PRIVATE``, writes stay in this
    process (the default), or ``mmap.MAP_SHARED``, they reach the file. For good, or as a context.

    ValueError for other flags.
    """

    def __init__(self, flags: int) -> None:
        global _map_flags
        if flags not in (PRIVATE, SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE "
                f"or mmap.MAP_SHARED, but got {flags}"
            )
        self._before, _map_flags = _map_flags, flags

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        global _map_flags
        _map_flags = self._before


_computes_crc32 = True


def get_crc32_options() -> bool:
    """Return the value that ``set_crc32_options`` was told; True before."""
    return _computes_crc32


def set_crc32_options(compute_crc32: bool) -> None:
    """Say whether files that ``torch.save`` writes need checksums.

    Differs from PyTorch: they always have them.
    """
    global _computes_crc32
    _computes_crc32 = compute_crc32


class _Skipping(threading.local):
    is_on = False


_skipping = _Skipping()


class skip_data:
    """A region in which ``torch.save`` leaves the bytes of storages out, their places in the file
    zero, and ``torch.load`` makes tensors without reading them (zeros, where PyTorch shows whatever
    was in memory).

    materialize_fake_tensors: kept; there are no fake tensors.
    """

    def __init__(self, materialize_fake_tensors: bool = False) -> None:
        self.materialize_fake_tensors = materialize_fake_tensors
        self._before = False

    def __enter__(self) -> None:
        self._before, _skipping.is_on = _skipping.is_on, True

    def __exit__(self, *exception: Any) -> None:
        _skipping.is_on = self._before


def data_is_skipped() -> bool:
    """Return whether this thread is in a region of ``skip_data``."""
    return _skipping.is_on
