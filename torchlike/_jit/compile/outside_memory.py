"""Memory that several cells of one program share outside of the package.

Two tensors over one NumPy array (or buffer, memory map, DLPack capsule) are two cells to a program,
which reads all before it writes any. Where such memory is written to, the call runs eagerly.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._core.storage import Storage
from torchlike._runtime.mapped_files import PrivateMap, name_of

#: What a function whose call runs eagerly for it says once.
WHY = (
    "two of the tensors that it reads or writes lie on the same memory outside (one NumPy array, "
    "buffer or file), and it writes to it"
)


class SharedOutside(Exception):
    """A program was about to write to memory that another of its cells lies on. Nothing was done.
    Never seen by users: the call runs eagerly."""


def check(read: Sequence[Storage], written: Sequence[Storage]) -> None:
    """Raise `SharedOutside` where one of the cells ``written`` shares memory with another cell."""
    cells = {id(s): s for s in (*read, *written) if s.host is not None}
    if len(cells) < 2:
        return
    targets = {id(s) for s in written}
    for key in targets & cells.keys():
        for other, storage in cells.items():
            if other != key and _share(cells[key].host, storage.host):
                raise SharedOutside(WHY)


def _share(a: Any, b: Any) -> bool:
    """True if two arrays share memory, or may and it takes long to say."""
    if np.may_share_memory(a, b):
        try:
            return np.shares_memory(a, b, max_work=1)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            return True
    first, second = _map_of(a), _map_of(b)
    if first is None or second is None or first is second:
        return False
    # Two maps of one file have two addresses. Which file a map is of, only NumPy's maps say.
    names = name_of(a), name_of(b)
    return None in names or names[0] == names[1]


def _map_of(array: Any) -> mmap.mmap | None:
    """Return the memory map that an array lies on, if writes to it leave the process."""
    while isinstance(array, np.ndarray):
        array = array.base
    if isinstance(array, memoryview):
        array = array.obj
    if isinstance(array, mmap.mmap) and type(array) is not PrivateMap:
        return array
    return None
