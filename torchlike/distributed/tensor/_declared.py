"""Placements that no sharding of JAX's has: parts of unequal length. (Terms are ``_terms``'s.)

JAX cuts a dimension into equal parts or not at all. A tensor of 5 on two processes lies where its
other dimensions put it, here whole in both, and its storage remembers the placements that it was
given (`PlacedStorage.declared`): ``placements`` says them, ``to_local`` gives the part that PyTorch
would, 3 elements and 2, and the gradient comes back from such parts. All else works on the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike._extensions.meta import MetaArray
from torchlike._runtime.transfer import to_device
from torchlike.autograd.function import Function
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.tensor._moves import moved
from torchlike.distributed.tensor._specs import divides
from torchlike.distributed.tensor._storage import PlacedStorage
from torchlike.distributed.tensor._terms import OwnTerm, terms_of
from torchlike.distributed.tensor._whole import in_parts
from torchlike.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Shard,
    _StridedShard,
)
from torchlike.tensor import Tensor, wrap

Declared = tuple[Placement, ...] | None


def declared(placements: Sequence[Placement], mesh: DeviceMesh, shape: tuple[int, ...]) -> Declared:
    """Return what a storage has to remember of checked placements: None where the sharding says it
    all. NotImplementedError for a strided cut into unequal parts."""
    wanted = tuple(placements)
    if divides(wanted, mesh, shape):
        return None
    if any(isinstance(p, _StridedShard) for p in wanted):
        raise NotImplementedError(
            f"{wanted} of a tensor of size {list(shape)}: a strided cut into unequal parts. Cut it "
            "along one dimension of the mesh, or pad it"
        )
    return wanted


def declared_of(t: Tensor) -> Declared:
    """Return a tensor's placements where no sharding says them; of a view those with `Partial`
    alone."""
    storage = t._storage
    if not isinstance(storage, PlacedStorage) or t._view is None:
        return getattr(storage, "declared", None)
    terms = terms_of(t)
    return None if terms is None else terms[1]


def box(
    shape: tuple[int, ...], mesh: DeviceMesh, placements: Sequence[Placement], at: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return (size, start) of the part at coordinates of a mesh, cut as ``torch.chunk`` cuts."""
    size, start = list(shape), [0] * len(shape)
    for p, n, i in zip(placements, mesh.shape, at, strict=True):
        if isinstance(p, Shard):
            size[p.dim], begin = Shard.local_shard_size_and_offset(size[p.dim], n, i)
            start[p.dim] += begin
    return tuple(size), tuple(start)


def _own_box(
    shape: tuple[int, ...], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[slice, ...]:
    at = mesh.get_coordinate()
    if (
        at is None
        or len({d.process_index for d in mesh.jax_mesh.devices.flat}) < mesh.jax_mesh.size
    ):
        raise NotImplementedError(
            "the local part of a tensor in unequal parts, where the processes of its mesh have "
            "several devices each or none: use full_tensor()"
        )
    size, start = box(shape, mesh, placements, at)
    return tuple(slice(a, a + n) for n, a in zip(size, start, strict=True))


class _OwnPart(Function):
    """This process' part of a tensor in unequal parts."""

    @staticmethod
    def forward(
        ctx: Any, t: Tensor, mesh: DeviceMesh, placements: Sequence[Placement], back: NamedSharding
    ) -> Tensor:
        ctx.given = mesh, placements, back, tuple(t.shape)
        whole = jax.device_put(t._read(), NamedSharding(mesh.jax_mesh, PartitionSpec()))
        own = _own_box(tuple(t.shape), mesh, placements)
        return wrap(to_device(np.array(whole.addressable_data(0))[own]))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        mesh, placements, back, shape = ctx.given
        return _OfParts.apply(g, mesh, placements, back, shape), None, None, None


class _OfParts(Function):
    """The tensor that the processes' unequal parts make up, under a sharding."""

    @staticmethod
    def forward(
        ctx: Any,
        local: Tensor,
        mesh: DeviceMesh,
        placements: Sequence[Placement],
        to: NamedSharding,
        shape: tuple[int, ...],
    ) -> Tensor:
        ctx.given = mesh, placements, to
        return wrap(in_parts(_together(np.asarray(local._read()), mesh, placements, shape), to))

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        mesh, placements, to = ctx.given
        return _OwnPart.apply(moved(g, to), mesh, placements, to), None, None, None, None


def _together(
    own: np.ndarray, mesh: DeviceMesh, placements: Sequence[Placement], shape: tuple[int, ...]
) -> np.ndarray:
    """Gather the parts of all processes, each padded to the length of the longest."""
    wanted = tuple(s.stop - s.start for s in _own_box(shape, mesh, placements))
    if own.shape != wanted:
        raise ValueError(
            f"from_local(shape={shape}): this process' part under {tuple(placements)} is of size "
            f"{wanted}, not {own.shape}"
        )
    longest, _ = box(shape, mesh, placements, (0,) * mesh.ndim)
    padded = np.zeros((1, *longest), own.dtype)
    padded[(0, *map(slice, wanted))] = own
    axes = tuple(mesh.jax_mesh.axis_names)
    line = NamedSharding(mesh.jax_mesh, PartitionSpec(axes))
    parts = jax.make_array_from_process_local_data(line, padded)
    held = np.asarray(
        jax.device_put(parts, NamedSharding(mesh.jax_mesh, PartitionSpec())).addressable_data(0)
    )
    found = np.zeros(shape, own.dtype)
    sizes = tuple(mesh.jax_mesh.shape.values())
    for i, part in enumerate(held):
        of_axis = dict(zip(axes, np.unravel_index(i, sizes), strict=True))
        at = [
            int(
                np.ravel_multi_index(
                    [of_axis[a] for a in own], [mesh.jax_mesh.shape[a] for a in own]
                )
            )
            for own in mesh.axes
        ]
        size, start = box(shape, mesh, placements, at)
        target = tuple(slice(a, a + n) for n, a in zip(size, start, strict=True))
        found[target] = part[tuple(map(slice, size))]
    return found


def _refuse_captured(what: str, placements: Sequence[Placement]) -> None:
    if modes.is_capturing():
        modes.the_capture().refuse(
            f"{what} of unequal parts or terms, {tuple(placements)}",
            "full_tensor(), sizes that divide, or the call outside of the compiled function",
        )


def own_part(t: Tensor, mesh: DeviceMesh, placements: Sequence[Placement]) -> Tensor:
    """Do ``to_local`` of a tensor on a mesh that spans processes, by declared placements."""
    if t.is_meta:
        size = [s.stop - s.start for s in _own_box(tuple(t.shape), mesh, placements)]
        return wrap(MetaArray(tuple(size), t.dtype.numpy))
    _refuse_captured("to_local()", placements)
    terms = terms_of(t)
    if terms is not None:
        return OwnTerm.apply(t, terms, mesh)
    storage: Any = t._storage
    return _OwnPart.apply(t, mesh, tuple(placements), storage.sharding)


def of_parts(
    local: Tensor,
    mesh: DeviceMesh,
    placements: Sequence[Placement],
    to: NamedSharding,
    shape: tuple[int, ...],
) -> Tensor:
    """Do ``from_local`` of parts that are unequal. ValueError for one of another size than the
    placements give it, NotImplementedError with `Partial` among them."""
    if any(isinstance(p, Partial) for p in placements):
        raise NotImplementedError(
            f"from_local() of {tuple(placements)} in unequal parts: all_reduce() the terms first, "
            "and use Replicate()"
        )
    _refuse_captured("from_local()", placements)
    return _OfParts.apply(local, mesh, tuple(placements), to, shape)
