"""``torch.distributed.tensor``: DTensors (tensors on a mesh of devices) and their placements."""

from torchlike.distributed.device_mesh import DeviceMesh, init_device_mesh
from torchlike.distributed.tensor import _alike as _alike
from torchlike.distributed.tensor import _draws as _draws
from torchlike.distributed.tensor import _keeping_terms as _keeping_terms
from torchlike.distributed.tensor import placement_types
from torchlike.distributed.tensor._api import (
    DTensor,
    distribute_tensor,
    empty,
    full,
    linspace,
    logspace,
    ones,
    rand,
    randn,
    zeros,
)
from torchlike.distributed.tensor._modules import distribute_module
from torchlike.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "init_device_mesh",
    "linspace",
    "logspace",
    "ones",
    "placement_types",
    "rand",
    "randn",
    "zeros",
]
