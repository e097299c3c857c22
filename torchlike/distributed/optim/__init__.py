"""``torch.distributed.optim``: optimizers whose state is divided among processes, or whose
parameters are averaged over them."""

from torchlike._compat.unsupported import functions as _unsupported
from torchlike.distributed.optim.post_localSGD_optimizer import PostLocalSGDOptimizer
from torchlike.distributed.optim.zero_redundancy_optimizer import ZeroRedundancyOptimizer

__all__ = ["PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]

globals().update(_unsupported("distributed.optim"))
