"""Writes into ordinary tensors, which stay ordinary: DTensors are refused there, as in PyTorch.

Refused is what is surely a DTensor: one that was asked for. What else lies on a mesh of one process
may be an activation of a module whose parameters do, which in PyTorch is an ordinary tensor; its
values are written.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import core
from jax.sharding import NamedSharding

from torchlike._core import modes
from torchlike._core.storage import Storage
from torchlike._core.tensor import Tensor
from torchlike._dispatch import inplace
from torchlike._runtime import mixed_operands
from torchlike.distributed.mixed_operands import at_first_mesh, in_aten, mixed
from torchlike.distributed.tensor._api import where
from torchlike.distributed.tensor._storage import (
    OrdinaryStorage,
    is_on_mesh,
    on_one_device,
    replicated,
)


def is_known_ordinary(t: Tensor) -> bool:
    """Whether a tensor has values and is no DTensor. Of what is computed on a mesh inside a program
    that is being captured that is not known."""
    storage = t._storage
    cell = storage.cell
    if storage.host is not None or type(cell) is np.ndarray or storage.is_ordinary:
        return True
    if isinstance(cell, core.Tracer):
        mesh = getattr(getattr(cell.aval, "sharding", None), "mesh", None)
        return not storage.is_placed and mesh is not None and mesh.empty
    return isinstance(cell, jax.Array) and not is_on_mesh(storage)


def has_dtensor(operands: Sequence[Any]) -> bool:
    """Whether one of the operands is a DTensor that was asked for."""
    for o in operands:
        if isinstance(o, Tensor):
            if modes.current.capture is not None:
                where(o)  # which notes that the program depends on it
            if o._storage.is_placed:
                return True
    return False


def _refuse(op: str, target: Tensor, operands: Sequence[Any]) -> bool:
    """Whether the target is an ordinary tensor. PyTorch's RuntimeError where that has several
    elements and an operand is a DTensor."""
    if not is_known_ordinary(target):
        return False
    if not mixed_operands.is_replicating() and target.numel() != 1 and has_dtensor(operands):
        raise mixed(in_aten(op))
    return True


def _leave_mesh(storage: Storage) -> None:
    """Have an ordinary tensor's contents leave the mesh, where they are on one."""
    sharding = getattr(storage.cell, "sharding", None)
    if isinstance(sharding, NamedSharding) and modes.current.capture is None:
        storage.cell = on_one_device(replicated(storage.cell, sharding))


def _watching(update: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """``update`` of the in-place forms, which leaves ordinary tensors ordinary."""

    @functools.wraps(update)
    def watched(
        spec: Any, target: Tensor, operands: Sequence[Any], statics: Any, lengths: Any = ()
    ) -> Tensor:
        is_ordinary = _refuse(f"{spec.name}_", target, operands[1:])
        found = update(spec, target, operands, statics, lengths)
        if is_ordinary:
            _leave_mesh(target._storage)
        return found

    return watched


def _copied(target: Tensor, source: Tensor, value: Any) -> Any:
    """What `copy_` writes of a source's value."""
    is_ordinary = _refuse("copy_", target, (source,))
    if mixed_operands.installed.refuse is not None:
        mixed_operands.met("copy_", (target._storage.cell, value))
    sharding = getattr(value, "sharding", None)
    if is_ordinary and isinstance(sharding, NamedSharding) and (
        modes.current.capture is None and isinstance(value, jax.Array)
    ):  # fmt: skip
        return on_one_device(replicated(value, sharding))
    return value


def _delivered(storages: Sequence[Storage], arrays: Sequence[Any]) -> None:
    """Note which cells are of ordinary tensors, before a program writes arrays on a mesh there."""
    if modes.current.capture is not None:
        return
    for storage, array in zip(storages, arrays, strict=False):
        if (
            type(storage) is Storage and storage.host is None and not is_on_mesh(storage)
            and isinstance(getattr(array, "sharding", None), NamedSharding)
        ):  # fmt: skip
            storage.__class__ = OrdinaryStorage


@at_first_mesh
def _begin() -> None:
    inplace.watched_by(_watching)
    mixed_operands.install(copied=_copied, delivered=_delivered, leave_mesh=_leave_mesh)
