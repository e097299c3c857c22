"""``PlacedStorage``: a cell whose contents have a place on a mesh that every write keeps.

A DTensor that was asked for (``distribute_tensor``, ``fully_shard``, ``redistribute``) lies on one:
``p.copy_(x)``, an optimizer's step and ``load_state_dict`` leave it where it is, as in PyTorch. The
results of ops lie on `Storage`, wherever XLA has put them. `OrdinaryStorage` is of tensors that are
no DTensors, though a compiled program, which runs on the whole mesh, has put them there.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import core
from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike._core.storage import Storage
from torchlike._extensions.meta import MetaArray
from torchlike._runtime.jax_private import arrays
from torchlike._runtime.mixed_operands import check_saved
from torchlike._runtime.transfer import to_device
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.tensor.placement_types import Placement


class PlacedStorage(Storage):
    """The cell of an array that lies on a mesh. ``mesh`` may be a slice of the sharding's.

    ``declared``: the tensor's placements where the sharding does not say them (see ``_declared``);
    ``terms``: with `Partial` among them, the terms that the contents were reduced from
    (``_terms``).
    """

    __slots__ = ("declared", "mesh", "sharding", "terms")
    is_placed = True

    def __init__(
        self, array: Any, sharding: NamedSharding, mesh: DeviceMesh, declared: Any = None
    ) -> None:
        self.sharding = sharding
        self.mesh = mesh
        self.declared: tuple[Placement, ...] | None = declared
        self.terms: Any = None
        super().__init__(put(array, sharding))

    def write(self, array: Any) -> None:
        if array.shape != self.shape:
            raise NotImplementedError(
                f"a DTensor of size {list(self.shape)} cannot become one of {list(array.shape)} in "
                "place: make a new one with distribute_tensor"
            )
        self.declared, self.terms = self.without_terms(), None
        super().write(self.placed(array))

    def placed(self, array: Any) -> jax.Array:
        return put(array, self.sharding) if getattr(array, "shape", None) == self.shape else array

    def alike(self, array: Any) -> Storage:
        if array.shape != self.shape:
            return Storage(array)
        return PlacedStorage(array, self.sharding, self.mesh, self.without_terms())

    def without_terms(self) -> tuple[Placement, ...] | None:
        """Return what is declared of the contents by themselves, which have been reduced."""
        return None if self.terms is not None else self.declared

    def __reduce__(self) -> tuple[Any, ...]:
        check_saved(self.cell)
        found = Storage(self.cell)  # read back, it is whole, and lies on one device
        found.strides = self.strides
        return found.__reduce__()


class OrdinaryStorage(Storage):
    """The cell of an ordinary tensor whose array may lie on a mesh: of what ``full_tensor()`` gave
    in a program, or of a plain tensor that a program has written. No DTensor is on it."""

    __slots__ = ()
    is_ordinary = True


def is_on_mesh(storage: Storage) -> bool:
    """Return whether a tensor on this storage is a DTensor, as far as is known: of a result inside
    a program that is being captured it is not."""
    if storage.is_placed or storage.is_ordinary:
        return storage.is_placed
    return isinstance(getattr(storage.cell, "sharding", None), NamedSharding)


def replicated(array: jax.Array, sharding: NamedSharding) -> jax.Array:
    """Put an array on a mesh, whole on each of its devices."""
    return put(array, NamedSharding(sharding.mesh, PartitionSpec()))


def on_one_device(array: jax.Array) -> jax.Array:
    """Return a replicated array as an ordinary one, in memory of its own: uncommitted, so that it
    goes with any other."""
    own = array.addressable_shards[0].data
    device = next(iter(own.sharding.device_set))
    if device.platform == "cpu":
        return to_device(np.array(own))
    single = jax.sharding.SingleDeviceSharding(device)
    aval = core.ShapedArray(array.shape, array.dtype)
    copied = jax.numpy.array(own, copy=True)
    return arrays.put(aval, single, [copied], [device], False)


def in_own_memory(array: Any, sharding: NamedSharding) -> jax.Array:
    """Copy an array to a sharding, with no buffer in common: an update that is written into the
    memory of the one would delete the other."""
    if (
        sharding.is_fully_replicated
        and isinstance(array, jax.Array)
        and (len(array.sharding.device_set) == 1)
    ):
        # Not by device_put, which takes the buffer for the first replica whatever it is told.
        array = np.array(array) if _on_cpu(array) else jax.numpy.array(array, copy=True)
    return jax.device_put(array, sharding, may_alias=False)


def _on_cpu(array: jax.Array) -> bool:
    return next(iter(array.sharding.device_set)).platform == "cpu"


def held_here(array: jax.Array) -> np.ndarray:
    """Return the rectangle that this process' devices hold. NotImplementedError where it is
    none."""
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
    return found


def put(array: Any, sharding: NamedSharding) -> jax.Array:
    """Put an array under a sharding: a traced one gets a sharding constraint, a meta array stays as
    it is."""
    kind = type(array)
    if kind is MetaArray:
        return array
    if isinstance(array, core.Tracer) or (
        modes.is_capturing() and isinstance(array, jax.Array) and array.sharding != sharding
    ):
        return jax.lax.with_sharding_constraint(array, sharding)
    if isinstance(array, jax.Array) and array.sharding == sharding:
        return array
    if isinstance(array, (jax.Array, np.ndarray)):
        return in_own_memory(array, sharding)
    return array  # a box of a transform: what is inside is placed by what reads it
