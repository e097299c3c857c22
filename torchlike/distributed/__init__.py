"""``torch.distributed``: process groups and collectives on JAX's runtime, meshes.

Imports in two steps: collectives, groups and ``tensor/`` stand below `_jit` and `nn`; ``fsdp/``,
``checkpoint/``, ``optim/`` and ``tensor/parallel/`` stand on `nn`, ``pipelining/`` on `fx`. Begin
with ``collectives.py`` and ``programs.py`` (between processes), or with ``tensor/`` (DTensors);
docs/design/distributed.md and docs/design/sharding.md.

A rank is a process with one device of its own. Start them with ``torchlike launch``, which takes
torchrun's arguments, or with ``torch.multiprocessing.spawn``.
"""

from torchlike._runtime.lazy import submodules as _submodules
from torchlike.distributed import device_mesh as device_mesh
from torchlike.distributed import out_targets as _out_targets
from torchlike.distributed import tensor as tensor
from torchlike.distributed import written_targets as _written_targets
from torchlike.distributed.collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    gather_into_tensor,
    gather_single,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
)
from torchlike.distributed.debugging import (
    DebugLevel,
    get_debug_level,
    set_debug_level,
    set_debug_level_from_env,
)
from torchlike.distributed.device_mesh import DeviceMesh, init_device_mesh
from torchlike.distributed.file_stores import FileStore
from torchlike.distributed.grad_bucket import GradBucket
from torchlike.distributed.groups import (
    GroupMember,
    ProcessGroup,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_default_backend_for_device,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
    set_timeout,
)
from torchlike.distributed.loading import ShardedLoader
from torchlike.distributed.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from torchlike.distributed.point_to_point import (
    P2POp,
    batch_isend_irecv,
    irecv,
    isend,
    recv,
    send,
)
from torchlike.distributed.reductions import ReduceOp, reduce_op
from torchlike.distributed.rendezvous import register_rendezvous_handler, rendezvous
from torchlike.distributed.stores import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    HashStore,
    PrefixStore,
    QueueEmptyError,
    Store,
    TCPStore,
)
from torchlike.distributed.subgroups import (
    Backend,
    get_backend_config,
    get_pg_count,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from torchlike.distributed.works import Work

from torchlike.distributed import distributed_c10d as distributed_c10d  # isort: skip

__all__ = [
    "Backend",
    "DebugLevel",
    "DeviceMesh",
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "GradBucket",
    "GroupMember",
    "HashStore",
    "P2POp",
    "PrefixStore",
    "ProcessGroup",
    "QueueEmptyError",
    "ReduceOp",
    "ShardedLoader",
    "Store",
    "TCPStore",
    "Work",
    "all_gather",
    "all_gather_coalesced",
    "all_gather_into_tensor",
    "all_gather_object",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "batch_isend_irecv",
    "broadcast",
    "broadcast_object_list",
    "default_pg_timeout",
    "destroy_process_group",
    "gather",
    "gather_into_tensor",
    "gather_object",
    "gather_single",
    "get_backend",
    "get_backend_config",
    "get_debug_level",
    "get_default_backend_for_device",
    "get_global_rank",
    "get_group_rank",
    "get_node_local_rank",
    "get_pg_count",
    "get_process_group_ranks",
    "get_rank",
    "get_world_size",
    "group",
    "init_device_mesh",
    "init_process_group",
    "irecv",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "isend",
    "monitored_barrier",
    "new_group",
    "new_subgroups",
    "new_subgroups_by_enumeration",
    "recv",
    "recv_object_list",
    "reduce",
    "reduce_op",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "register_rendezvous_handler",
    "rendezvous",
    "scatter",
    "scatter_object_list",
    "send",
    "send_object_list",
    "set_debug_level",
    "set_debug_level_from_env",
    "set_timeout",
]

#: Rooms that build on modules and optimizers, and are imported when somebody asks for them.
__getattr__ = _submodules(__name__, "_composable", "_tensor", "checkpoint", "fsdp", "optim")
