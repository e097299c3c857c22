"""Where a tensor lies that was made after a DTensor: ``zeros_like(d)``, ``d.new_ones(n)``, and kin.

PyTorch makes DTensors of them. On a mesh of one process plain tensors do as well, beside any.
"""

from __future__ import annotations

from jax.sharding import NamedSharding, PartitionSpec

from torchlike._core import modes
from torchlike._runtime import mixed_operands
from torchlike.distributed.tensor._api import where
from torchlike.distributed.tensor._storage import PlacedStorage
from torchlike.tensor import Tensor


@mixed_operands.alike.by
def alike(made: Tensor, model: Tensor) -> Tensor:
    """Move ``made`` to where ``model`` lies, if that spans processes; replicated if of another size
    and after a view."""
    found = None if made.is_meta or modes.is_capturing() else where(model)
    if found is None or found[1].is_local:
        return made
    sharding, mesh = found
    held = model._storage
    said = held.without_terms() if isinstance(held, PlacedStorage) else None
    if made.shape != model.shape or model._view is not None:
        sharding, said = NamedSharding(sharding.mesh, PartitionSpec()), None
    value, strides = made._read(), made._storage.strides
    made._storage = PlacedStorage(value, sharding, mesh, said)
    made._storage.strides = strides
    return made
