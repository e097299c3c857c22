"""safetensors: a dictionary of tensors in a format without code."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from safetensors import numpy as safetensors_numpy

from torchlike._core.storage import device_array
from torchlike._runtime import x64
from torchlike.tensor import Tensor, wrap


def save_safetensors(
    tensors: dict[str, Tensor], filename: Any, metadata: dict[str, str] | None = None
) -> None:
    """Save named tensors (state_dicts). TypeError for values that are no tensors."""
    for name, t in tensors.items():
        if not isinstance(t, Tensor):
            raise TypeError(f"{name} is a {type(t).__name__}, not a tensor")
    arrays = {k: np.asarray(t.detach()._value("saving"), order="C") for k, t in tensors.items()}
    safetensors_numpy.save_file(arrays, os.fspath(filename), metadata)


def load_safetensors(filename: Any) -> dict[str, Tensor]:
    """Load named tensors."""
    x64.require()
    arrays = safetensors_numpy.load_file(os.fspath(filename))
    return {name: wrap(device_array(a)) for name, a in arrays.items()}
