"""Communication hooks of DistributedDataParallel."""

from torchlike.distributed.algorithms.ddp_comm_hooks import debugging_hooks, default_hooks

__all__ = ["debugging_hooks", "default_hooks"]
