"""The index of a checkpoint: one file that says what all others hold, and appears whole.

Each save writes files under names of its own and then, in one step, the index that names them
(``os.replace``). Killed at any moment it leaves the index that was there, whose files are there.
Files that only the former index named go once the new one stands, those of a killed save with the
next one (`_beside`).
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from torchlike.distributed.checkpoint._beside import Beside, indexes
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


def named(folder: Path) -> set[str]:
    """The files that the folder's index names; none where there is no index."""
    with contextlib.suppress(FileNotFoundError):
        return load(folder).files()
    return set()


indexes.append(named)


def commit(new: Beside, index: Index) -> None:
    """Make ``index`` the folder's, and remove the files that only the former one named."""
    former = named(new.folder)
    text = json.dumps({
        "format": _FORMAT,
        "tensors": {
            name: {"dtype": h.dtype, "shape": h.shape, "pieces": h.pieces}
            for name, h in index.tensors.items()
        },
        "objects": index.objects,
    })  # fmt: skip
    new.replace(INDEX, text)
    for name in former - index.files():
        (new.folder / name).unlink(missing_ok=True)


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
