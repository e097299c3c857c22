"""Remembers the Python values of tensors that a captured function makes from literals.

``int(torch.tensor(3))`` needs nothing that the compiled program computes. What the values come from
(an attribute, a global) is guarded as any other plain value that the code reads.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from torchlike._core import modes
from torchlike._core.storage import Storage

#: Storages made so: the capture, the array that the cell got, and the same on the host.
_made: weakref.WeakKeyDictionary[Storage, tuple[Any, Any, np.ndarray]] = weakref.WeakKeyDictionary()


def note(storage: Storage, values: np.ndarray) -> None:
    """Remember the plain values that a storage was made of, where a capture runs."""
    capture = modes.current.capture
    if capture is not None:
        _made[storage] = weakref.ref(capture), storage.cell, values


def values_of(storage: Storage) -> np.ndarray | None:
    """Return the values of which the running capture's code made a storage; None where something
    else made it, another capture did, or the storage was written since."""
    found = _made.get(storage)
    if found is None:
        return None
    capture, array, values = found
    unwritten = storage.version == 0 and storage.cell is array and storage.strides is None
    return values if unwritten and capture() is modes.current.capture else None
