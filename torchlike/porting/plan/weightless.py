"""Arrays that stand for values which nobody has: a capture takes them for arrays of zeros.

A capture tells its inputs apart by the very arrays that cells hold, so the cells of the meta device
get arrays while it runs. All of these lie on one region of memory that no page was ever given to:
a model of any size takes none. They are to be traced, never computed with.
"""

from __future__ import annotations

import contextlib
import gc
import math
import mmap
import sys
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax import core

from torchlike._core.storage import Storage
from torchlike._extensions.meta import MetaArray
from torchlike._runtime.jax_private import arrays

#: Linux refuses more than it has, unless told that nobody means to use it.
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


class _ZeroMemory:
    """Memory that reads as zeros and is backed by nothing."""

    def __init__(self) -> None:
        self._memory = memoryview(b"")

    def array(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        nbytes = max(math.prod(shape) * np.dtype(dtype).itemsize, 1)
        if nbytes > len(self._memory):
            flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
            self._memory = memoryview(mmap.mmap(-1, nbytes, flags=flags))
        found = np.frombuffer(self._memory, np.uint8, nbytes)
        found = found[: math.prod(shape) * np.dtype(dtype).itemsize].view(dtype).reshape(shape)
        found.flags.writeable = False
        return found


_region = _ZeroMemory()


def array(shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Make an array of its own, of this shape and dtype, that takes no memory."""
    device = jax.devices("cpu")[0]
    sharding = jax.sharding.SingleDeviceSharding(device)
    aval = core.ShapedArray(shape, np.dtype(dtype))
    return arrays.put(aval, sharding, [_region.array(shape, dtype)], [device], False)


@contextlib.contextmanager
def cells() -> Iterator[None]:
    """Have each cell of the meta device hold such an array in a ``with`` block, and its own again
    afterwards."""
    given: list[tuple[Storage, Any]] = []
    for x in gc.get_objects():
        if issubclass(type(x), Storage) and type(x.cell) is MetaArray:
            given.append((x, x.cell))
    for storage, cell in given:
        storage.cell = array(cell.shape, cell.dtype)
        storage.version += 1  # views read it anew
    try:
        yield
    finally:
        for storage, cell in given:
            storage.cell = cell
            storage.version += 1
