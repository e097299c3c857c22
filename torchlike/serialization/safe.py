"""safetensors: a dictionary of tensors in a format without code."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np
from safetensors import numpy as safetensors_numpy
from safetensors import safe_open

from torchlike._core.storage import device_array
from torchlike._runtime import whole_files, x64
from torchlike.serialization import safetensors_files
from torchlike.tensor import Tensor, wrap

#: The format's names of dtypes that NumPy lacks and tensors have, less bfloat16, which its library
#: gives arrays of.
_FLOAT8 = {
    kind: name
    for name, kind in safetensors_files.NAMES.items()
    if name.startswith("float8") and name != "float8_e8m0fnu"
}


def save_safetensors(
    tensors: dict[str, Tensor], filename: Any, metadata: dict[str, str] | None = None
) -> None:
    """Save named tensors (state_dicts) in the format of safetensors.

    Args:
      tensors: a dictionary of tensors by name.
      filename: a path.
      metadata: strings by name that the file holds besides.

    Raises:
      TypeError: a value that is no tensor, or of a dtype that the format lacks.

    Example:
      >>> import pathlib, tempfile
      >>> from torchlike import serialization
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     path = pathlib.Path(folder, "model.safetensors")
      ...     serialization.save_safetensors({"w": torch.ones(2)}, path)
      ...     found = serialization.load_safetensors(path)
      >>> found
      {'w': tensor([1., 1.])}
    """
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
    """Load named tensors from a file in the format of safetensors.

    Args:
      filename: a path.

    Returns:
      the tensors by name.

    Raises:
      NotImplementedError: a dtype that this package has no tensors of.

    Example:
      >>> import pathlib, tempfile
      >>> from torchlike import serialization
      >>> with tempfile.TemporaryDirectory() as folder:
      ...     path = pathlib.Path(folder, "model.safetensors")
      ...     serialization.save_safetensors(torch.nn.Linear(3, 2).state_dict(), path)
      ...     found = serialization.load_safetensors(path)
      >>> {name: tuple(t.shape) for name, t in sorted(found.items())}
      {'bias': (2,), 'weight': (2, 3)}
    """
    x64.require()
    path = os.fspath(filename)
    beyond = _beyond_numpy(path)
    if beyond:
        arrays = _read_beside(path, beyond)
    else:
        arrays = safetensors_numpy.load_file(path)
    return {name: wrap(device_array(a)) for name, a in arrays.items()}


def _beyond_numpy(path: str) -> dict[str, np.dtype]:
    """Return the names of a file's tensors of which the format's library gives no NumPy arrays, and
    their dtypes. It has checked the file's header then."""
    found = {}
    with safe_open(path, framework="np") as file:
        for name in file.keys():  # noqa: SIM118  (it is no dictionary)
            kind = file.get_slice(name).get_dtype()
            if kind.startswith("F") and not kind[1:].isdigit():
                if kind not in _FLOAT8:
                    raise NotImplementedError(
                        f"{path}: {name} is of the dtype {kind}, of which there are no tensors here"
                    )
                found[name] = np.dtype(_FLOAT8[kind])
    return found


def _read_beside(path: str, beyond: dict[str, np.dtype]) -> dict[str, Any]:
    """Read all arrays of a file, those of ``beyond`` from its bytes."""
    with safe_open(path, framework="np") as file, open(path, "rb") as content:
        start = int.from_bytes(content.read(8), "little")
        header = json.loads(content.read(start))

        def read(name: str) -> Any:
            if name not in beyond:
                return file.get_tensor(name)
            shape, dtype = header[name]["shape"], beyond[name]
            content.seek(8 + start + header[name]["data_offsets"][0])
            return np.fromfile(content, dtype, math.prod(shape)).reshape(shape)

        return {name: read(name) for name in file.keys()}  # noqa: SIM118
