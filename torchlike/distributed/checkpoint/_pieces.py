"""Pieces of tensors in safetensors files: written in order, read by the part.

A safetensors file is the length of a header (8 bytes, little-endian), the header (JSON: of each
tensor its dtype, shape and place in bytes) and the tensors' bytes in row-major order. A tensor in
one piece has its own name in it, so that any reader of safetensors finds it; of one in several
pieces each is called ``name@start,start``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

#: safetensors' names of dtypes.
NAMES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "int64": "I64",
    "int32": "I32", "int16": "I16", "int8": "I8", "uint8": "U8", "uint16": "U16", "uint32": "U32",
    "uint64": "U64", "bool": "BOOL", "complex64": "C64", "complex128": "C128",
    "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip
#: Bytes after which another file is begun.
_MOST = 4 << 30


class Piece(NamedTuple):
    """A part of a tensor: where it begins, its size, the file and the bytes that hold it."""

    start: tuple[int, ...]
    size: tuple[int, ...]
    file: str
    offset: int


class Source(NamedTuple):
    """A part of a tensor that is to be written: its tensor's name, whether it is all of it, where
    it begins, and an array with its values."""

    name: str
    is_whole: bool
    start: tuple[int, ...]
    array: Any


def parts_of(name: str, array: jax.Array, is_first: bool) -> Iterator[Source]:
    """The parts of an array that this process writes: each once in the world. Of an array that lies
    on one device only the first process (``is_first``) writes."""
    if not isinstance(array, jax.Array) or len(array.sharding.device_set) == 1:
        if is_first:
            yield Source(name, True, (0,) * array.ndim, array)
        return
    for shard in array.addressable_shards:
        if shard.replica_id == 0:
            start = tuple(i.start or 0 for i in shard.index)
            yield Source(name, shard.data.shape == array.shape, start, shard.data)


def write(folder: Path, prefix: str, sources: Iterable[Source]) -> list[tuple[str, Piece]]:
    """Write parts into new files of the folder, on the disk when this returns. Gives their tensors'
    names and where they are."""
    found: list[tuple[str, Piece]] = []
    for number, group in enumerate(_groups(sources)):
        file = f"{prefix}-{number:05d}.safetensors"
        found += write_file(folder / file, group)
    return found


def write_file(path: Path, sources: Iterable[Source]) -> list[tuple[str, Piece]]:
    """Write parts into one new file, on the disk when this returns."""
    found: list[tuple[str, Piece]] = []
    group = list(sources)
    header: dict[str, Any] = {}
    at = 0
    for s in group:
        key = s.name if s.is_whole else f"{s.name}@{','.join(map(str, s.start))}"
        size, n = tuple(s.array.shape), s.array.nbytes
        kind = NAMES[np.dtype(s.array.dtype).name]
        header[key] = {"dtype": kind, "shape": size, "data_offsets": [at, at + n]}
        found.append((s.name, Piece(s.start, size, path.name, at)))
        at += n
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for s in group:
            f.write(np.ascontiguousarray(np.asarray(s.array)).reshape(-1).view(np.uint8).data)
        f.flush()
        os.fsync(f.fileno())
    return found


def _groups(sources: Iterable[Source]) -> Iterator[list[Source]]:
    group: list[Source] = []
    n = 0
    for s in sources:
        if group and n + s.array.nbytes > _MOST:
            yield group
            group, n = [], 0
        group.append(s)
        n += s.array.nbytes
    if group:
        yield group


def read(
    folder: Path, pieces: Iterable[Piece], dtype: str, index: tuple[slice, ...],
    shape: tuple[int, ...],
) -> np.ndarray:  # fmt: skip
    """A part of a tensor of this shape, put together from the pieces that it meets."""
    bounds = [i.indices(n)[:2] for i, n in zip(index, shape, strict=True)]
    found = np.empty([stop - start for start, stop in bounds], jnp.dtype(dtype))
    missing = found.size
    for p in pieces:
        low = [max(a, s) for (a, _), s in zip(bounds, p.start, strict=True)]
        high = [
            min(b, s + n) for (_, b), s, n in zip(bounds, p.start, p.size, strict=True)
        ]  # fmt: skip
        if any(a >= b for a, b in zip(low, high, strict=True)):
            continue
        held = _mapped(folder / p.file, p, found.dtype)
        inner = tuple(slice(a - s, b - s) for a, b, s in zip(low, high, p.start, strict=True))
        outer = tuple(
            slice(a - s, b - s) for a, b, (s, _) in zip(low, high, bounds, strict=True)
        )  # fmt: skip
        found[outer] = held[inner]
        missing -= found[outer].size
    if missing:
        raise RuntimeError(f"the checkpoint in {folder} lacks {missing} elements of a tensor")
    return found


def _mapped(path: Path, piece: Piece, dtype: np.dtype) -> np.ndarray:
    with path.open("rb") as f:
        begin = 8 + int.from_bytes(f.read(8), "little") + piece.offset
    count = int(np.prod(piece.size))
    if not count:
        return np.empty(piece.size, dtype)
    held = np.memmap(path, np.uint8, "r", begin, (count * dtype.itemsize,))
    return np.asarray(held).view(dtype).reshape(piece.size)
