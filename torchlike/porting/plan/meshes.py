"""Meshes of described devices, onto which a script puts its modules before its step is planned."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jax.sharding import PartitionSpec

from torchlike.distributed.device_mesh import DeviceMesh, described_mesh
from torchlike.porting.plan.leaves import Leaf, Rule
from torchlike.porting.plan.topologies import topology as topology_of


def device_mesh(topology: str, axes: Mapping[str, int]) -> DeviceMesh:
    """Return the devices of a topology as a mesh for ``fully_shard``, ``parallelize_module`` and
    kin.

    What is put onto it has to be on the meta device.

    Args:
      topology: as of ``torchlike.plan``: "v5e:4x4", "h100:8", ….
      axes: names and sizes of the mesh's dimensions; the size -1 stands for the devices that are
        left.

    Returns:
      the mesh; its devices compute nothing.

    Raises:
      ValueError: the topology is unknown, or the sizes do not fit it.
      ImportError: what compiles for it is not installed.

    Example:
      >>> from torchlike.porting.plan import device_mesh
      >>> device_mesh("v5e:4x4", {"data": -1, "model": 4}).shape
      (4, 4)
    """
    where = topology_of(topology)
    sizes = dict(axes)
    left = [name for name, n in sizes.items() if n == -1]
    if len(left) == 1:
        sizes[left[0]] = len(where.devices) // math.prod(n for n in sizes.values() if n != -1)
    return described_mesh(where.mesh(sizes), where.platform)


def as_placed(mesh: DeviceMesh) -> Rule:
    """Return the rule that leaves each parameter and its state as the script has put it onto the
    mesh, batches cut along the mesh's first dimension, everything else replicated.

    ValueError where that does not divide a batch.
    """
    first = mesh.jax_mesh.axis_names[0]
    n = mesh.jax_mesh.shape[first]

    def rule(leaf: Leaf) -> PartitionSpec | None:
        if leaf.kind not in ("batch", "random numbers") or not leaf.shape:
            return leaf.spec
        if leaf.shape[0] % n:
            if leaf.kind == "batch" and leaf.shape[0] > 1:
                raise ValueError(
                    f"{leaf.name} has the shape {list(leaf.shape)}, and the mesh dimension "
                    f"{first!r} of {n} does not divide its dimension 0"
                )
            return None
        return PartitionSpec(first)

    return rule
