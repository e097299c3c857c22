"""What is *local* to a process: decided here, for ``from_local``, ``to_local``, ``full_tensor``.

Local is what this process holds. Where all devices of the mesh are its own, that is the whole
tensor: ``to_local`` gives a tensor on the same memory, ``from_local`` takes the whole, and a sum of
the terms of this one process (`Partial`) is the term itself, so its placement becomes `Replicate`.
A collective over ``mesh.get_group()``, which has one member, changes nothing then, and a script
gets the numbers that it gets from many processes. Where a mesh spans processes, local is the part
that this process' devices hold, which has to be one rectangle.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import core
from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike._core.tensor import Tensor, wrap
from torchlike._ops.shape.views.aliasing import alias
from torchlike._runtime.first_calls.internals import internals
from torchlike._runtime.transfer import to_device
from torchlike.autograd.function import Function
from torchlike.distributed.collectives import all_reduce
from torchlike.distributed.crossings import Side, own_side, side_of
from torchlike.distributed.device_mesh import DeviceMesh, mesh_of
from torchlike.distributed.reductions import ReduceOp, named
from torchlike.distributed.scoped_programs import cross
from torchlike.distributed.tensor._moves import moved
from torchlike.distributed.tensor._specs import checked, pieces, sharding_for
from torchlike.distributed.tensor._storage import PlacedStorage
from torchlike.distributed.tensor.placement_types import Partial


class _ToLocal(Function):
    """This process' part; the gradients of all processes' parts are the whole's."""

    @staticmethod
    def forward(ctx: Any, t: Tensor, back: NamedSharding) -> Tensor:
        ctx.back, ctx.shape = back, tuple(t.shape)
        return wrap(_own_part(t._read()))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        return wrap(_of_parts(g._read(), ctx.back, ctx.shape)), None


class _FromLocal(Function):
    """The whole that the processes' parts make up; each gets its part of the gradient. Terms are
    summed over the groups in ``sums``, and each term has the gradient of the sum."""

    @staticmethod
    def forward(
        ctx: Any, local: Tensor, sharding: NamedSharding, back: NamedSharding, shape: Any, sums: Any
    ) -> Tensor:  # fmt: skip
        ctx.back, ctx.count = back, 1
        if sums:
            local = local.clone()
        for op, group in sums:
            all_reduce(local, op, group)
            ctx.count *= group.size() if op is ReduceOp.AVG else 1
        return wrap(_of_parts(local._read(), sharding, shape))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        own = wrap(_own_part(moved(g.detach(), ctx.back)._read()))
        return own if ctx.count == 1 else own / ctx.count, None, None, None, None


def to_local(t: Tensor, grad_placements: Any = None) -> Tensor:
    """What this process holds, on the same memory where that is everything. NotImplementedError for
    `Partial` gradients across processes."""
    array = t._storage.cell
    lying = _of_placed(t)
    if lying is not None and modes.current.capture is not None:
        return _captured_part(t, lying, grad_placements)
    if isinstance(array, core.Tracer) or (
        getattr(array, "is_fully_addressable", True) and not _is_line_of_one(array)
    ):
        return alias(t)
    sharding = _of(t) or t._read().sharding
    return _ToLocal.apply(t, _back(t, sharding, grad_placements))


def _back(t: Tensor, sharding: NamedSharding, grad_placements: Any) -> NamedSharding:
    """Where the gradient of a DTensor that is cut by ``to_local`` lies."""
    if grad_placements is None:
        return sharding
    mesh = mesh_of(sharding.mesh)
    wanted = checked(grad_placements, mesh, t.dim())
    _refuse_partial(wanted, "to_local(grad_placements=...)")
    return sharding_for(wanted, mesh, tuple(t.shape))


def _of_placed(t: Tensor) -> NamedSharding | None:
    """The sharding of a tensor on a mesh that spans processes, also of a result in a program that
    is being captured, where it was laid out."""
    found = None
    if t._view is None and isinstance(t._storage, PlacedStorage):
        found = t._storage.sharding
    elif not isinstance(t._storage.cell, core.Tracer):
        found = _of(t)
    return None if found is None or mesh_of(found.mesh).is_local else found


class _Crossed(Function):
    """A tensor on the other side of a crossing, whose gradient comes ``back``: from where, to
    where."""

    @staticmethod
    def forward(ctx: Any, t: Tensor, name: str, mesh: Any, given: Any, made: Any,
                back: Any) -> Tensor:  # fmt: skip
        ctx.name, ctx.mesh, ctx.back = name, mesh, back
        return _Crossed.across(t, name, mesh, given, made)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        found = _Crossed.across(g, f"the gradient of {ctx.name}", ctx.mesh, *ctx.back)
        return found, None, None, None, None, None

    @staticmethod
    def across(t: Tensor, name: str, mesh: Any, given: Side, made: Side) -> Tensor:
        (found,) = cross(
            modes.current.capture, mesh, name, [t._read()], lambda x, met: (x,), [given], [made],
            [t.dtype.numpy],
        )  # fmt: skip
        return wrap(found)


def _captured_part(t: Tensor, sharding: NamedSharding, grad_placements: Any) -> Tensor:
    """``to_local`` in a program that is being captured."""
    shape = tuple(t.shape)
    mesh, given = side_of(sharding, shape)
    made = own_side(mesh, sharding.shard_shape(shape))
    back = side_of(_back(t, sharding, grad_placements), shape)[1]
    return _Crossed.apply(t, "to_local()", mesh, given, made, (made, back))


def _captured_whole(local: Tensor, sharding: NamedSharding, back: NamedSharding) -> Tensor:
    """``from_local`` there."""
    size = tuple(local.shape)
    shape = tuple(n * k for n, k in zip(size, pieces(sharding, len(size)), strict=True))
    mesh, made = side_of(sharding, shape)
    given = own_side(mesh, size)
    back_side = side_of(back, shape)[1]
    return _Crossed.apply(local, "from_local()", mesh, given, made, (back_side, given))


def _is_line_of_one(array: Any) -> bool:
    """Whether an array lies on a mesh of one device among those of several processes: what is local
    goes with the process' ordinary tensors there."""
    sharding = getattr(array, "sharding", None)
    return (
        isinstance(sharding, NamedSharding) and sharding.mesh.size == 1 and jax.process_count() > 1
    )


def _refuse_partial(placements: Any, what: str) -> None:
    if any(isinstance(p, Partial) for p in placements):
        raise NotImplementedError(
            f"{what} with Partial over processes: all_reduce the gradient, and Replicate()"
        )


def from_local(
    local: Tensor,
    mesh: DeviceMesh,
    placements: tuple[Any, ...],
    shape: Any,
    grad_placements: Any = None,
) -> tuple[Tensor, NamedSharding]:
    """(the tensor that the processes' parts make up, its sharding)."""
    if mesh.is_local:
        whole = tuple(local.shape)
        if shape is not None and tuple(shape) != whole:
            raise ValueError(
                f"from_local(shape={tuple(shape)}): this process holds the whole tensor, which is "
                f"of size {whole}"
            )
        sharding = sharding_for(placements, mesh, whole)
        return moved(local, sharding, _of(local)), sharding
    sums = [(named(p.reduce_op), mesh.get_group(i))
            for i, p in enumerate(placements) if isinstance(p, Partial)]  # fmt: skip
    sharding = _whole_sharding(placements, mesh, tuple(local.shape))
    back = sharding
    if grad_placements is not None:
        wanted = checked(grad_placements, mesh, local.dim())
        _refuse_partial(wanted, "from_local(grad_placements=...)")
        back = _whole_sharding(wanted, mesh, tuple(local.shape))
    if modes.current.capture is not None:
        if sums:
            modes.current.capture.refuse(
                "from_local() of Partial on a mesh that spans processes",
                "all_reduce and Replicate()",
            )
        return _captured_whole(local, sharding, back), sharding
    found = _FromLocal.apply(local, sharding, back, shape, sums)
    sharding_for(placements, mesh, tuple(found.shape))
    return found, sharding


def _of(t: Tensor) -> NamedSharding | None:
    found = getattr(t._storage.cell, "sharding", None) if t._view is None else None
    return found if isinstance(found, NamedSharding) else None


def _whole_sharding(placements: Any, mesh: DeviceMesh, local: tuple[int, ...]) -> NamedSharding:
    # Of a size that surely divides: that of the whole is known once the parts are.
    return sharding_for(placements, mesh, tuple(n * mesh.jax_mesh.size for n in local))


def _of_parts(array: Any, sharding: NamedSharding, shape: Any) -> jax.Array:
    return jax.make_array_from_process_local_data(sharding, np.asarray(array), shape)


def full_tensor(t: Tensor) -> Tensor:
    """All values, on the first of this process' devices; while a program is captured, on each."""
    sharding = _of(t) or getattr(t._read(), "sharding", None)
    if not isinstance(sharding, NamedSharding):
        return alias(t)
    whole = NamedSharding(sharding.mesh, PartitionSpec())
    found = moved(t, whole, sharding)
    if modes.current.capture is not None or found._node is not None:
        return found
    return wrap(on_one_device(found._read()))


def on_one_device(array: jax.Array) -> jax.Array:
    """A replicated array as an ordinary one, in memory of its own: uncommitted, so that it goes
    with any other."""
    own = array.addressable_shards[0].data
    device = next(iter(own.sharding.device_set))
    if device.platform == "cpu":
        return to_device(np.array(own))
    single = jax.sharding.SingleDeviceSharding(device)
    aval = core.ShapedArray(array.shape, array.dtype)
    copied = jax.numpy.array(own, copy=True)
    return internals.put(aval, single, [copied], [device], False)


def _own_part(array: jax.Array) -> jax.Array:
    """The rectangle that this process' devices hold. NotImplementedError where it is none."""
    shards: dict[tuple[tuple[int, int], ...], Any] = {}
    for s in array.addressable_shards:
        where = tuple(i.indices(n)[:2] for i, n in zip(s.index, array.shape, strict=True))
        shards[where] = s.data
    low = [min(w[d][0] for w in shards) for d in range(array.ndim)]
    high = [max(w[d][1] for w in shards) for d in range(array.ndim)]
    found = np.empty([b - a for a, b in zip(low, high, strict=True)], array.dtype)
    if sum(data.size for data in shards.values()) != found.size:
        raise NotImplementedError("to_local() where this process' parts are no rectangle")
    for where, data in shards.items():
        place = tuple(slice(a - at, b - at) for (a, b), at in zip(where, low, strict=True))
        found[place] = np.asarray(data)
    return to_device(found)
