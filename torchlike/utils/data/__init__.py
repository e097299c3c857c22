"""``torch.utils.data``: datasets, samplers, DataLoader."""

from torchlike._compat.unsupported import functions as _unsupported
from torchlike.utils.data import _utils
from torchlike.utils.data.collate import default_collate, default_convert
from torchlike.utils.data.dataloader import DataLoader
from torchlike.utils.data.dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    random_split,
)
from torchlike.utils.data.distributed import DistributedSampler
from torchlike.utils.data.sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torchlike.utils.data.stack import StackDataset
from torchlike.utils.data.workers import get_worker_info

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "_utils",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]

globals().update(_unsupported("utils.data"))
