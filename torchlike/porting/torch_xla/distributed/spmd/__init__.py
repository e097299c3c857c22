"""``torch_xla.distributed.spmd``, usually ``xs``: shardings, as JAX's NamedSharding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from torchlike.distributed.lent_meshes import lend
from torchlike.porting.torch_xla._absent import absent
from torchlike.tensor import Tensor

__getattr__ = absent("torch_xla.distributed.spmd")


class Mesh:
    """Devices by number, in a shape with named axes."""

    def __init__(
        self, device_ids: Any, mesh_shape: Sequence[int], axis_names: Sequence[str] | None = None
    ) -> None:
        names = tuple(axis_names or (f"axis_{i}" for i in range(len(mesh_shape))))
        ids = np.asarray(device_ids).reshape(-1)
        if math.prod(mesh_shape) != len(ids) or len(names) != len(mesh_shape):
            raise ValueError(
                f"a mesh of shape {tuple(mesh_shape)} with axes {names} for {len(ids)} devices"
            )
        self.device_ids, self.mesh_shape, self.axis_names = ids, tuple(mesh_shape), names

    def shape(self) -> dict[str, int]:
        """Return the sizes by axis."""
        return dict(zip(self.axis_names, self.mesh_shape, strict=True))

    def size(self) -> int:
        """Return how many devices there are."""
        return len(self.device_ids)

    def to_jax(self) -> jax.sharding.Mesh:
        """Return the mesh as JAX's."""
        devices = np.array(jax.devices())[self.device_ids].reshape(self.mesh_shape)
        kinds = (AxisType.Auto,) * len(self.axis_names)
        return jax.sharding.Mesh(devices, self.axis_names, axis_types=kinds)


@dataclass(frozen=True)
class ShardingSpec:
    """How tensors of as many dimensions as ``partition_spec`` has are laid out over a mesh.

    ``minibatch``, of batches that each process loads a part of, changes nothing: there is one.
    """

    mesh: Mesh
    partition_spec: Sequence[Any]
    minibatch: bool = False

    def can_apply(self, t: Tensor) -> bool:
        """Return whether a tensor has these dimensions."""
        return t.dim() == len(self.partition_spec)

    def apply(self, t: Tensor) -> None:
        """Do ``mark_sharding`` of a tensor."""
        mark_sharding(t, self.mesh, self.partition_spec)


_meshes: list[Mesh] = []


def set_global_mesh(mesh: Mesh) -> None:
    """Set the mesh of code that names none."""
    _meshes[:] = [mesh]


def get_global_mesh() -> Mesh | None:
    """Return the mesh that ``set_global_mesh`` was given; None before."""
    return _meshes[0] if _meshes else None


def mark_sharding(t: Tensor, mesh: Mesh, partition_spec: Sequence[Any]) -> Tensor:
    """Lay a tensor out over a mesh: for each dimension an axis (name, number, or several of them),
    or None. What is computed from it is partitioned by XLA.

    ValueError where the dimensions do not match; NotImplementedError for a view.
    """
    if len(partition_spec) != t.dim():
        raise ValueError(
            f"the partition spec {tuple(partition_spec)} is for {len(partition_spec)} dimensions, "
            f"the tensor has {t.dim()}"
        )
    if t._view is not None:
        raise NotImplementedError("mark_sharding of a view: of its base, or of a clone()")

    def named(axis: Any) -> str | tuple[Any, ...] | None:
        if isinstance(axis, (tuple, list)):
            return tuple(map(named, axis))
        return mesh.axis_names[axis] if isinstance(axis, int) else axis

    spec = PartitionSpec(*map(named, partition_spec))
    array = jax.device_put(t._storage.concrete(), NamedSharding(mesh.to_jax(), spec))
    lend(array.sharding.mesh)  # it is no DTensor there
    t._storage.cell, t._storage.host = array, None
    return t
