"""Tensors on the other side of a transfer, in programs over processes, with gradients that come
back."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike.autograd.function import Function
from torchlike.distributed.groups import get_world_size, is_initialized
from torchlike.distributed.reductions import reduced
from torchlike.distributed.scoped_programs import mesh_of_those, transfer
from torchlike.distributed.tensor._moves import moved
from torchlike.distributed.transfers import Body, Side, own_side, shared, side_of
from torchlike.tensor import Tensor, wrap

#: What is reduced: how, along which axes of the mesh, of how many processes.
Sums = tuple[tuple[str, tuple[str, ...], int], ...]


class TransferSpec(NamedTuple):
    """How a value lies before and after a transfer, and what a process does with its part."""

    before: Side
    after: Side
    body: Body


def as_it_is(x: Any, met: bool) -> tuple[Any, ...]:
    """Return the part that a process has: it is what the process gets."""
    return (x,)


class Transfer(Function):
    """A tensor on the other side of a transfer, whose gradient comes ``back``."""

    @staticmethod
    def forward(
        ctx: Any, t: Tensor, name: str, mesh: Mesh, there: TransferSpec, back: TransferSpec
    ) -> Tensor:
        ctx.name, ctx.mesh, ctx.back = name, mesh, back
        return Transfer.across(t, name, mesh, there)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        found = Transfer.across(g, f"the gradient of {ctx.name}", ctx.mesh, ctx.back)
        return found, None, None, None, None

    @staticmethod
    def across(t: Tensor, name: str, mesh: Mesh, way: TransferSpec) -> Tensor:
        (found,) = transfer(
            modes.the_capture(),
            mesh,
            name,
            [t._read()],
            way.body,
            [way.before],
            [way.after],
            [t.dtype.numpy],
        )
        return wrap(found)


def whole(t: Tensor, sharding: NamedSharding | None, sums: Sums) -> Tensor | None:
    """Do ``full_tensor`` in a program over processes, each of which has one device: all values,
    each process' own. Its gradient is each process' own, too, reduced by ``sums`` before, and cut
    as ``sharding`` says where that is known. None where the program is no such."""
    found = shared(t)
    if (
        found is None
        or not _is_of_processes(found.mesh)
        or any(a not in found.mesh.axis_names for _, axes, _ in sums for a in axes)
    ):
        return None
    mesh, shape = found.mesh, tuple(t.shape)
    replicated = NamedSharding(mesh_of_those(mesh, found.own), PartitionSpec())
    lies = PartitionSpec() if sharding is None else side_of(sharding, shape)[1].spec
    own = own_side(mesh, shape)

    def back(x: Any, met: bool) -> tuple[Any, ...]:
        for op, axes, size in sums:
            x = reduced(x, op, axes, size)
        return (_own_part(x, lies, mesh),)

    there = TransferSpec(Side(found.own, PartitionSpec(), shape), own, as_it_is)
    gathered = moved(t, replicated, sharding)
    return Transfer.apply(
        gathered,
        "full_tensor()",
        mesh,
        there,
        TransferSpec(own, Side(found.own, lies, shape), back),
    )


def _own_part(x: Any, spec: PartitionSpec, mesh: Mesh) -> Any:
    """Cut a process' part out of what each has whole."""
    for d, entry in enumerate(spec):
        axes = (entry,) if isinstance(entry, str) else tuple(entry or ())
        n = math.prod(mesh.shape[a] for a in axes)
        if n > 1:
            size = x.shape[d] // n
            x = lax.dynamic_slice_in_dim(x, lax.axis_index(axes) * size, size, d)
    return x


def _is_of_processes(mesh: Mesh) -> bool:
    """Return whether a mesh has one device of each of several processes of the world."""
    processes = {d.process_index for d in mesh.devices.flat}
    return is_initialized() and get_world_size() > 1 and len(processes) == mesh.size > 1
