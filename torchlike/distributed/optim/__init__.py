"""``torch.distributed.optim``: an optimizer whose state is divided among processes."""

from torchlike.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["ZeroRedundancyOptimizer"]
