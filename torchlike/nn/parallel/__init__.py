"""``torch.nn.parallel``: one process computes on one device, so a wrapped module just runs."""

from torchlike.nn.parallel import data_parallel
from torchlike.nn.parallel.data_parallel import DataParallel
from torchlike.nn.parallel.distributed import DistributedDataParallel
from torchlike.nn.parallel.scatter_gather import gather, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "scatter"]
