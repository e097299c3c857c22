"""``torch.distributed.constants``."""

from torchlike.distributed.groups import default_pg_timeout

__all__ = ["default_pg_timeout"]
