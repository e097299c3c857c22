"""``save``, ``async_save`` and ``load``: checkpoints of tensors on any mesh, read onto any other.

A checkpoint is a folder of safetensors files, written by the process that holds the values, and an
index (see ``_index``). ``load`` reads what each device needs, wherever it lay when it was saved.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np

from torchlike._core.tensor import Tensor, wrap
from torchlike._runtime.mixed_operands import replicating
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributed import collectives, objects
from torchlike.distributed.checkpoint import _index, _pieces
from torchlike.distributed.checkpoint._nested import Leaf, leaves
from torchlike.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torchlike.distributed.checkpoint.hf_storage import (
    HuggingFaceStorageReader,
    HuggingFaceStorageWriter,
)
from torchlike.distributed.checkpoint.stateful import Stateful
from torchlike.distributed.groups import get_rank, get_world_size, is_initialized
from torchlike.distributed.tensor._api import where
from torchlike.serialization.load import load as load_file
from torchlike.serialization.save import save as save_file

_writer = ThreadPoolExecutor(1, "checkpoint")


class CheckpointException(RuntimeError):
    """A checkpoint could not be read or written."""


class _Snapshot:
    """What a save writes: arrays, which do not change, and other objects."""

    def __init__(self, state_dict: dict[str, Any]) -> None:
        self.arrays: dict[str, Any] = {}
        self.objects: dict[str, Any] = {}
        for leaf in leaves(_states(state_dict)):
            if isinstance(leaf.value, Tensor):
                if leaf.value.is_meta:
                    raise ValueError(f"{leaf.name} is on the meta device and has no values to save")
                self.arrays[leaf.name] = leaf.value.detach()._read()
            else:
                self.objects[leaf.name] = leaf.value


def _states(state_dict: dict[str, Any]) -> dict[str, Any]:
    """The state dict, with stateful objects asked for theirs."""
    return {
        k: v.state_dict() if isinstance(v, Stateful) else v for k, v in state_dict.items()
    }  # fmt: skip


def _folder(checkpoint_id: Any, storage: Any) -> Path:
    if checkpoint_id is None:
        if storage is None:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader is None.")
        return storage.path
    return Path(os.fspath(checkpoint_id))


def _processes(no_dist: bool) -> tuple[int, int]:
    """(rank, how many). RuntimeError where JAX knows of more, for each would write an index."""
    if no_dist:
        return 0, 1
    rank, count = (get_rank(), get_world_size()) if is_initialized() else (0, 1)
    if count != jax.process_count():
        raise RuntimeError(
            f"a world of {count} of the {jax.process_count()} processes that JAX runs: call "
            "init_process_group() in each of them before a checkpoint is saved"
        )
    return rank, count


def save(
    state_dict: dict[str, Any], *, checkpoint_id: Any = None,
    storage_writer: FileSystemWriter | None = None, planner: Any = None, process_group: Any = None,
    no_dist: bool = False, use_collectives: bool = True,
) -> None:  # fmt: skip
    """Save tensors, nested dictionaries of them, stateful objects and plain values into a folder.

    A save into a folder that has a checkpoint replaces it in one step: killed before its end it
    leaves the former one whole. RuntimeError without a folder.
    """
    _refuse_planner(planner)
    folder = _folder(checkpoint_id, storage_writer)
    rank, count = _processes(no_dist)
    snapshot = _Snapshot(state_dict)
    if isinstance(storage_writer, HuggingFaceStorageWriter):
        if rank == 0:
            folder.mkdir(parents=True, exist_ok=True)
            storage_writer.write(folder, snapshot.arrays, snapshot.objects)
        if count > 1:
            collectives.barrier()
        return
    _write(folder, snapshot, rank, count)


def async_save(
    state_dict: dict[str, Any], *, checkpoint_id: Any = None,
    storage_writer: FileSystemWriter | None = None, planner: Any = None, process_group: Any = None,
    async_checkpointer_type: Any = None, async_stager: Any = None, no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[None]:  # fmt: skip
    """``save`` in another thread, of the values that there are now; saves end one after the other.

    Nothing is copied: arrays do not change, and a step that comes before the end writes elsewhere.
    NotImplementedError in a world of several processes.
    """
    _refuse_planner(planner)
    if isinstance(storage_writer, HuggingFaceStorageWriter):
        raise NotImplementedError("async_save() into Hugging Face's layout: use save()")
    folder = _folder(checkpoint_id, storage_writer)
    rank, count = _processes(no_dist)
    if count > 1:
        raise NotImplementedError(
            "async_save() in a world of several processes: its collectives would run beside the "
            "script's; use save()"
        )
    return _writer.submit(_write, folder, _Snapshot(state_dict), rank, count)


def _refuse_planner(planner: Any) -> None:
    if planner is not None:
        raise NotImplementedError(
            "planner=: checkpoints have one layout here; use the keys of the state dict"
        )


def _write(folder: Path, snapshot: _Snapshot, rank: int, count: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    this = _same_for_all(uuid.uuid4().hex[:12], count)
    sources = (
        part for name, array in snapshot.arrays.items()
        for part in _pieces.parts_of(name, array, rank == 0)
    )  # fmt: skip
    written = _pieces.write(folder, f"{this}-{rank:05d}", sources)
    everyone = _from_all(written, count)
    if rank == 0:
        objects = ""
        if snapshot.objects:
            objects = f"{this}-objects.pt"
            with (folder / objects).open("wb") as f:
                save_file(snapshot.objects, f)
                f.flush()
                os.fsync(f.fileno())
        by_name: dict[str, list[_pieces.Piece]] = {name: [] for name in snapshot.arrays}
        for name, piece in (x for part in everyone for x in part):
            by_name[name].append(piece)
        tensors = {
            name: _index.Held(np.dtype(a.dtype).name, tuple(a.shape), tuple(by_name[name]))
            for name, a in snapshot.arrays.items()
        }
        _index.commit(folder, _index.Index(tensors, objects))
    if count > 1:
        collectives.barrier()


def _same_for_all(value: str, count: int) -> str:
    if count == 1:
        return value
    held = [value]
    objects.broadcast_object_list(held, 0)
    return held[0]


def _from_all(value: Any, count: int) -> list[Any]:
    if count == 1:
        return [value]
    found: list[Any] = [None] * count
    objects.all_gather_object(found, value)
    return found


def load(
    state_dict: dict[str, Any], *, checkpoint_id: Any = None,
    storage_reader: FileSystemReader | None = None, planner: Any = None, process_group: Any = None,
    no_dist: bool = False,
) -> None:  # fmt: skip
    """Fill a state dict from a folder, in place: tensors where they lie, on whatever mesh; other
    values are replaced; stateful objects are told theirs.

    CheckpointException for a name that the checkpoint lacks and for another size, FileNotFoundError
    where there is no checkpoint.
    """
    _refuse_planner(planner)
    folder = _folder(checkpoint_id, storage_reader)
    hugging_face = isinstance(storage_reader, HuggingFaceStorageReader)
    index = storage_reader.index(folder) if hugging_face else _index.load(folder)
    wanted = _states(state_dict)
    objects: Any = None
    for leaf in list(leaves(wanted)):
        if isinstance(leaf.value, Tensor):
            _fill(leaf, folder, index)
            continue
        if objects is None:
            objects = load_file(folder / index.objects) if index.objects else {}
        if leaf.name in index.tensors:
            leaf.put(whole_tensor(folder, index.tensors[leaf.name]))
        elif leaf.name in objects:
            leaf.put(objects[leaf.name])
        else:
            raise CheckpointException(f"Missing key in checkpoint state_dict: {leaf.name}.")
    for key, value in list(state_dict.items()):
        if isinstance(value, Stateful):
            value.load_state_dict(wanted[key])
        else:
            state_dict[key] = wanted[key]


def _fill(leaf: Leaf, folder: Path, index: _index.Index) -> None:
    held, t = index.tensors.get(leaf.name), leaf.value
    if held is None:
        raise CheckpointException(f"Missing key in checkpoint state_dict: {leaf.name}.")
    if held.shape != tuple(t.shape):
        raise CheckpointException(
            f"Size mismatch between saved {list(held.shape)} and current: {list(t.shape)} for "
            f"{leaf.name}"
        )
    place = where(t)
    with no_grad():
        if place is None:
            with replicating():
                t.detach().copy_(whole_tensor(folder, held))
            return
        array = jax.make_array_from_callback(held.shape, place[0], _reader(folder, held))
        with replicating():
            t.detach().copy_(wrap(array))


def _reader(folder: Path, held: _index.Held) -> Callable[[Any], np.ndarray]:
    return lambda i: _pieces.read(folder, held.pieces, held.dtype, i or (), held.shape)


def whole_tensor(folder: Path, held: _index.Held) -> Tensor:
    """A saved tensor, whole, on one device."""
    values = _reader(folder, held)(tuple(slice(0, n) for n in held.shape))
    return wrap(jax.device_put(values))


def load_state_dict(state_dict: dict[str, Any], storage_reader: Any, *args: Any, **kw: Any) -> None:
    """The old name of ``load``."""
    load(state_dict, storage_reader=storage_reader)


def save_state_dict(state_dict: dict[str, Any], storage_writer: Any, *args: Any, **kw: Any) -> None:
    """The old name of ``save``."""
    save(state_dict, storage_writer=storage_writer)
