"""Placements as shardings and back: ``Shard(i)`` is an axis of JAX's mesh in dimension ``i``.

``PartitionSpec(("tp", "dp"),)`` cuts dimension 0 along ``tp`` first and each part along ``dp``.
Where that is not the order of the mesh's dimensions, PyTorch calls the later cut strided.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from jax.sharding import NamedSharding, PartitionSpec

from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
    _StridedShard,
)


def checked(
    placements: Sequence[Placement] | None, mesh: DeviceMesh, ndim: int
) -> tuple[Placement, ...]:
    """Return the placements after a check, one for each dimension of the mesh, with dimensions
    counted from the front; all replicated where none are given. ValueError where their number does
    not fit."""
    if placements is None:
        return (Replicate(),) * mesh.ndim
    given = tuple(placements)
    if len(given) != mesh.ndim:
        raise ValueError(
            "`placements` must have the same length as `device_mesh.ndim`! "
            f"Found placements length: {len(given)}, and device_mesh.ndim: {mesh.ndim}."
        )
    return tuple([_from_the_front(p, ndim) for p in given])


def _from_the_front(p: Placement, ndim: int) -> Placement:
    if isinstance(p, (Shard, _StridedShard)):
        if not -ndim <= p.dim < ndim:
            raise IndexError(f"{p!r} of a tensor of {ndim} dimensions")
        dim = p.dim % ndim
        return Shard(dim) if isinstance(p, Shard) else _StridedShard(dim, p.split_factor)
    if not isinstance(p, (Replicate, Partial)):
        raise RuntimeError(f"Trying to distribute tensor with unsupported placements {p!r}")
    return p


def sharding_for(
    placements: Sequence[Placement], mesh: DeviceMesh, shape: tuple[int, ...]
) -> NamedSharding:
    """Return JAX's sharding of checked placements. `Partial` counts as replicated, and so does a
    cut of a dimension that does not divide by the devices along it: see ``_declared``."""
    sharding = _sharding(tuple(placements), mesh, len(shape))
    parts = pieces(sharding, len(shape))
    if all(size % n == 0 for size, n in zip(shape, parts, strict=True)):
        return sharding
    uneven = {dim for dim, n in enumerate(parts) if shape[dim] % n}
    even = [
        Replicate() if isinstance(p, (Shard, _StridedShard)) and p.dim in uneven else p
        for p in placements
    ]
    return _sharding(tuple(even), mesh, len(shape))


def equally_cut(
    placements: Sequence[Placement], mesh: DeviceMesh, shape: tuple[int, ...]
) -> NamedSharding:
    """Return JAX's sharding of checked placements. ValueError where a dimension does not divide by
    the devices along it, naming both."""
    for dim, n in enumerate(pieces(_sharding(tuple(placements), mesh, len(shape)), len(shape))):
        if shape[dim] % n:
            raise ValueError(
                f"dimension {dim} of a tensor of size {list(shape)} cannot be cut into {n} equal "
                f"parts, as {tuple(placements)} over {mesh} asks: pad the tensor, or shard another "
                "dimension"
            )
    return sharding_for(placements, mesh, shape)


def divides(placements: Sequence[Placement], mesh: DeviceMesh, shape: tuple[int, ...]) -> bool:
    """Return whether every dimension divides by the devices along it."""
    parts = pieces(_sharding(tuple(placements), mesh, len(shape)), len(shape))
    return all(size % n == 0 for size, n in zip(shape, parts, strict=True))


@functools.cache
def _sharding(placements: tuple[Placement, ...], mesh: DeviceMesh, ndim: int) -> NamedSharding:
    entries: list[list[str]] = [[] for _ in range(ndim)]
    sizes = mesh.jax_mesh.shape
    # From the last dimension of the mesh to the first: each axis goes before those of later ones,
    # a strided one behind as many of them as it is strided over.
    for p, axes in reversed(list(zip(placements, mesh.axes, strict=True))):
        if not isinstance(p, (Shard, _StridedShard)):
            continue
        entry, at = entries[p.dim], 0
        factor = p.split_factor if isinstance(p, _StridedShard) else 1
        while math.prod(sizes[a] for a in entry[:at]) < factor and at < len(entry):
            at += 1
        if math.prod(sizes[a] for a in entry[:at]) != factor:
            raise ValueError(f"{p!r} is strided over no dimensions of {mesh} with {placements}")
        entry[at:at] = axes
    spec = PartitionSpec(*[tuple(e) if len(e) > 1 else e[0] if e else None for e in entries])
    return NamedSharding(mesh.jax_mesh, spec)


def entries_of(sharding: NamedSharding, ndim: int) -> list[tuple[str, ...]]:
    """Return the axes of JAX's mesh along which each dimension is cut."""
    given = [(e,) if isinstance(e, str) else tuple(e or ()) for e in sharding.spec]
    return given + [()] * (ndim - len(given))


def pieces(sharding: NamedSharding, ndim: int) -> list[int]:
    """Return the number of parts in which each dimension is cut."""
    sizes = sharding.mesh.shape
    return [math.prod(sizes[a] for a in axes) for axes in entries_of(sharding, ndim)]


def placements_of(sharding: NamedSharding, mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    """Return a sharding's placements along the dimensions of a mesh or of a slice of it."""
    return _placements(sharding.spec, mesh, ndim)


@functools.cache
def _placements(spec: Any, mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    sizes = mesh.jax_mesh.shape
    order = {a: i for i, axes in enumerate(mesh.axes) for a in axes}
    entries = entries_of(NamedSharding(mesh.jax_mesh, spec), ndim)
    found: list[Placement] = []
    for i, axes in enumerate(mesh.axes):
        dim = next((d for d, e in enumerate(entries) if axes[0] in e), None)
        if dim is None:
            found.append(Replicate())
            continue
        before = entries[dim][: entries[dim].index(axes[0])]
        factor = math.prod(sizes[a] for a in before if order.get(a, -1) > i)
        found.append(Shard(dim) if factor == 1 else _StridedShard(dim, factor))
    return tuple(found)
