"""safetensors: a dictionary of tensors in a format without code."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from safetensors import numpy as safetensors_numpy

from torchlike._core.storage import device_array
from torchlike._runtime import whole_files, x64
from torchlike.serialization import safetensors_files
from torchlike.tensor import Tensor, wrap


def save_safetensors(
    tensors: dict[str, Tensor], filename: Any, metadata: dict[str, str] | None = None
) -> None:
    """Save named tensors (state_dicts). TypeError for values that are no tensors, or
    of a dtype that the format lacks."""
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise TypeError(f"{name} is a {type(t).__name__}, not a tensor")
    arrays = {k: np.asarray(t.detach()._value("saving")) for k, t in tensors.items()}
    for name, array in arrays.items():
        if array.dtype.name in safetensors_files.OURS:
            raise TypeError(f"safetensors files hold no {array.dtype.name}: {name}")
    # Large elements first, as the format's library orders them: then all of them are aligned.
    order = sorted(arrays, key=lambda k: (-arrays[k].itemsize, arrays[k].dtype.name, k))
    with whole_files.writing(filename) as file:
        safetensors_files.write(file, {k: arrays[k] for k in order}, metadata)


def load_safetensors(filename: Any) -> dict[str, Tensor]:
    """Load named tensors."""
    x64.require()
    arrays = safetensors_numpy.load_file(os.fspath(filename))
    return {name: wrap(device_array(a)) for name, a in arrays.items()}
