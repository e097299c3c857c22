"""Checkpoints as Hugging Face's libraries keep them: safetensors files of whole tensors, and
``model.safetensors.index.json``, which says which file has which tensor.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from torchlike.distributed.checkpoint import _index, _pieces
from torchlike.distributed.checkpoint._beside import beside, indexes
from torchlike.distributed.checkpoint._ranks import meet
from torchlike.distributed.checkpoint.filesystem import (
    Contents,
    FileSystemReader,
    FileSystemWriter,
    OfFiles,
)

INDEX = "model.safetensors.index.json"
_DTYPES = {short: name for name, short in _pieces.NAMES.items()}


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
    that only the former index named are removed, and what killed saves left behind.
    """

    def __init__(
        self, path: Any, fqn_to_index_mapping: dict[str, int] | None = None, thread_count: int = 1,
        save_distributed: bool = False, enable_consolidation: bool = False,
        thread_count_consolidation: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(path)
        if save_distributed and not enable_consolidation:
            raise NotImplementedError(
                "HuggingFaceStorageWriter(save_distributed=True): files of parts of tensors. Use "
                "instead: enable_consolidation=True, or save() without a storage_writer"
            )
        self._file_of = fqn_to_index_mapping or {}

    can_be_async = False

    def write(
        self, folder: Path, arrays: Mapping[str, Any], objects: Mapping[str, Any], rank: int,
        count: int,
    ) -> None:  # fmt: skip
        """Write all arrays, in the first process. ValueError for other objects, KeyError for a
        tensor without a file, NotImplementedError for one that lies in several processes."""
        if rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            self._write(folder, arrays, objects)
        meet(count)

    def _write(
        self, folder: Path, arrays: Mapping[str, Any], objects: Mapping[str, Any]
    ) -> None:  # fmt: skip
        if objects:
            raise ValueError(f"safetensors files hold tensors alone, not {', '.join(objects)}")
        groups: dict[int, list[_pieces.Source]] = {}
        for name, array in arrays.items():
            if isinstance(array, jax.Array) and not array.is_fully_addressable:
                raise NotImplementedError(
                    f"HuggingFaceStorageWriter: {name} lies in several processes. Use instead: "
                    "get_model_state_dict with full_state_dict=True"
                )
            at = self._file_of[name] if self._file_of else 1
            value = np.asarray(array)
            source = _pieces.Source(name, True, (0,) * value.ndim, value)
            groups.setdefault(at, []).append(source)
        last = max([*groups, *self._file_of.values()], default=1)
        weights: dict[str, str] = {}
        with beside(folder) as new:
            for at, sources in groups.items():
                name = _free(folder, f"model-{at:05d}-of-{last:05d}")
                _pieces.write_file(new.path / name, sources)
                weights.update({s.name: name for s in sources})
            total = sum(s.array.nbytes for group in groups.values() for s in group)
            said = {"metadata": {"total_size": total}, "weight_map": weights}
            former = _named(folder)
            new.move(set(weights.values()))
            new.replace(INDEX, json.dumps(said, indent=2))
        for name in former - set(weights.values()):
            (folder / name).unlink(missing_ok=True)


def _free(folder: Path, stem: str) -> str:
    """The name of a file that is not there yet."""
    name, n = f"{stem}.safetensors", 0
    while (folder / name).exists():
        n += 1
        name = f"{stem}-{n}.safetensors"
    return name


def _named(folder: Path) -> set[str]:
    """The files that the folder's index names."""
    index = folder / INDEX
    if not index.exists():
        return set()
    said: Any = json.loads(index.read_text(encoding="utf-8"))
    return set(said["weight_map"].values())


indexes.append(_named)


class HuggingFaceStorageReader(FileSystemReader):
    """Reads the safetensors files of a folder, onto whatever mesh the tensors lie on."""

    def __init__(self, path: Any, thread_count: int = 1) -> None:
        super().__init__(path)

    def find(self, folder: Path) -> Contents:
        """The tensors of the files that the index names, or of all of the folder.
        FileNotFoundError where there are none."""
        files = sorted(folder.glob("*.safetensors"))
        if (folder / INDEX).exists():
            files = [folder / name for name in sorted(_named(folder))]
        if not files:
            raise FileNotFoundError(f"{folder} holds no safetensors files")
        tensors: dict[str, _index.Held] = {}
        for file in files:
            for name, (kind, shape, offset) in _header(file).items():
                piece = _pieces.Piece((0,) * len(shape), shape, os.fspath(file.name), offset)
                tensors[name] = _index.Held(_DTYPES[kind], shape, (piece,))
        return OfFiles(folder, _index.Index(tensors, ""))


def _header(file: Path) -> dict[str, tuple[str, tuple[int, ...], int]]:
    with file.open("rb") as f:
        said: Any = json.loads(f.read(int.from_bytes(f.read(8), "little")))
    return {
        name: (one["dtype"], tuple(one["shape"]), one["data_offsets"][0])
        for name, one in said.items() if name != "__metadata__"
    }  # fmt: skip
