"""``torch.distributed.checkpoint``: checkpoints of tensors on any mesh, read onto any other."""

from torchlike.distributed.checkpoint._api import (
    CheckpointException,
    async_save,
    load,
    load_state_dict,
    save,
    save_state_dict,
)
from torchlike.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from torchlike.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torchlike.distributed.checkpoint.hf_storage import (
    HuggingFaceStorageReader,
    HuggingFaceStorageWriter,
)
from torchlike.distributed.checkpoint.orbax_storage import (
    OrbaxStorageReader,
    OrbaxStorageWriter,
)

__all__ = [
    "CheckpointException",
    "DefaultLoadPlanner",
    "DefaultSavePlanner",
    "FileSystemReader",
    "FileSystemWriter",
    "HuggingFaceStorageReader",
    "HuggingFaceStorageWriter",
    "OrbaxStorageReader",
    "OrbaxStorageWriter",
    "async_save",
    "load",
    "load_state_dict",
    "save",
    "save_state_dict",
]
