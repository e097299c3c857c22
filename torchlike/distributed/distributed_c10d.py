"""``torch.distributed.distributed_c10d``: where PyTorch keeps groups, collectives and stores."""

from torchlike.distributed.collectives import *  # noqa: F403
from torchlike.distributed.groups import *  # noqa: F403
from torchlike.distributed.stores import *  # noqa: F403
from torchlike.distributed.subgroups import *  # noqa: F403
