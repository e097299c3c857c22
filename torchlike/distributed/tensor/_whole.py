"""``full_tensor``: all values of a DTensor as an ordinary tensor of this process.

Its gradient is this process' own, too: each process takes its parts of the gradient that it has,
unless ``grad_placements`` calls these gradients terms of a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike._runtime.mixed_operands import spans_processes
from torchlike.autograd.function import Function
from torchlike.distributed.collectives import all_reduce
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.groups import ProcessGroup
from torchlike.distributed.lent_meshes import lend
from torchlike.distributed.reductions import named
from torchlike.distributed.tensor import _transferred
from torchlike.distributed.tensor._moves import moved
from torchlike.distributed.tensor._specs import checked
from torchlike.distributed.tensor._storage import (
    OrdinaryStorage,
    in_own_memory,
    on_one_device,
    replicated,
)
from torchlike.distributed.tensor.placement_types import Partial, Replicate
from torchlike.tensor import Tensor, wrap

#: What is reduced before: over which group, and how.
Sums = tuple[tuple[Any, ProcessGroup], ...]


class _Whole(Function):
    """All values, in this process' memory. The gradient goes to where the values lay."""

    @staticmethod
    def forward(ctx: Any, t: Tensor, back: NamedSharding, sums: Sums) -> Tensor:
        ctx.back, ctx.sums = back, sums
        return wrap(on_one_device(replicated(t._read(), back)))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        return _InParts.apply(g, ctx.back, ctx.sums), None, None


class _InParts(Function):
    """A tensor that each process has whole, under a sharding, reduced over the groups in ``sums``
    before. Its gradient is whole in each process."""

    @staticmethod
    def forward(ctx: Any, whole: Tensor, to: NamedSharding, sums: Sums) -> Tensor:
        ctx.sharding = to
        return wrap(in_parts(summed(whole, sums)._value_now(), to))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        return _Whole.apply(moved(g, ctx.sharding), ctx.sharding, ()), None, None


def in_parts(array: Any, to: NamedSharding) -> jax.Array:
    """Put an array that each process has whole under a sharding; each makes its own parts."""
    if to.is_fully_addressable or spans_processes(array):
        return in_own_memory(array, to)
    values = np.asarray(array)
    return jax.make_array_from_callback(values.shape, to, lambda index: values[index])


def summed(t: Tensor, sums: Sums) -> Tensor:
    """Reduce a tensor of this process over groups, in a copy; ``t`` itself where there is none."""
    if sums:
        t = t.clone()
    for op, group in sums:
        all_reduce(t, op, group)
    return t


def sums_of(placements: Sequence[Any], mesh: DeviceMesh) -> Sums:
    """Return the reductions that the `Partial` among placements ask for: none where all is this
    process'."""
    if mesh.is_local:
        return ()
    return tuple(
        (named(p.reduce_op), mesh.get_group(i))
        for i, p in enumerate(placements)
        if isinstance(p, Partial)
    )


def _along_axes(given: Any, mesh: DeviceMesh, ndim: int) -> _transferred.Sums:
    """Return the same as collectives along axes of JAX's mesh."""
    if given is None:
        return ()
    placements = checked(given, mesh, ndim)
    return tuple(
        (named(p.reduce_op).name, axes, mesh.size(i))
        for i, (p, axes) in enumerate(zip(placements, mesh.axes, strict=True))
        if isinstance(p, Partial) and mesh.size(i) > 1
    )


def full_tensor(
    t: Tensor, sharding: NamedSharding | None, mesh: DeviceMesh, grad_placements: Any = None
) -> Tensor:
    """Gather all values of a tensor on a mesh, as ``DTensor.full_tensor`` has it. ``sharding``:
    None for a result inside a program that is being captured.

    NotImplementedError for `Shard` among ``grad_placements``.
    """
    sums: Sums = ()
    if grad_placements is not None:
        wanted = checked(grad_placements, mesh, t.dim())
        if not all(isinstance(p, (Replicate, Partial)) for p in wanted):
            raise NotImplementedError(
                f"full_tensor(grad_placements={wanted}): the gradient of a whole tensor is whole "
                "in each process. Use Replicate(), or Partial() where it is a term of a sum"
            )
        sums = sums_of(wanted, mesh)
    capturing = modes.is_capturing()
    if not capturing and not modes.current.levels and sharding is not None:
        return _Whole.apply(t, sharding, sums)
    if capturing:
        transferred = _transferred.whole(t, sharding, _along_axes(grad_placements, mesh, t.dim()))
        if transferred is not None:
            return transferred
    if sums:
        modes.running_capture().refuse(
            "full_tensor(grad_placements=Partial()) of a mesh that spans processes with several "
            "devices each",
            "full_tensor(), whose gradient in a program is that of the whole",
        )
    found = moved(t, NamedSharding(mesh.jax_mesh, PartitionSpec()), sharding)
    if capturing:
        found._storage = OrdinaryStorage(found._storage.cell)
        lend(mesh.jax_mesh)
    return found
