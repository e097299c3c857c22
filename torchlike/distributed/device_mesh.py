"""``init_device_mesh``: the devices of a world of one process, as an array of one."""

from __future__ import annotations

from typing import Any

from torchlike._core.tensor import Tensor
from torchlike._ops.creation.creation import tensor
from torchlike.distributed.groups import ProcessGroup, init_process_group, is_initialized, new_group


class DeviceMesh:
    """An array of ranks, each dimension with a name; here every dimension is of length 1."""

    def __init__(
        self, device_type: str, mesh: Any, *, mesh_dim_names: tuple[str, ...] | None = None
    ) -> None:
        self.device_type = device_type
        self.mesh = mesh if isinstance(mesh, Tensor) else tensor(mesh)
        if self.mesh.numel() != 1:
            raise RuntimeError(
                f"Mesh should not be bigger than default world size 1, but found "
                f"{self.mesh.numel()} ranks!"
            )
        self.mesh_dim_names = mesh_dim_names

    @property
    def ndim(self) -> int:
        """How many dimensions the mesh has."""
        return self.mesh.dim()

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, or along one dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.shape[mesh_dim]

    def get_rank(self) -> int:
        """0."""
        return 0

    def get_local_rank(self, mesh_dim: Any = None) -> int:
        """0."""
        return 0

    def get_coordinate(self) -> list[int]:
        """Where this process is."""
        return [0] * self.ndim

    def get_group(self, mesh_dim: Any = None) -> ProcessGroup:
        """The processes along a dimension."""
        return new_group([0])

    def __getitem__(self, names: Any) -> DeviceMesh:
        wanted = (names,) if isinstance(names, str) else tuple(names)
        known = self.mesh_dim_names or ()
        for name in wanted:
            if name not in known:
                raise KeyError(f"Invalid mesh_dim_name {wanted} specified. Valid are {known}.")
        part = self.mesh.reshape((1,) * len(wanted))
        return DeviceMesh(self.device_type, part, mesh_dim_names=wanted)

    def __repr__(self) -> str:
        return f"DeviceMesh({self.shape}, '{self.device_type}')"


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *,
    mesh_dim_names: tuple[str, ...] | None = None,
) -> DeviceMesh:  # fmt: skip
    """A mesh of the given shape; begins the world if there is none.

    RuntimeError for a shape of more than one process, or names that do not fit it.
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(f"Each mesh_dim_name must be unique. Found {mesh_dim_names}")
        if len(mesh_dim_names) != len(mesh_shape):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! Found "
                f"len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}."
            )
    if not is_initialized():
        init_process_group()
    count = 1
    for n in mesh_shape:
        count *= n
    return DeviceMesh(
        device_type, tensor(range(count)).reshape(mesh_shape), mesh_dim_names=mesh_dim_names
    )
