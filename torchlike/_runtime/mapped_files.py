"""Files mapped into memory: their bytes are read as they are used."""

from __future__ import annotations

import mmap
import os

import numpy as np


class PrivateMap(mmap.mmap):
    """A map whose writes stay in this process (copy-on-write): nobody else sees its memory."""


def map_file(path: str | os.PathLike[str], shared: bool) -> mmap.mmap:
    """Map all of a file into memory and return the map. ``shared``: writes reach the file. OSError
    where it cannot be opened so."""
    with open(path, "r+b" if shared else "rb") as file:
        if shared:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_WRITE)
        return PrivateMap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def is_mapped(array: np.ndarray) -> bool:
    """Return whether an array lies on a map, by itself and not as a view of another array."""
    return isinstance(array.base, memoryview) and isinstance(array.base.obj, mmap.mmap)


def is_private(array: np.ndarray) -> bool:
    """Return whether an array lies on a map of this process alone."""
    return is_mapped(array) and type(array.base.obj) is PrivateMap  # type: ignore[union-attr]


def name_of(array: np.ndarray | None) -> str | None:
    """Return the name of the file that an array's memory is, where writes reach it; None for other
    memory."""
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and array.filename is not None:
            return None if array.mode == "c" else str(array.filename)
        array = array.base
    return None
