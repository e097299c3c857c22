"""``torch.distributed.distributed_c10d``: where PyTorch keeps groups, collectives and stores."""

from torchlike.distributed._groups_table import _pg_map  # noqa: F401
from torchlike.distributed.collectives import *  # noqa: F403
from torchlike.distributed.debugging import *  # noqa: F403
from torchlike.distributed.file_stores import *  # noqa: F403
from torchlike.distributed.groups import *  # noqa: F403
from torchlike.distributed.groups import (  # noqa: F401
    _get_default_group,
    _resolve_process_group,
)
from torchlike.distributed.objects import *  # noqa: F403
from torchlike.distributed.point_to_point import *  # noqa: F403
from torchlike.distributed.point_to_point import coalescing_manager as _coalescing_manager  # noqa: F401
from torchlike.distributed.reductions import ReduceOp, reduce_op  # noqa: F401
from torchlike.distributed.rendezvous import register_rendezvous_handler, rendezvous  # noqa: F401
from torchlike.distributed.stores import *  # noqa: F403
from torchlike.distributed.subgroups import *  # noqa: F403
from torchlike.distributed.works import Work  # noqa: F401
