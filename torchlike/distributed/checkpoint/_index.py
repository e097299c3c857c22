"""The index of a checkpoint: one file that says what all others hold, and appears whole.

Each save writes files under names of its own and then, in one step, the index that names them
(`torchlike._runtime.whole_files`). Killed at any moment it leaves the index that was there, whose
files are there. Files that only the former index named go once the new one stands, those of a
killed save with the next one (`_staging`).
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from torchlike.distributed.checkpoint._names import (
    OURS,
    damaged,
    dictionary,
    inside,
    is_plain,
    read_json,
    sizes,
)
from torchlike.distributed.checkpoint._pieces import Piece, itemsize
from torchlike.distributed.checkpoint._staging import StagingFolder, indexes

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
    """Return the files that the folder's index names; none where there is no index."""
    return load(folder).files() if (folder / INDEX).exists() else set()


indexes.append(named)


def commit(new: StagingFolder, index: Index) -> None:
    """Make ``index`` the folder's. The files that only the former one named go then."""
    try:
        former = named(new.folder)
    except RuntimeError:  # what a damaged index says is no reason to remove anything
        former = set()
    text = json.dumps(
        {
            "format": _FORMAT,
            "tensors": {
                name: {"dtype": h.dtype, "shape": h.shape, "pieces": h.pieces}
                for name, h in index.tensors.items()
            },
            "objects": index.objects,
        }
    )
    new.replace(INDEX, text, filter(OURS.fullmatch, former))


def load(folder: Path) -> Index:
    """Read the folder's index. FileNotFoundError where no save was ever finished, RuntimeError for
    a damaged one and for one of a later format."""
    path = folder / INDEX
    if not path.exists():
        raise FileNotFoundError(
            f"{folder} holds no checkpoint: there is no {INDEX}, so no save into it was finished"
        )
    said = read_json(inside(folder, INDEX, path))
    if said.get("format") != _FORMAT:
        raise RuntimeError(f"{path}: a checkpoint of format {said.get('format')!r}, not {_FORMAT}")
    objects = said.get("objects")
    if not (objects == "" or is_plain(objects)):
        raise damaged(path, f"{objects!r} is not the name of a file beside it")
    tensors = dictionary(said.get("tensors"), path, "its list of tensors")
    index = Index({name: _held(name, one, path) for name, one in tensors.items()}, str(objects))
    check_apart(index.tensors, path)
    return index


def _held(name: str, said: Any, path: Path) -> Held:
    """Return a tensor's description as an index has it. RuntimeError where its pieces cannot be
    pieces of it."""
    about = dictionary(said, path, f"what it says of {name!r}")
    dtype, shape = about.get("dtype"), sizes(about.get("shape"), path, f"the shape of {name!r}")
    if not isinstance(dtype, str) or itemsize(dtype) is None:
        raise damaged(path, f"{name!r} is of the unknown dtype {dtype!r}")
    pieces = about.get("pieces")
    if not isinstance(pieces, list):
        raise damaged(path, f"{name!r} has no pieces")
    held = Held(dtype, shape, tuple(_piece(name, one, shape, path) for one in pieces))
    if sum(math.prod(p.size) for p in held.pieces) != math.prod(shape):
        raise damaged(path, f"the pieces of {name!r} are not as large as it is")
    return held


def _piece(name: str, said: Any, shape: tuple[int, ...], path: Path) -> Piece:
    if not (isinstance(said, list) and len(said) == 4):
        raise damaged(path, f"{name!r} has a piece that is none")
    start, size = (sizes(x, path, f"a piece of {name!r}") for x in said[:2])
    file, offset = said[2:]
    if not is_plain(file):
        raise damaged(path, f"{file!r} is not the name of a file beside it")
    if type(offset) is not int or offset < 0:
        raise damaged(path, f"a piece of {name!r} begins at {offset!r}")
    fits = len(start) == len(size) == len(shape) and all(
        s + n <= m for s, n, m in zip(start, size, shape, strict=True)
    )
    if not fits:
        raise damaged(path, f"a piece of {name!r} lies outside of it")
    return Piece(start, size, file, offset)


def check_apart(tensors: Mapping[str, Held], path: Path) -> None:
    """Raise RuntimeError where two pieces are the same bytes of a file: so the tensors are not
    larger than the files, and memory is not taken for more than there is."""
    by_file: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for held in tensors.values():
        n = itemsize(held.dtype) or 0
        for p in held.pieces:
            by_file[p.file].append((p.offset, p.offset + n * math.prod(p.size)))
    for file, places in by_file.items():
        places.sort()
        for (_, end), (start, _) in pairwise(places):
            if start < end:
                raise damaged(path, f"tensors share bytes of {file}")
