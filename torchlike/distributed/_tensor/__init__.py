"""``torch.distributed._tensor``: the older name of ``torch.distributed.tensor``."""

from torchlike.distributed.tensor import *  # noqa: F403
