"""``DeviceMesh``: the devices that arrays lie on, as an array with a name for each dimension.

A rank of a mesh is a *device*, in the order of ``jax.devices()``. Where one process has several
devices, a mesh spans them and the world stays one process; where each process has one device, the
mesh spans the processes.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from torchlike._core import devices
from torchlike._ops.creation.from_data import tensor
from torchlike.distributed import mixed_operands
from torchlike.distributed.groups import (
    ProcessGroup,
    get_process_group_ranks,
    get_rank,
    init_process_group,
    is_initialized,
    new_group,
)
from torchlike.distributed.stores import HashStore
from torchlike.tensor import Tensor

__all__ = ["DeviceMesh", "init_device_mesh"]


class _ActiveMeshes(threading.local):
    """The meshes that this thread is ``with``, innermost last."""

    def __init__(self) -> None:
        self.meshes: list[DeviceMesh] = []


_active = _ActiveMeshes()
#: The whole meshes by JAX's, so that an array's sharding tells its mesh.
_roots: dict[Any, DeviceMesh] = {}


def mesh_of_tracer(array: Any) -> DeviceMesh | None:
    """Return the mesh on which a value that is computed inside a program that is being captured
    will lie; None for none, and where several meshes look the same."""
    abstract = getattr(getattr(array.aval, "sharding", None), "mesh", None)
    if abstract is None or abstract.empty:
        return None
    found = [root for mesh, root in _roots.items() if mesh.abstract_mesh == abstract]
    return found[0] if len(found) == 1 else None


class DeviceMesh:
    """An array of ranks, which are devices, with names for its dimensions.

    ``mesh`` gives the ranks: nested lists, an array or a tensor. RuntimeError for more ranks than
    there are devices. Differs from PyTorch: in a process with several devices `get_rank` and
    `get_coordinate` are those of its first, `get_group` is the group of that one process, and data
    loading goes by ``get_world_size()``, not by the size of the mesh.
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        _init_backend: bool = True,
    ) -> None:
        ranks = np.asarray(mesh.tolist() if isinstance(mesh, Tensor) else mesh)
        if ranks.dtype.kind not in "iu":
            raise TypeError(f"a mesh is of ranks, which are integers, not {ranks.dtype}")
        found = _devices_of(device_type)
        if ranks.size > len(found) or (ranks.size and int(ranks.max()) >= len(found)):
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {len(found)}, but found "
                f"{max(ranks.size, int(ranks.max()) + 1)} ranks!"
            )
        if len(set(ranks.flat)) != ranks.size:
            raise RuntimeError(f"a mesh has each rank once, not {ranks.tolist()}")
        self.device_type = device_type
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        names = self.mesh_dim_names or tuple(f"dim_{i}" for i in range(ranks.ndim))
        if len(names) != ranks.ndim:
            raise ValueError(f"{len(names)} names for a mesh of {ranks.ndim} dimensions")
        #: JAX's mesh of all its devices; a slice keeps its root's.
        self.jax_mesh = jax.sharding.Mesh(
            np.array([found[r] for r in ranks.flat], object).reshape(ranks.shape),
            names,
            axis_types=(jax.sharding.AxisType.Auto,) * ranks.ndim,
        )
        #: For each dimension the axes of JAX's mesh that it runs over: several, once flattened.
        self.axes: tuple[tuple[str, ...], ...] = tuple((name,) for name in names)
        self._become_root(ranks)
        mixed_operands.mesh_made()
        if not self.is_local:
            mixed_operands.watch()

    @staticmethod
    def from_group(
        group: Any,
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: Sequence[str] | None = None,
    ) -> DeviceMesh:
        """Return the mesh of a process group's ranks, or, of several groups, a ``mesh`` whose
        dimensions they are, in this process.

        ValueError for several groups without a mesh of as many dimensions and without their names,
        and for a mesh of other ranks than the group's.
        """
        if isinstance(group, ProcessGroup):
            ranks = get_process_group_ranks(group)
            if mesh is not None and np.asarray(mesh).tolist() != ranks:
                raise ValueError(f"Invalid mesh {mesh} for ProcessGroup with ranks {ranks}")
            found = DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
            found._groups[0] = group
            return found
        groups = list(group)
        if not groups:
            raise ValueError("Expects at least one ProcessGroup to be passed")
        if mesh is None:
            raise ValueError("Must pass mesh if passing multiple ProcessGroups")
        if mesh_dim_names is None:
            raise ValueError("Must pass mesh_dim_names if passing multiple ProcessGroups")
        ranks = np.asarray(mesh)
        if ranks.ndim != len(groups):
            raise ValueError(
                "Expects mesh with ndim equal to number of ProcessGroups but got "
                f"mesh {ranks.tolist()} and {len(groups)} ProcessGroups"
            )
        found = DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
        found._groups.update(enumerate(groups))
        return found

    def _become_root(self, ranks: np.ndarray) -> None:
        self._root: DeviceMesh | None = None
        self._ranks = ranks
        self._flattened: dict[str, DeviceMesh] = {}
        self._groups: dict[int, ProcessGroup] = {}
        self._own_submeshes: dict[Any, DeviceMesh] = {}
        self._slice: DeviceMesh | None = None
        _roots[self.jax_mesh] = self
        own = jax.process_index()
        self._is_local = all(d.process_index == own for d in self.jax_mesh.devices.flat)

    # -- shape -------------------------------------------------------------------------------------

    @property
    def mesh(self) -> Tensor:
        """The ranks; of a slice those that share this process' other coordinates."""
        return tensor(self._own_ranks().tolist())

    def _own_ranks(self) -> np.ndarray:
        root = self._get_root_mesh()
        if root is self:
            return self._ranks
        names = self.jax_mesh.axis_names
        used = [name for axes in self.axes for name in axes]
        here = root.get_coordinate() or [0] * len(names)
        index = tuple(slice(None) if n in used else here[i] for i, n in enumerate(names))
        left = [n for n in names if n in used]
        part = root._ranks[index].transpose([left.index(n) for n in used])
        return part.reshape(self.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions the mesh has."""
        return len(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each."""
        sizes = self.jax_mesh.shape
        return tuple(int(np.prod([sizes[a] for a in axes])) for axes in self.axes)

    def size(self, mesh_dim: int | None = None) -> int:
        """Return the number of devices, of all or along one dimension."""
        return int(np.prod(self.shape)) if mesh_dim is None else self.shape[mesh_dim]

    # -- ranks -------------------------------------------------------------------------------------

    def get_rank(self) -> int:
        """Return this process' rank in the world."""
        return get_rank()

    def get_coordinate(self) -> tuple[int, ...] | None:
        """Return the coordinates of the first of this process' devices; None where it has none in
        the mesh."""
        own = jax.process_index()
        found = np.argwhere(
            np.vectorize(lambda d: d.process_index == own, otypes=[bool])(self.jax_mesh.devices)
        )
        if not len(found):
            return None
        names, sizes = self.jax_mesh.axis_names, self.jax_mesh.shape
        at = {name: int(i) for name, i in zip(names, found[0], strict=True)}
        return tuple(
            functools.reduce(lambda n, a: n * sizes[a] + at[a], axes, 0) for axes in self.axes
        )

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Return this process' coordinate along a dimension. RuntimeError where the mesh has
        several and none is given."""
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` "
                "needs to be specified when device_mesh.ndim > 1."
            )
        here = self.get_coordinate()
        if here is None:
            raise RuntimeError("this process has no device in the mesh")
        return here[self._dimension(mesh_dim)]

    @property
    def is_local(self) -> bool:
        """Whether all devices are this process', or are only described."""
        return self._get_root_mesh()._is_local

    # -- groups ------------------------------------------------------------------------------------

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """Return the processes along a dimension, a group made at the first call: this one alone
        where all devices are its own. RuntimeError where the mesh has several dimensions and none
        is given."""
        if self.ndim > 1 and mesh_dim is None:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` "
                "needs to be specified when device_mesh.ndim > 1. If you want to get the list of "
                "all the ProcessGroups in the DeviceMesh, please use `get_all_groups()` instead."
            )
        dim = self._dimension(mesh_dim)
        if dim not in self._groups:
            self._groups[dim] = self._new_group(dim)
        return self._groups[dim]

    def get_all_groups(self) -> list[ProcessGroup]:
        """Return the groups along each dimension."""
        return [self.get_group(i) for i in range(self.ndim)]

    def _new_group(self, dim: int) -> ProcessGroup:
        if self._slice is not None:
            return self._slice.get_group(dim)
        if self.is_local:
            return new_group([get_rank()])
        grid = np.vectorize(lambda d: d.process_index, otypes=[int])(self.jax_mesh.devices)
        names = self.jax_mesh.axis_names
        own = [names.index(a) for a in self.axes[dim]]
        others = [i for i in range(len(names)) if i not in own]
        lines = grid.transpose(*others, *own).reshape(-1, self.shape[dim])
        found: ProcessGroup | None = None
        for line in lines:  # all processes make all groups, in one order
            ranks = sorted(set(line.tolist()))
            group = new_group(ranks)
            if jax.process_index() in ranks:
                found = group
        if found is None:
            raise RuntimeError("this process has no device in the mesh")
        return found

    # -- slices ------------------------------------------------------------------------------------

    def _get_root_mesh(self) -> DeviceMesh:
        return self if self._root is None else self._root

    def _dimension(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None:
            return 0
        if isinstance(mesh_dim, str):
            return self._get_mesh_dim_by_name(mesh_dim)
        return range(self.ndim)[mesh_dim]

    def _get_mesh_dim_by_name(self, name: str) -> int:
        known = self.mesh_dim_names or ()
        if name not in known:
            raise KeyError(
                f"Mesh dimension '{name}' does not exist. Available mesh dimensions are: "
                f"mesh_dim_names={known}"
            )
        return known.index(name)

    def __getitem__(self, mesh_dim_names: str | Sequence[str]) -> DeviceMesh:
        """Return the mesh of some of the dimensions. RuntimeError for a mesh without names,
        KeyError for a name that is not there."""
        if not self.mesh_dim_names:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        given = mesh_dim_names
        wanted = (given,) if isinstance(given, str) else tuple(given)
        if wanted == self.mesh_dim_names:
            return self
        flattened = self._get_root_mesh()._flattened
        axes: list[tuple[str, ...]] = []
        for name in wanted:
            if name in self.mesh_dim_names:
                axes.append(self.axes[self.mesh_dim_names.index(name)])
            elif name in flattened:
                axes.append(flattened[name].axes[0])
            else:
                valid = [*self.mesh_dim_names, *flattened]
                raise KeyError(
                    f"Invalid mesh_dim_names {wanted} specified. Valid mesh_dim_names are {valid}."
                )
        used = [a for part in axes for a in part]
        if len(set(used)) != len(used):
            raise RuntimeError(f"a slice has each dimension once, not {wanted}")
        if used != [a for a in self.jax_mesh.axis_names if a in used]:
            raise KeyError(
                f"Invalid mesh_dim_names {wanted} specified. Mesh dim indices should be in "
                "ascending order."
            )
        return self._of_axes(tuple(axes), wanted)

    def _of_axes(self, axes: tuple[tuple[str, ...], ...], names: tuple[str, ...]) -> DeviceMesh:
        found = object.__new__(DeviceMesh)
        found.device_type, found.jax_mesh = self.device_type, self.jax_mesh
        found.mesh_dim_names, found.axes = names, axes
        found._root = self._get_root_mesh()
        found._flattened, found._groups, found._own_submeshes, found._slice = {}, {}, {}, None
        return found

    @property
    def is_slice(self) -> bool:
        """Whether the whole mesh has dimensions beside these."""
        return sum(map(len, self.axes)) < len(self.jax_mesh.shape)

    def own_submesh(self) -> DeviceMesh:
        """Return, for a slice, the devices that share this process' other coordinates (its *line*)
        as a whole mesh: what lies on it is the same for no other process than those. RuntimeError
        where the process has no device in the mesh."""
        made = self._get_root_mesh()._own_submeshes
        key = self.axes, self.mesh_dim_names
        if key not in made:
            if self.get_coordinate() is None:
                raise RuntimeError("this process has no device in the mesh")
            found = DeviceMesh(
                self.device_type, self._own_ranks(), mesh_dim_names=self.mesh_dim_names
            )
            found._slice = self
            made[key] = found
        return made[key]

    def _flatten(
        self, mesh_dim_name: str | None = None, backend_override: Any = None
    ) -> DeviceMesh:
        """Return a mesh of all dimensions as one. It can be sliced out of the root by its name,
        too."""
        name = mesh_dim_name or "_".join(self.mesh_dim_names or ())
        if not name:
            raise RuntimeError("Cannot flatten a DeviceMesh without mesh_dim_names!")
        root = self._get_root_mesh()
        if name in (root.mesh_dim_names or ()) and self.ndim > 1:
            raise ValueError(
                f"{name} already exists for submesh of the {root}. The mesh_dim_names of submesh "
                "and flattened mesh dimension name should be different"
            )
        axes = tuple(a for part in self.axes for a in part)
        found = root._flattened[name] = self._of_axes((axes,), (name,))
        return found

    # -- the rest ----------------------------------------------------------------------------------

    def __enter__(self) -> DeviceMesh:
        _active.meshes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _active.meshes.pop()

    def _key(self) -> tuple[Any, ...]:
        return self.jax_mesh, self.axes, self.mesh_dim_names, self.device_type

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DeviceMesh) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def __deepcopy__(self, memo: Any) -> DeviceMesh:
        return self  # devices cannot be copied

    def __reduce__(self) -> tuple[Any, ...]:
        root = self._get_root_mesh()
        names = self.jax_mesh.axis_names if root.mesh_dim_names else None
        whole = self.device_type, root._ranks.tolist(), names
        return _rebuild, (*whole, None if root is self else (self.axes, self.mesh_dim_names))

    def __repr__(self) -> str:
        shape = self.shape
        shown: Any = shape
        if self.mesh_dim_names:
            pairs = zip(self.mesh_dim_names, shape, strict=True)
            shown = f"({', '.join(f'{name}={n}' for name, n in pairs)})"
        ranks = np.arange(self.jax_mesh.size).reshape(self.jax_mesh.devices.shape)
        strides = dict(zip(self.jax_mesh.axis_names, ranks.strides, strict=True))
        stride = tuple(strides[axes[-1]] // ranks.itemsize for axes in self.axes)
        return f"DeviceMesh({shown}, '{self.device_type}', stride={stride})"


def _rebuild(device_type: str, ranks: Any, names: Any, part: Any) -> DeviceMesh:
    """Unpickle a mesh."""
    root = DeviceMesh(device_type, ranks, mesh_dim_names=names)
    return root if part is None else root._of_axes(*part)


def _devices_of(device_type: str) -> list[Any]:
    """Return the devices that stand for ranks, in the order of their processes."""
    found = devices.available(device_type, of_all_processes=True)
    if not found:
        devices.to_jax(devices.device(device_type))  # raises
    return sorted(found, key=lambda d: (d.process_index, d.id))


def mesh_of(jax_mesh: Any) -> DeviceMesh:
    """Return the mesh whose devices and names a mesh of JAX's has, made where there is none."""
    found = _roots.get(jax_mesh)
    if found is None:
        flat = list(jax_mesh.devices.flat)
        kind = devices.from_jax(flat[0]).type
        place = {d: i for i, d in enumerate(_devices_of(kind))}
        ranks = np.array([place[d] for d in flat]).reshape(jax_mesh.devices.shape)
        found = DeviceMesh(kind, ranks, mesh_dim_names=jax_mesh.axis_names)
        _roots[jax_mesh] = found
    return found


def described_mesh(jax_mesh: Any, device_type: str) -> DeviceMesh:
    """Return the mesh of devices that are not here but described (``jax.experimental.topologies``).

    Modules on the meta device are put onto it as onto any, and their steps compiled for it. One
    process is taken to drive all of them."""
    found = object.__new__(DeviceMesh)
    found.device_type, found.jax_mesh = device_type, jax_mesh
    found.mesh_dim_names = tuple(jax_mesh.axis_names)
    found.axes = tuple((name,) for name in jax_mesh.axis_names)
    found._become_root(np.arange(jax_mesh.size).reshape(jax_mesh.devices.shape))
    found._is_local = True
    return found


def current_mesh() -> DeviceMesh:
    """Return the mesh whose ``with`` block this thread is in. RuntimeError where there is none."""
    if not _active.meshes:
        raise RuntimeError("No device mesh is currently active!")
    return _active.meshes[-1]


def begin_world() -> None:
    """Begin the world where there is none: the launcher's, or one of this process alone."""
    if is_initialized():
        return
    if "RANK" in os.environ or "WORLD_SIZE" in os.environ:
        init_process_group()
    else:
        init_process_group(store=HashStore(), rank=0, world_size=1)


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: Sequence[str] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """Make a mesh of the given shape over the first devices; begins the world if there is none.

    RuntimeError for more devices than there are, or names that do not fit the shape. Differs from
    PyTorch: needs no launcher; ``backend_override`` is ignored, for XLA has one way of talking.
    """
    shape = tuple(mesh_shape)
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                "Each mesh_dim_name must be unique. "
                f"Found repeated mesh_dim_name in mesh_dim_names {tuple(mesh_dim_names)}"
            )
        if len(shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! Found "
                f"len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(shape)}."
            )
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. If you maintained a "
            "'torch.device' object, it's recommended to pass in 'device.type'."
        )
    if any(n < 1 for n in shape):
        raise RuntimeError(f"the lengths of a mesh are positive, not {shape}")
    begin_world()
    ranks = np.arange(int(np.prod(shape))).reshape(shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
