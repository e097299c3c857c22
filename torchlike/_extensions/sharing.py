"""Which tensors look at one memory."""

from __future__ import annotations

import gc

from torchlike._core.overrides import TENSOR_TYPES
from torchlike._core.storage import Storage
from torchlike._runtime import collector
from torchlike.tensor import Tensor, whole_dict


def tensors_on(storage: Storage) -> list[Tensor]:
    """Return every tensor on this memory, found among all that refers to it.

    Storages keep no list of their tensors: it would cost each view 0.2 µs. To look through the
    collector's objects takes some 20 ms, where shared memory grows and nowhere else. What
    ``gc.freeze()`` hides from it may be a tensor, too, and so is hidden no longer.
    """
    collector.unhide("shared memory grows, and all tensors on it must be found")
    found = []
    for holder in gc.get_referrers(storage):
        if type(holder) in TENSOR_TYPES:
            found.append(holder)
        elif type(holder) is dict and holder.get("_storage") is storage:
            owners = gc.get_referrers(holder)
            found += [t for t in owners if type(t) in TENSOR_TYPES and whole_dict(t) is holder]
    return found
