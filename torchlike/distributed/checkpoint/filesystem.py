"""Where checkpoints are kept: folders of the file system. The layout of ours is `_index`'s."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import jax
import numpy as np
from jax.sharding import NamedSharding

from torchlike._runtime import whole_files
from torchlike.distributed.checkpoint import _index, _pieces
from torchlike.distributed.checkpoint._names import damaged, dictionary, inside
from torchlike.distributed.checkpoint._ranks import from_all, meet, same_for_all
from torchlike.distributed.checkpoint._staging import staging
from torchlike.serialization.load import load as load_file
from torchlike.serialization.save import save as save_file


class OfFolder:
    """A folder, given now or by ``checkpoint_id=`` of the call."""

    def __init__(self, path: Any, **options: Any) -> None:
        self.path = Path(os.fspath(path))

    def reset(self, checkpoint_id: Any = None) -> None:
        """Use another folder from now on."""
        if checkpoint_id is not None:
            self.path = Path(os.fspath(checkpoint_id))


class Contents(Protocol):
    """A checkpoint that was found, of whatever layout."""

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Its tensors by name, with their sizes."""
        ...

    def arrays(self, wanted: Mapping[str, NamedSharding | None]) -> Iterator[tuple[str, Any]]:
        """Yield tensors by name as arrays under these shardings (None: whole, on one device)."""
        ...

    def objects(self) -> Mapping[str, Any]:
        """Return the values of the checkpoint that are no tensors, by name."""
        ...


class FileSystemWriter(OfFolder):
    """Writes checkpoints into a folder. PyTorch's other arguments (threads, files, copies ahead)
    are taken and change nothing; ``overwrite`` is always on, and safe (see ``save``)."""

    #: Whether a save may run in another thread beside the script.
    can_be_async = True

    def write(
        self,
        folder: Path,
        arrays: Mapping[str, Any],
        objects: Mapping[str, Any],
        rank: int,
        count: int,
    ) -> None:
        """Write a checkpoint of arrays and other objects, with the other processes of ``count``."""
        folder.mkdir(parents=True, exist_ok=True)
        this = same_for_all(uuid.uuid4().hex[:12], count)
        sources = (
            part
            for name, array in arrays.items()
            for part in _pieces.parts_of(name, array, rank == 0)
        )
        with staging(folder) as new:
            own = _pieces.write(new.path, f"{this}-{rank:05d}", sources)
            files, file = {piece.file for _, piece in own}, ""
            if rank == 0 and objects:
                file = f"{this}-objects.pt"
                _write_objects(new.path / file, objects)
                files.add(file)
            new.move(files)
            everyone = from_all(own, count)
            if rank == 0:
                by_name: dict[str, list[_pieces.Piece]] = {name: [] for name in arrays}
                for name, piece in (x for part in everyone for x in part):
                    by_name[name].append(piece)
                tensors = {
                    name: _index.Held(np.dtype(a.dtype).name, tuple(a.shape), tuple(by_name[name]))
                    for name, a in arrays.items()
                }
                _index.commit(new, _index.Index(tensors, file))
            meet(count)


def _write_objects(path: Path, objects: Mapping[str, Any]) -> None:
    """Write what is no tensor into a new file, on the disk when this returns."""
    with whole_files.writing(path) as f:
        save_file(dict(objects), f)


class FileSystemReader(OfFolder):
    """Reads the checkpoint of a folder."""

    def find(self, folder: Path) -> Contents:
        """Return the checkpoint of a folder. FileNotFoundError where there is none."""
        return OfFiles(folder, _index.load(folder))


class OfFiles:
    """A checkpoint of safetensors files and an index, whose parts are read as they are asked
    for."""

    def __init__(self, folder: Path, index: _index.Index) -> None:
        self._folder, self._index = folder, index
        self.shapes = {name: held.shape for name, held in index.tensors.items()}

    def arrays(self, wanted: Mapping[str, NamedSharding | None]) -> Iterator[tuple[str, Any]]:
        """Yield the tensors that a name and a sharding are given of; what each device needs is
        read."""
        for name, sharding in wanted.items():
            shape, part = self.shapes[name], self._reader(self._index.tensors[name])
            if sharding is None:
                yield name, jax.device_put(part(tuple(slice(0, n) for n in shape)))
            else:
                yield name, jax.make_array_from_callback(shape, sharding, part)

    def objects(self) -> Mapping[str, Any]:
        """Return the values of the checkpoint that are no tensors, by name."""
        if not self._index.objects:
            return {}
        path = inside(self._folder, self._index.objects, self._folder)
        try:
            found = load_file(path)
        except (RuntimeError, EOFError, OSError) as error:
            raise damaged(path, error) from error
        return dictionary(found, path, "it")

    def _reader(self, held: _index.Held) -> Callable[[Any], np.ndarray]:
        return lambda i: _pieces.read(self._folder, held.pieces, held.dtype, i or (), held.shape)
