"""Checkpoints as Hugging Face's libraries keep them: safetensors files of whole tensors, and
``model.safetensors.index.json``, which says which file has which tensor.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from torchlike.distributed.checkpoint import _index, _pieces
from torchlike.distributed.checkpoint._names import (
    OURS_AS_HF,
    damaged,
    dictionary,
    inside,
    is_plain,
    read_json,
    sizes,
)
from torchlike.distributed.checkpoint._ranks import meet
from torchlike.distributed.checkpoint._staging import indexes, staging
from torchlike.distributed.checkpoint.filesystem import (
    Contents,
    FileSystemReader,
    FileSystemWriter,
    OfFiles,
)
from torchlike.serialization.safetensors_files import NAMES

INDEX = "model.safetensors.index.json"
_DTYPES = {short: name for name, short in NAMES.items()}
#: By this an index of ours is known: files that another one names are not removed.
_WRITER = "torchlike"


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes tensors into ``model-00001-of-0000N.safetensors``; where such a file is there already,
    into ``model-00001-of-0000N-1.safetensors`` and so on. The index names the files, and replaces
    the former one in one step: a save that is killed leaves the former checkpoint whole.

    Args:
        path: The folder.
        fqn_to_index_mapping: In which file a tensor goes, from 1; all in one where it is not given.

    Raises:
        NotImplementedError: ``save_distributed`` is asked for.

    Differs from PyTorch: tensors are always written whole, so nothing is to be consolidated. Files
    that only the former index named are removed if this class has written it, and what killed saves
    left behind.
    """

    def __init__(
        self,
        path: Any,
        fqn_to_index_mapping: dict[str, int] | None = None,
        thread_count: int = 1,
        save_distributed: bool = False,
        enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:
        super().__init__(path)
        if save_distributed and not enable_consolidation:
            raise NotImplementedError(
                "HuggingFaceStorageWriter(save_distributed=True): files of parts of tensors. Use "
                "instead: enable_consolidation=True, or save() without a storage_writer"
            )
        self._file_of = fqn_to_index_mapping or {}

    can_be_async = False

    def write(
        self,
        folder: Path,
        arrays: Mapping[str, Any],
        objects: Mapping[str, Any],
        rank: int,
        count: int,
    ) -> None:
        """Write all arrays, in the first process. ValueError for other objects, KeyError for a
        tensor without a file, NotImplementedError for one that lies in several processes."""
        if rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            self._write(folder, arrays, objects)
        meet(count)

    def _write(self, folder: Path, arrays: Mapping[str, Any], objects: Mapping[str, Any]) -> None:
        if objects:
            raise ValueError(f"safetensors files hold tensors alone, not {', '.join(objects)}")
        groups: dict[int, list[_pieces.PieceSource]] = {}
        for name, array in arrays.items():
            if isinstance(array, jax.Array) and not array.is_fully_addressable:
                raise NotImplementedError(
                    f"HuggingFaceStorageWriter: {name} lies in several processes. Use instead: "
                    "get_model_state_dict with full_state_dict=True"
                )
            at = self._file_of[name] if self._file_of else 1
            value = np.asarray(array)
            source = _pieces.PieceSource(name, True, (0,) * value.ndim, value)
            groups.setdefault(at, []).append(source)
        last = max([*groups, *self._file_of.values()], default=1)
        weights: dict[str, str] = {}
        with staging(folder) as new:
            for at, sources in groups.items():
                name = _free(folder, f"model-{at:05d}-of-{last:05d}")
                _pieces.write_file(new.path / name, sources)
                weights.update({s.name: name for s in sources})
            total = sum(s.array.nbytes for group in groups.values() for s in group)
            about = {"total_size": total, "written_by": _WRITER}
            said = {"metadata": about, "weight_map": weights}
            new.move(set(weights.values()))
            former = filter(OURS_AS_HF.fullmatch, _former(folder))
            new.replace(INDEX, json.dumps(said, indent=2), former)


def _free(folder: Path, stem: str) -> str:
    """Return the name of a file that is not there yet."""
    name, n = f"{stem}.safetensors", 0
    while (folder / name).exists():
        n += 1
        name = f"{stem}-{n}.safetensors"
    return name


def _named(folder: Path) -> set[str]:
    """Return the files that the folder's index names."""
    return set(_weight_map(folder).values())


def _weight_map(folder: Path) -> dict[str, str]:
    """Return the file of each tensor, as the folder's index says it; an empty dictionary where
    there is no index. RuntimeError for a damaged index."""
    path = folder / INDEX
    if not path.exists():
        return {}
    said = read_json(inside(folder, INDEX, path))
    found = dictionary(said.get("weight_map"), path, "its weight_map")
    for name in found.values():
        if not is_plain(name):
            raise damaged(path, f"{name!r} is not the name of a file beside it")
    return found


def _former(folder: Path) -> set[str]:
    """Return the files of the save that the next one replaces: none where somebody else wrote the
    index, or where it is damaged."""
    try:
        names = _named(folder)
        about = read_json(folder / INDEX).get("metadata") if names else None
    except RuntimeError:
        return set()
    return names if isinstance(about, dict) and about.get("written_by") == _WRITER else set()


indexes.append(_named)


class HuggingFaceStorageReader(FileSystemReader):
    """Reads the safetensors files of a folder, onto whatever mesh the tensors lie on."""

    def __init__(self, path: Any, thread_count: int = 1) -> None:
        super().__init__(path)

    def find(self, folder: Path) -> Contents:
        """Return the tensors of the files that the index names, or of all of the folder.
        FileNotFoundError where there are none."""
        weights, index = _weight_map(folder), folder / INDEX
        names = set(weights.values()) or {p.name for p in folder.glob("*.safetensors")}
        if not names:
            raise FileNotFoundError(f"{folder} holds no safetensors files")
        tensors: dict[str, _index.Held] = {}
        for file in sorted(names):
            path = inside(folder, file, index if weights else folder)
            found = _header(path)
            _index.check_apart(found, path)
            of_others = {name for name in found if weights.get(name, file) != file}
            tensors.update({name: held for name, held in found.items() if name not in of_others})
        return OfFiles(folder, _index.Index(tensors, ""))


def _header(path: Path) -> dict[str, _index.Held]:
    """Read the tensors' descriptions in a safetensors file. RuntimeError for a damaged one."""
    start = _pieces.data_start(path)
    with path.open("rb") as f:
        f.seek(8)
        try:
            said: Any = json.loads(f.read(start - 8))
        except (ValueError, RecursionError) as error:
            raise damaged(path, error) from None
    found = dictionary(said, path, "its header")
    room = path.stat().st_size - start
    return {
        name: _held(name, one, path, room) for name, one in found.items() if name != "__metadata__"
    }


def _held(name: str, said: Any, path: Path, room: int) -> _index.Held:
    """Return a tensor's description as the header of a file has it whose tensors have ``room``
    bytes."""
    about = dictionary(said, path, f"what it says of {name!r}")
    shape = sizes(about.get("shape"), path, f"the shape of {name!r}")
    places = sizes(about.get("data_offsets"), path, f"the place of {name!r}")
    kind = about.get("dtype")
    dtype = _DTYPES.get(kind) if isinstance(kind, str) else None
    if dtype is None:
        raise damaged(path, f"{name!r} is of the unknown dtype {kind!r}")
    n = math.prod(shape) * (_pieces.itemsize(dtype) or 0)
    if len(places) != 2 or places[1] - places[0] != n or places[1] > room:
        raise damaged(path, f"{name!r} has {n} bytes, and the place {places} of {room}")
    piece = _pieces.Piece((0,) * len(shape), shape, path.name, places[0])
    return _index.Held(dtype, shape, (piece,))
