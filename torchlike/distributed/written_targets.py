"""Writes into ordinary tensors, which stay ordinary: DTensors are refused there, as in PyTorch.

Refused is what is surely a DTensor: one that was asked for, and what was computed on a mesh of one
process on which nothing else lies. On others (`lent_meshes`) a result may be an activation, which
in PyTorch is an ordinary tensor; its values are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import numpy as np
from jax import core
from jax.sharding import Mesh, NamedSharding

from torchlike._core import modes
from torchlike._core.dispatch import copying, inplace
from torchlike._core.storage import Storage
from torchlike._runtime import mixed_operands
from torchlike._runtime.jax_private import tracing
from torchlike.autograd import engine
from torchlike.distributed.device_mesh import mesh_of, mesh_of_tracer
from torchlike.distributed.lent_meshes import is_lent, lend
from torchlike.distributed.mixed_operands import at_first_mesh, in_aten, mixed
from torchlike.distributed.tensor._api import where
from torchlike.distributed.tensor._keeping_terms import update_terms
from torchlike.distributed.tensor._local import is_local_part
from torchlike.distributed.tensor._storage import (
    OrdinaryStorage,
    is_on_mesh,
    on_one_device,
    replicated,
)
from torchlike.tensor import Tensor


def is_known_ordinary(t: Tensor) -> bool:
    """Return whether a tensor has values and is no DTensor. Of what is computed on a mesh inside a
    program that is being captured that is not known."""
    storage = t._storage
    cell = storage.cell
    if storage.host is not None or type(cell) is np.ndarray or storage.is_ordinary:
        return True
    if isinstance(cell, core.Tracer):
        return not storage.is_placed and _is_off_mesh(cell)
    return isinstance(cell, jax.Array) and not is_on_mesh(storage)


def has_dtensor(operands: Sequence[Any]) -> bool:
    """Return whether one of the operands is surely a DTensor."""
    return any(isinstance(o, Tensor) and is_known_dtensor(o) for o in operands)


def is_known_dtensor(t: Tensor) -> bool:
    """Return whether a tensor was asked to lie on a mesh, or was computed on one of this process on
    which nothing but DTensors lies."""
    if modes.is_capturing():
        where(t)  # which notes that the program depends on it
    storage, cell = t._storage, t._storage.cell
    if storage.is_ordinary or is_local_part(t):
        return False
    if storage.is_placed:
        return True
    if isinstance(cell, core.Tracer):
        mesh = mesh_of_tracer(cell)
    else:
        found = getattr(getattr(cell, "sharding", None), "mesh", None)
        mesh = mesh_of(found) if isinstance(found, Mesh) else None
    return mesh is not None and mesh.is_local and not is_lent(mesh.jax_mesh)


def _refuse(op: str, target: Tensor, operands: Sequence[Any]) -> bool:
    """Return whether the target is an ordinary tensor on a cell of its own; refuse, in PyTorch's
    RuntimeError, an ordinary one of several elements beside an operand that is a DTensor."""
    is_part = is_local_part(target)
    if not is_part and not is_known_ordinary(target):
        return False
    if not mixed_operands.is_replicating() and target.numel() != 1 and has_dtensor(operands):
        raise mixed(in_aten(op))
    return not is_part


def _leave_mesh(storage: Storage) -> None:
    """Have an ordinary tensor's contents leave the mesh, where they are on one."""
    sharding = getattr(storage.cell, "sharding", None)
    if isinstance(sharding, NamedSharding) and not modes.is_capturing():
        storage.cell = on_one_device(replicated(storage.cell, sharding))


def _watched_update(
    spec: Any, target: Tensor, operands: Sequence[Any], statics: Any, lengths: Any = ()
) -> Tensor:
    """Run the in-place variant of an op so that an ordinary target stays ordinary."""
    is_ordinary = _refuse(f"{spec.name}_", target, operands[1:])
    if mixed_operands.refuse.is_provided:
        found = update_terms(
            spec,
            target,
            operands,
            statics,
            lambda: inplace.update(spec, target, operands, statics, lengths),
        )
    else:
        found = inplace.update(spec, target, operands, statics, lengths)
    if is_ordinary:
        _leave_mesh(target._storage)
    return found


def _copied(target: Tensor, source: Tensor, value: Any) -> Any:
    """Return the value that `copy_` writes of a source's: off the mesh for an ordinary target."""
    is_ordinary = _refuse("copy_", target, (source,))
    if mixed_operands.refuse.is_provided:
        mixed_operands.met("copy_", (target._storage.cell, value))
    sharding = getattr(value, "sharding", None)
    if (
        is_ordinary
        and isinstance(sharding, NamedSharding)
        and (not modes.is_capturing() and isinstance(value, jax.Array))
    ):
        return on_one_device(replicated(value, sharding))
    return value


def _delivered(storages: Sequence[Storage], arrays: Sequence[Any]) -> None:
    """Note which cells are of ordinary tensors, before a program writes arrays on a mesh there."""
    if modes.is_capturing():
        return
    for storage, array in zip(storages, arrays, strict=False):
        if (
            type(storage) is Storage
            and storage.host is None
            and not is_on_mesh(storage)
            and isinstance(getattr(array, "sharding", None), NamedSharding)
        ):
            storage.__class__ = OrdinaryStorage
            lend(array.sharding.mesh)


def _gradient(leaf: Tensor, array: Any) -> Any:
    """Return the gradient that arrives at a leaf without a place on a mesh: an ordinary one's
    gradient is ordinary. (Between processes one comes of `implicit_replication` alone, and is a
    DTensor as in PyTorch.)
    """
    sharding = getattr(array, "sharding", None)
    if (
        isinstance(sharding, NamedSharding)
        and not isinstance(array, core.Tracer)
        and not modes.is_capturing()
        and sharding.is_fully_addressable
        and is_known_ordinary(leaf)
    ):
        return on_one_device(replicated(array, sharding))
    return array


def _traced_gradient(leaf: Tensor, made: Tensor) -> None:
    """Mark a gradient in a program the same way: it leaves the mesh once it is computed."""
    storage = made._storage
    mesh = mesh_of_tracer(storage.cell) if isinstance(storage.cell, core.Tracer) else None
    if type(storage) is Storage and mesh is not None and mesh.is_local and is_known_ordinary(leaf):
        storage.__class__ = OrdinaryStorage


def _ordinary_results(inputs: Iterable[Any], made: Sequence[Storage]) -> tuple[int, ...]:
    """Return which cells of ordinary tensors a program makes: with an input on a mesh of this
    process, on which all its results lie, those that nothing on the mesh has gone into, too."""
    on_mesh = any(
        isinstance(sharding, NamedSharding)
        and sharding.mesh.size > 1
        and sharding.is_fully_addressable
        for sharding in (getattr(array, "sharding", None) for array in inputs)
    )
    return tuple(
        i
        for i, s in enumerate(made)
        if s.is_ordinary
        or (on_mesh and type(s) is Storage and _is_off_mesh(s.cell) and not _comes_of_mesh(s.cell))
    )


def _comes_of_mesh(tracer: Any) -> bool:
    """Return whether something on a mesh has gone into a tracer. (Not each primitive of JAX's tells
    its results.)"""
    waiting, seen = [tracer], set[int]()
    while waiting:
        t = waiting.pop()
        eqn = tracing.maker_of(t)
        if eqn is None:
            value = tracing.constant_of(t)
            sharding = getattr(
                value.aval if isinstance(value, core.Tracer) else value, "sharding", None
            )
            if isinstance(sharding, NamedSharding) and not sharding.mesh.empty:
                return True
        elif id(eqn) not in seen:
            seen.add(id(eqn))
            waiting += tracing.read_by(eqn)
    return False


def _is_off_mesh(cell: Any) -> bool:
    """Return whether nothing on a mesh has gone into what a program computes."""
    if not isinstance(cell, core.Tracer):
        return False
    mesh = getattr(getattr(cell.aval, "sharding", None), "mesh", None)
    return mesh is not None and mesh.empty


@at_first_mesh
def _begin() -> None:
    inplace.run_update.by(_watched_update)
    copying.copied.by(_copied)
    mixed_operands.delivered.by(_delivered)
    mixed_operands.leave_mesh.by(_leave_mesh)
    mixed_operands.ordinary_results.by(_ordinary_results)
    engine.leaf_gradient.by(_gradient)
    engine.traced_leaf_gradient.by(_traced_gradient)
