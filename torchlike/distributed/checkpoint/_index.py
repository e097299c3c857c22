"""The index of a checkpoint: one file that says what all others hold, and appears whole.

Each save writes files under names of its own and then, in one step, the index that names them
(``os.replace``). Killed at any moment it leaves the index that was there, whose files are there.
Files that no index names go once the new index stands.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any, NamedTuple

from torchlike.distributed.checkpoint._pieces import Piece

INDEX = "torchlike.index.json"
_FORMAT = 1


class Held(NamedTuple):
    """A tensor of a checkpoint."""

    dtype: str
    shape: tuple[int, ...]
    pieces: tuple[Piece, ...]


class Index(NamedTuple):
    """Its tensors by their names, and the file that holds its other objects ("" for none)."""

    tensors: dict[str, Held]
    objects: str

    def files(self) -> set[str]:
        found = {p.file for held in self.tensors.values() for p in held.pieces}
        return found | ({self.objects} if self.objects else set())


def commit(folder: Path, index: Index) -> None:
    """Make ``index`` the folder's, and remove the files that only the former one named."""
    former = set()
    with contextlib.suppress(FileNotFoundError):
        former = load(folder).files()
    text = json.dumps({
        "format": _FORMAT,
        "tensors": {
            name: {"dtype": h.dtype, "shape": h.shape, "pieces": h.pieces}
            for name, h in index.tensors.items()
        },
        "objects": index.objects,
    })  # fmt: skip
    replace(folder, INDEX, text)
    for name in former - index.files():
        (folder / name).unlink(missing_ok=True)


def replace(folder: Path, name: str, text: str) -> None:
    """Write a file that appears whole, after everything that was written into the folder before."""
    beside = folder / f"{name}.{os.getpid()}.part"
    with beside.open("w", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    _sync(folder)
    beside.replace(folder / name)
    _sync(folder)


def _sync(folder: Path) -> None:
    """Have the folder's entries on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def load(folder: Path) -> Index:
    """The folder's index. FileNotFoundError where no save was ever finished."""
    path = folder / INDEX
    if not path.exists():
        raise FileNotFoundError(
            f"{folder} holds no checkpoint: there is no {INDEX}, so no save into it was finished"
        )
    said: Any = json.loads(path.read_text(encoding="utf-8"))
    if said.get("format") != _FORMAT:
        raise RuntimeError(f"{path}: a checkpoint of format {said.get('format')!r}, not {_FORMAT}")
    tensors = {
        name: Held(h["dtype"], tuple(h["shape"]), tuple(
            Piece(tuple(start), tuple(size), file, offset)
            for start, size, file, offset in h["pieces"]
        ))
        for name, h in said["tensors"].items()
    }  # fmt: skip
    return Index(tensors, said["objects"])
