"""Where in a tensor the part of this process' first device lies."""

from __future__ import annotations

from collections.abc import Sequence

import jax

from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.tensor._declared import box
from torchlike.distributed.tensor._specs import checked, divides, sharding_for
from torchlike.distributed.tensor.placement_types import Placement


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: DeviceMesh, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return (size, start) of the part that the first of this process' devices holds.

    RuntimeError where no device is this process'.
    """
    shape = tuple(global_shape)
    wanted = checked(placements, mesh, len(shape))
    here = mesh.get_coordinate()
    if here is not None and not divides(wanted, mesh, shape):
        return box(shape, mesh, wanted, here)
    sharding = sharding_for(wanted, mesh, shape)
    own = jax.process_index()
    device = next((d for d in mesh.jax_mesh.devices.flat if d.process_index == own), None)
    if device is None:
        raise RuntimeError("this process has no device in the mesh")
    index = sharding.devices_indices_map(shape)[device]
    ranges = [range(*i.indices(n)) for i, n in zip(index, shape, strict=True)]
    return tuple(map(len, ranges)), tuple(r.start for r in ranges)
