"""``torch.distributed._composable``: the older place of ``fully_shard``."""

from torchlike.distributed.fsdp import fully_shard

__all__ = ["fully_shard"]
