"""``save``, ``async_save`` and ``load``: checkpoints of tensors on any mesh, read onto any other.

A checkpoint is a folder of safetensors files, written by the process that holds the values, and an
index (see ``_index``). ``load`` reads what each device needs, wherever it lay when it was saved.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
from jax.sharding import NamedSharding

from torchlike._runtime.mixed_operands import replicating
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributed.checkpoint._nested import StateDictEntry, leaves
from torchlike.distributed.checkpoint._ranks import among
from torchlike.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from torchlike.distributed.checkpoint.default_planner import check as check_planner
from torchlike.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torchlike.distributed.checkpoint.stateful import Stateful
from torchlike.distributed.groups import (
    GroupMember,
    ProcessGroup,
    World,
    get_rank,
    get_world_size,
    is_initialized,
    new_group,
)
from torchlike.distributed.tensor._api import where
from torchlike.tensor import Tensor, wrap

_writer = ThreadPoolExecutor(1, "checkpoint")
#: By the world, the group of saves that run beside the script.
_groups: dict[Any, ProcessGroup] = {}


class CheckpointException(RuntimeError):
    """A checkpoint could not be read or written."""


class _CheckpointSnapshot:
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
    """Return the state dict, with stateful objects replaced by their state dicts."""
    return {k: v.state_dict() if isinstance(v, Stateful) else v for k, v in state_dict.items()}


def _folder(checkpoint_id: Any, storage: Any) -> Path:
    if checkpoint_id is None:
        if storage is None:
            raise RuntimeError("`checkpoint_id` must be specified if storage_reader is None.")
        return storage.path
    return Path(os.fspath(checkpoint_id))


def _processes(no_dist: bool) -> tuple[int, int]:
    """Return (rank, number of processes). RuntimeError where JAX knows of more, for each would
    write an index."""
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
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: FileSystemWriter | None = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> None:
    """Save tensors, nested dictionaries of them, stateful objects and plain values into a folder.

    A save into a folder that has a checkpoint replaces it in one step: killed before its end it
    leaves the former one whole. RuntimeError without a folder.
    """
    check_planner(planner, DefaultSavePlanner)
    folder = _folder(checkpoint_id, storage_writer)
    rank, count = _processes(no_dist)
    snapshot = _CheckpointSnapshot(state_dict)
    writer = storage_writer or FileSystemWriter(folder)
    writer.write(folder, snapshot.arrays, snapshot.objects, rank, count)


def async_save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_writer: FileSystemWriter | None = None,
    planner: Any = None,
    process_group: Any = None,
    async_checkpointer_type: Any = None,
    async_stager: Any = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Future[None]:
    """Do ``save`` in another thread, of the values that there are now, and return a future of its
    end; saves end one after the other.

    Nothing is copied: arrays do not change, and a step that comes before the end writes elsewhere.
    In a world of several processes each calls it, in the same order; the end of the world waits.
    """
    check_planner(planner, DefaultSavePlanner)
    if storage_writer is not None and not storage_writer.can_be_async:
        raise NotImplementedError(f"async_save() by a {type(storage_writer).__name__}: use save()")
    folder = _folder(checkpoint_id, storage_writer)
    rank, count = _processes(no_dist)
    snapshot, writer = _CheckpointSnapshot(state_dict), storage_writer or FileSystemWriter(folder)
    group = _own_group() if count > 1 else None

    def write() -> None:
        with among(group):
            writer.write(folder, snapshot.arrays, snapshot.objects, rank, count)

    return _writer.submit(write)


def _own_group() -> ProcessGroup:
    """Return the group in which saves of this world speak that run beside the script, made by the
    first of them."""
    world = GroupMember.WORLD
    if _end not in World.at_end:
        World.at_end.append(_end)
    if world not in _groups:
        _groups.clear()
        _groups[world] = new_group()
    return _groups[world]


def _end() -> None:
    """Wait for the saves that were begun."""
    _writer.submit(lambda: None).result()


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: Any = None,
    storage_reader: FileSystemReader | None = None,
    planner: Any = None,
    process_group: Any = None,
    no_dist: bool = False,
) -> None:
    """Fill a state dict from a folder, in place: tensors where they lie, on whatever mesh; other
    values are replaced, and so are tensors on the meta device; stateful objects are told theirs.

    CheckpointException for a name that the checkpoint lacks (but for a planner with
    ``allow_partial_load``) and for another size, FileNotFoundError where there is no checkpoint.
    """
    check_planner(planner, DefaultLoadPlanner)
    folder = _folder(checkpoint_id, storage_reader)
    held = (storage_reader or FileSystemReader(folder)).find(folder)
    wanted = _states(state_dict)
    by_name = {leaf.name: leaf for leaf in leaves(wanted)}
    places: dict[str, NamedSharding | None] = {}
    objects: Mapping[str, Any] | None = None
    partial = planner is not None and planner.allow_partial_load
    for name, leaf in by_name.items():
        if isinstance(leaf.value, Tensor):
            if partial and name not in held.shapes:
                continue
            _check(leaf, held.shapes.get(name))
            place = where(leaf.value)
            places[name] = None if place is None else place[0]
        elif name in held.shapes:
            places[name] = None
        else:
            objects = held.objects() if objects is None else objects
            if partial and name not in objects:
                continue
            if name not in objects:
                raise CheckpointException(f"Missing key in checkpoint state_dict: {name}.")
            leaf.put(objects[name])
    for name, array in held.arrays(places):
        _put(by_name[name], wrap(array))
    for key, value in list(state_dict.items()):
        if isinstance(value, Stateful):
            value.load_state_dict(wanted[key])
        else:
            state_dict[key] = wanted[key]


def _check(leaf: StateDictEntry, held: tuple[int, ...] | None) -> None:
    if held is None:
        raise CheckpointException(f"Missing key in checkpoint state_dict: {leaf.name}.")
    if held != tuple(leaf.value.shape):
        raise CheckpointException(
            f"Size mismatch between saved {list(held)} and current: {list(leaf.value.shape)} for "
            f"{leaf.name}"
        )


def _put(leaf: StateDictEntry, found: Tensor) -> None:
    if not isinstance(leaf.value, Tensor) or leaf.value.is_meta:
        leaf.put(found)
        return
    with no_grad(), replicating():
        leaf.value.detach().copy_(found)


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    """Do ``load``, under its old name."""
    load(state_dict, storage_reader=storage_reader, planner=planner, no_dist=no_dist)


def save_state_dict(
    state_dict: dict[str, Any],
    storage_writer: Any,
    process_group: Any = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: Any = None,
) -> None:
    """Do ``save``, under its old name."""
    save(state_dict, storage_writer=storage_writer, planner=planner, no_dist=no_dist)
