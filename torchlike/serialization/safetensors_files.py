"""The format safetensors, written: tensors by name, and nothing that runs.

A file is the length of a header (8 bytes, little-endian), the header (JSON: of each tensor its
dtype, shape and place in bytes) and the tensors' bytes in row-major order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

import numpy as np

#: The format's names of dtypes.
NAMES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
    "bool": "BOOL",
    "complex64": "C64",
    "complex128": "C128",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "float8_e8m0fnu": "F8_E8M0",
}
#: Those that only the folders of `torchlike.distributed.checkpoint` hold: the library has none.
OURS = ("complex128",)


def write(
    file: IO[bytes], arrays: Mapping[str, Any], metadata: Mapping[str, str] | None = None
) -> list[int]:
    """Write arrays, NumPy's or JAX's, one after the other. Returns where each begins, in bytes
    after the header. TypeError for a dtype that the format lacks."""
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    at, starts = 0, []
    for name, array in arrays.items():
        kind = NAMES.get(np.dtype(array.dtype).name)
        if kind is None:
            raise TypeError(f"safetensors files hold no {np.dtype(array.dtype).name}: {name}")
        starts.append(at)
        end = at + array.nbytes
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for array in arrays.values():
        file.write(np.ascontiguousarray(np.asarray(array)).reshape(-1).view(np.uint8).data)
    return starts
