"""``torch.distributed.nn``: collectives with gradients."""

from torchlike.distributed.nn import functional
from torchlike.distributed.nn.functional import (
    all_gather,
    all_reduce,
    broadcast,
    gather,
    reduce,
    scatter,
)

__all__ = ["all_gather", "all_reduce", "broadcast", "functional", "gather", "reduce", "scatter"]
