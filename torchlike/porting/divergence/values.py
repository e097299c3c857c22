"""The values that one operation is given and gives, as a run notes them for ``in_float64``.

NumPy only: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

#: An operation with more elements than this is not judged.
MOST_ELEMENTS = 1 << 22


def noted(value: Any, tensor: type, array: Callable[[Any], Any]) -> Any:
    """Return what an operation is given in a form of lists and dictionaries, with arrays for
    tensors.

    ``array`` gives a tensor's values, or what stands for them in a program.
    """
    if isinstance(value, tensor):
        return {"tensor": held(value, array)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [noted(part, tensor, array) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [noted(part, tensor, array) for part in value]}
    if isinstance(value, dict):
        return {"dict": {key: noted(part, tensor, array) for key, part in value.items()}}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    name = str(value)
    return {"dtype": name} if type(value).__name__ == "dtype" else {"unknown": type(value).__name__}


def held(value: Any, array: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the values of a tensor, beside its dtype; writes to it do not show in them."""
    values = array(value)
    return {
        "values": np.array(values) if isinstance(values, np.ndarray) else values,
        "dtype": str(value.dtype),
    }


def written(note: Any) -> Any:
    """Return a note fit for JSON: arrays become text."""
    if isinstance(note, np.ndarray):
        plain = note if note.dtype.kind in "biufc" else note.astype(np.float32)
        text = base64.b64encode(np.ascontiguousarray(plain).tobytes()).decode("ascii")
        return {"bytes": text, "of": plain.dtype.str, "shape": list(plain.shape)}
    if isinstance(note, (list, tuple)):
        return [written(part) for part in note]
    return {key: written(part) for key, part in note.items()} if isinstance(note, dict) else note


def array_of(data: dict[str, Any]) -> np.ndarray:
    """Return the array of what was ``held`` and ``written``, in float64 if it is of real numbers
    with a fraction. TypeError where there are no values."""
    values = data["values"]
    if values is None:
        raise TypeError("a tensor without values")
    raw = np.frombuffer(base64.b64decode(values["bytes"]), np.dtype(values["of"]))
    wide = {"f": np.float64, "c": np.complex128}.get(raw.dtype.kind, raw.dtype)
    return raw.reshape(values["shape"]).astype(wide)
