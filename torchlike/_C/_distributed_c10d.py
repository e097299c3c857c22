"""``torch._C._distributed_c10d``: groups, stores and their errors, of a world of one process."""

from torchlike.distributed.collectives import ReduceOp, Work
from torchlike.distributed.file_stores import FileStore
from torchlike.distributed.groups import ProcessGroup
from torchlike.distributed.stores import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    HashStore,
    PrefixStore,
    Store,
    TCPStore,
)

__all__ = [
    "DistBackendError",
    "DistError",
    "DistNetworkError",
    "DistStoreError",
    "FileStore",
    "HashStore",
    "PrefixStore",
    "ProcessGroup",
    "ReduceOp",
    "Store",
    "TCPStore",
    "Work",
]
