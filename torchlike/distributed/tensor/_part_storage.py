"""``PartStorage``: what ``to_local`` gives of a tensor over processes, on its memory.

The cell holds this process' part as an array of its own. A write puts the part back into the whole,
as this process' part of it, without communication; a write to the whole is seen in the part.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from torchlike._core.storage import Storage
from torchlike._runtime.transfer import to_device
from torchlike.distributed.tensor._storage import held_here


class PartStorage(Storage):
    """The cell of this process' part of ``whole``, a storage of a tensor over processes."""

    __slots__ = ("_array", "_seen", "_whole")

    def __init__(self, array: Any, whole: Storage) -> None:
        self._whole: Storage | None = None
        self._array: Any = array
        super().__init__(array)
        self._whole, self._seen = whole, whole.version

    @property
    def cell(self) -> Any:  # type: ignore[override]
        whole = self._whole
        if whole is not None and self._seen != whole.version:
            self._array, self._seen = to_device(held_here(whole.cell)), whole.version
            self.version += 1
        return self._array

    @cell.setter
    def cell(self, array: Any) -> None:
        whole = self._whole
        if whole is not None and array is not None and array.shape == self._array.shape:
            array = to_device(array) if type(array) is np.ndarray else array
            whole.write(_put_back(array.astype(self._array.dtype), whole.cell))
            self._seen = whole.version
        else:
            self._whole = None  # it was resized, or somebody else has its memory now
        self._array = array

    def alike(self, array: Any) -> Storage:
        return Storage(array)


def _put_back(part: jax.Array, whole: jax.Array) -> jax.Array:
    """Return the whole with another part of this process."""
    sharding = whole.sharding
    assert isinstance(sharding, NamedSharding)
    (device, *others) = sharding.addressable_devices
    if others:
        return jax.make_array_from_process_local_data(sharding, np.asarray(part), whole.shape)
    own = jax.device_put(part, device)
    return jax.make_array_from_single_device_arrays(whole.shape, sharding, [own])
