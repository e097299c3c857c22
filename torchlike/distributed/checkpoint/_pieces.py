"""Pieces of tensors in safetensors files: written in order, read by the part.

A tensor in one piece has its own name in its file, so that any reader of safetensors finds it; of
one in several pieces each is called ``name@start,start``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._runtime import whole_files
from torchlike.distributed.checkpoint._names import damaged, inside
from torchlike.serialization import safetensors_files
from torchlike.serialization.safetensors_files import NAMES

#: Bytes after which another file is begun.
_MOST = 4 << 30


class Piece(NamedTuple):
    """A part of a tensor: where it begins, its size, the file and the bytes that hold it."""

    start: tuple[int, ...]
    size: tuple[int, ...]
    file: str
    offset: int


class PieceSource(NamedTuple):
    """A part of a tensor that is to be written: its tensor's name, whether it is all of it, where
    it begins, and an array with its values."""

    name: str
    is_whole: bool
    start: tuple[int, ...]
    array: Any


def parts_of(name: str, array: jax.Array, is_first: bool) -> Iterator[PieceSource]:
    """Yield the parts of an array that this process writes: each once in the world. Of an array
    that lies on one device only the first process (``is_first``) writes."""
    if not isinstance(array, jax.Array) or len(array.sharding.device_set) == 1:
        if is_first:
            yield PieceSource(name, True, (0,) * array.ndim, array)
        return
    for shard in array.addressable_shards:
        if shard.replica_id == 0:
            start = tuple(i.start or 0 for i in shard.index)
            yield PieceSource(name, shard.data.shape == array.shape, start, shard.data)


def write(folder: Path, prefix: str, sources: Iterable[PieceSource]) -> list[tuple[str, Piece]]:
    """Write parts into new files of the folder, on the disk when this returns. Gives their tensors'
    names and where they are."""
    found: list[tuple[str, Piece]] = []
    for number, group in enumerate(_groups(sources)):
        file = f"{prefix}-{number:05d}.safetensors"
        found += write_file(folder / file, group)
    return found


def write_file(path: Path, sources: Iterable[PieceSource]) -> list[tuple[str, Piece]]:
    """Write parts into one new file, on the disk when this returns."""
    group = list(sources)
    keys = [s.name if s.is_whole else f"{s.name}@{','.join(map(str, s.start))}" for s in group]
    arrays = dict(zip(keys, (s.array for s in group), strict=True))
    with whole_files.writing(path) as file:
        starts = safetensors_files.write(file, arrays)
    return [
        (s.name, Piece(s.start, tuple(s.array.shape), path.name, at))
        for s, at in zip(group, starts, strict=True)
    ]


def _groups(sources: Iterable[PieceSource]) -> Iterator[list[PieceSource]]:
    group: list[PieceSource] = []
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
    folder: Path,
    pieces: Iterable[Piece],
    dtype: str,
    index: tuple[slice, ...],
    shape: tuple[int, ...],
) -> np.ndarray:
    """Read a part of a tensor of this shape, put together from the pieces that it meets.

    RuntimeError for files that are damaged: they are looked at before memory is taken.
    """
    bounds = [i.indices(n)[:2] for i, n in zip(index, shape, strict=True)]
    met: list[tuple[list[int], list[int], Piece, np.ndarray]] = []
    for p in pieces:
        low = [max(a, s) for (a, _), s in zip(bounds, p.start, strict=True)]
        high = [min(b, s + n) for (_, b), s, n in zip(bounds, p.start, p.size, strict=True)]
        if all(a < b for a, b in zip(low, high, strict=True)):
            met.append((low, high, p, _mapped(folder, p, jnp.dtype(dtype))))
    _check_apart(folder, [(low, high) for low, high, _, _ in met])
    wanted = [stop - start for start, stop in bounds]
    sizes = (math.prod(b - a for a, b in zip(low, high, strict=True)) for low, high, _, _ in met)
    if missing := math.prod(wanted) - sum(sizes):
        raise RuntimeError(f"the checkpoint in {folder} lacks {missing} elements of a tensor")
    found = np.empty(wanted, jnp.dtype(dtype))
    for low, high, p, held in met:
        inner = tuple(slice(a - s, b - s) for a, b, s in zip(low, high, p.start, strict=True))
        outer = tuple(slice(a - s, b - s) for a, b, (s, _) in zip(low, high, bounds, strict=True))
        found[outer] = held[inner]
    return found


def _check_apart(folder: Path, boxes: list[tuple[list[int], list[int]]]) -> None:
    """Raise RuntimeError where two boxes (lowest corner, highest corner) have an element in common:
    then others might have none, and hold whatever was in memory."""
    if len(boxes) < 2:
        return
    low, high = (np.array(corners) for corners in zip(*boxes, strict=True))
    for i in range(1, len(boxes)):
        if ((low[:i] < high[i]) & (low[i] < high[:i])).all(1).any():
            raise damaged(folder, "two pieces of a tensor overlap")


def _mapped(folder: Path, piece: Piece, dtype: np.dtype) -> np.ndarray:
    """Map a piece's values in its file into memory. RuntimeError where the file has no such
    bytes."""
    path = inside(folder, piece.file, folder)
    count = math.prod(piece.size)
    begin = data_start(path) + piece.offset
    end = begin + count * dtype.itemsize
    if end > path.stat().st_size:
        raise damaged(path, f"it ends at {path.stat().st_size}, before the byte {end} of a tensor")
    if not count:
        return np.empty(piece.size, dtype)
    held = np.memmap(path, np.uint8, "r", begin, (count * dtype.itemsize,))
    return np.asarray(held).view(dtype).reshape(piece.size)


def data_start(path: Path) -> int:
    """Return the position at which a file's tensors begin: after its header. RuntimeError where it
    ends before that."""
    size = path.stat().st_size
    with path.open("rb") as f:
        start = 8 + int.from_bytes(f.read(8), "little")
    if size < 8 or start > size:
        raise damaged(path, f"it ends at {size}, in its header")
    return start


def itemsize(dtype: str) -> int | None:
    """Return the bytes of an element, by its dtype's name; None for a dtype that no file holds."""
    return np.dtype(jnp.dtype(dtype)).itemsize if dtype in NAMES else None
