"""``torch.distributed.tensor``: placements, as descriptions. There are no distributed tensors; what
would make one raises NotImplementedError."""

from torchlike.distributed.tensor import placement_types
from torchlike.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard", "placement_types"]
