"""What is *local* to a process: decided here, for ``from_local`` and ``to_local``.

Local is what this process holds. Where all devices of the mesh are its own, that is the whole
tensor: ``to_local`` gives a tensor on the same memory, ``from_local`` takes the whole, and a sum of
the terms of this one process (`Partial`) is the term itself, so its placement becomes `Replicate`.
A collective over ``mesh.get_group()``, which has one member, changes nothing then, and a script
gets the numbers that it gets from many processes. Where a mesh spans processes, local is the part
that this process' devices hold, which has to be one rectangle; unequal parts are ``_declared``'s.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
from jax import core
from jax.sharding import NamedSharding

from torchlike._core import modes
from torchlike._core.views import Alias, step
from torchlike._extensions.meta import MetaArray
from torchlike._ops.shape.views.view_factory import make_view
from torchlike._runtime.transfer import to_device
from torchlike.autograd.function import Function
from torchlike.distributed.device_mesh import DeviceMesh, mesh_of
from torchlike.distributed.lent_meshes import lend
from torchlike.distributed.reductions import ReduceOp
from torchlike.distributed.tensor._declared import declared_of, of_parts, own_part
from torchlike.distributed.tensor._moves import moved
from torchlike.distributed.tensor._part_storage import PartStorage
from torchlike.distributed.tensor._specs import checked, divides, pieces, sharding_for
from torchlike.distributed.tensor._storage import PlacedStorage, held_here
from torchlike.distributed.tensor._transferred import Transfer, TransferSpec, as_it_is
from torchlike.distributed.tensor._whole import Sums, summed, sums_of
from torchlike.distributed.tensor.placement_types import Partial
from torchlike.distributed.transfers import own_side, side_of
from torchlike.tensor import Tensor, wrap


class LocalPart(Alias):
    """What this process holds of a DTensor that it holds all of: an ordinary tensor on its
    memory."""

    __slots__ = ()


def is_local_part(t: Tensor) -> bool:
    """Return whether ``to_local`` gave this tensor on a DTensor's own memory, or it is a view of
    such a tensor."""
    return t._view is not None and step(LocalPart) in t._view.steps


class _ToLocal(Function):
    """This process' part; the gradients of all processes' parts are the whole's. Terms of it are
    reduced over the groups in ``sums`` before."""

    @staticmethod
    def forward(ctx: Any, t: Tensor, back: NamedSharding, sums: Sums) -> Tensor:
        ctx.back, ctx.sums, ctx.shape = back, sums, tuple(t.shape)
        return wrap(to_device(held_here(t._read())))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        return _FromLocal.apply(g, ctx.back, ctx.back, ctx.shape, ctx.sums), None, None


class _FromLocal(Function):
    """The whole that the processes' parts make up; each gets its part of the gradient. Terms are
    reduced over the groups in ``sums``, and each term has the gradient of the sum."""

    @staticmethod
    def forward(
        ctx: Any,
        local: Tensor,
        sharding: NamedSharding,
        back: NamedSharding,
        shape: Any,
        sums: Sums,
    ) -> Tensor:
        ctx.back = back
        ctx.count = math.prod([group.size() for op, group in sums if op == ReduceOp.AVG])
        return wrap(_of_parts(summed(local, sums)._read(), sharding, shape))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        own = _ToLocal.apply(moved(g, ctx.back), ctx.back, ())
        return own if ctx.count == 1 else own / ctx.count, None, None, None, None


def to_local(t: Tensor, mesh: DeviceMesh, grad_placements: Any = None) -> Tensor:
    """Return the part that this process holds of a tensor on a mesh; where that is everything, on
    its memory."""
    array = t._storage.cell
    said = declared_of(t)
    if said is not None and not mesh.is_local:
        if grad_placements is not None and checked(grad_placements, mesh, t.dim()) != said:
            raise NotImplementedError(
                f"to_local(grad_placements={tuple(grad_placements)}) of a tensor with the "
                f"placements {said}: use full_tensor(grad_placements=...)"
            )
        return own_part(t, mesh, said)
    if type(array) is MetaArray and not mesh.is_local:
        storage: Any = t._storage
        return wrap(MetaArray(storage.sharding.shard_shape(array.shape), array.dtype))
    lying = _of_placed(t)
    if lying is not None and modes.is_capturing():
        return _captured_part(t, lying, mesh, grad_placements)
    if isinstance(array, core.Tracer) or (
        getattr(array, "is_fully_addressable", True) and not _is_line_of_one(array)
    ):
        if mesh.is_local:
            lend(mesh.jax_mesh)
        return make_view(t, step(LocalPart), (), "AliasBackward0")
    found = _ToLocal.apply(t, *_back(t, _of(t) or t._read().sharding, mesh, grad_placements))
    if t._view is None and not modes.current.levels:
        found._storage = PartStorage(found._storage.cell, t._storage)
    return found


def _back(
    t: Tensor, sharding: NamedSharding, mesh: DeviceMesh, grad_placements: Any
) -> tuple[NamedSharding, Sums]:
    """Return the sharding of the gradient of a DTensor that ``to_local`` cuts, and what is reduced
    before."""
    if grad_placements is None:
        return sharding, ()
    wanted = checked(grad_placements, mesh, t.dim())
    return sharding_for(wanted, mesh, tuple(t.shape)), sums_of(wanted, mesh)


def _of_placed(t: Tensor) -> NamedSharding | None:
    """Return the sharding of a tensor on a mesh that spans processes, also of a result in a program
    that is being captured, where it was laid out."""
    found = None
    if t._view is None and isinstance(t._storage, PlacedStorage):
        found = t._storage.sharding
    elif not isinstance(t._storage.cell, core.Tracer):
        found = _of(t)
    return None if found is None or mesh_of(found.mesh).is_local else found


def _captured_part(
    t: Tensor, sharding: NamedSharding, mesh: DeviceMesh, grad_placements: Any
) -> Tensor:
    """Do ``to_local`` in a program that is being captured."""
    shape = tuple(t.shape)
    lying, sums = _back(t, sharding, mesh, grad_placements)
    if sums:
        _refuse_partial("to_local(grad_placements=...)")
    jax_mesh, given = side_of(sharding, shape)
    made = own_side(jax_mesh, sharding.shard_shape(shape))
    back = side_of(lying, shape)[1]
    there, again = TransferSpec(given, made, as_it_is), TransferSpec(made, back, as_it_is)
    return Transfer.apply(t, "to_local()", jax_mesh, there, again)


def _captured_whole(local: Tensor, sharding: NamedSharding, back: NamedSharding) -> Tensor:
    """Do ``from_local`` in a program that is being captured."""
    size = tuple(local.shape)
    shape = tuple(n * k for n, k in zip(size, pieces(sharding, len(size)), strict=True))
    mesh, made = side_of(sharding, shape)
    given = own_side(mesh, size)
    back_side = side_of(back, shape)[1]
    there, again = TransferSpec(given, made, as_it_is), TransferSpec(back_side, given, as_it_is)
    return Transfer.apply(local, "from_local()", mesh, there, again)


def _is_line_of_one(array: Any) -> bool:
    """Return whether an array lies on a mesh of one device among those of several processes: what
    is local goes with the process' ordinary tensors there."""
    sharding = getattr(array, "sharding", None)
    return (
        isinstance(sharding, NamedSharding) and sharding.mesh.size == 1 and jax.process_count() > 1
    )


def _refuse_partial(what: str) -> None:
    modes.the_capture().refuse(
        f"{what} of Partial on a mesh that spans processes", "all_reduce and Replicate()"
    )


def from_local(
    local: Tensor,
    mesh: DeviceMesh,
    placements: tuple[Any, ...],
    shape: Any,
    grad_placements: Any = None,
) -> tuple[Tensor, NamedSharding]:
    """Return (the tensor that the processes' parts make up, its sharding)."""
    if mesh.is_local:
        whole = tuple(local.shape)
        if shape is not None and tuple(shape) != whole:
            raise ValueError(
                f"from_local(shape={tuple(shape)}): this process holds the whole tensor, which is "
                f"of size {whole}"
            )
        sharding = sharding_for(placements, mesh, whole)
        return moved(local, sharding, _of(local)), sharding
    if shape is not None and not divides(placements, mesh, tuple(shape)):
        to = sharding_for(placements, mesh, tuple(shape))
        return of_parts(local, mesh, placements, to, tuple(shape)), to
    sums = sums_of(placements, mesh)
    sharding = _whole_sharding(placements, mesh, tuple(local.shape))
    back = sharding
    if grad_placements is not None:
        wanted = checked(grad_placements, mesh, local.dim())
        if any(isinstance(p, Partial) for p in wanted):
            raise NotImplementedError(
                "from_local(grad_placements=...) with Partial over processes: the gradient of the "
                "whole has no terms. Use Replicate()"
            )
        back = _whole_sharding(wanted, mesh, tuple(local.shape))
    if modes.is_capturing():
        if sums:
            _refuse_partial("from_local()")
        return _captured_whole(local, sharding, back), sharding
    return _FromLocal.apply(local, sharding, back, shape, sums), sharding


def _of(t: Tensor) -> NamedSharding | None:
    found = getattr(t._storage.cell, "sharding", None) if t._view is None else None
    return found if isinstance(found, NamedSharding) else None


def _whole_sharding(placements: Any, mesh: DeviceMesh, local: tuple[int, ...]) -> NamedSharding:
    # Of a size that surely divides: that of the whole is known once the parts are.
    return sharding_for(placements, mesh, tuple(n * mesh.jax_mesh.size for n in local))


def _of_parts(array: Any, sharding: NamedSharding, shape: Any) -> jax.Array:
    return jax.make_array_from_process_local_data(sharding, np.asarray(array), shape)
