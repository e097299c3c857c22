"""``torch_xla.runtime``, usually ``xr``."""

from __future__ import annotations

from torchlike import distributed
from torchlike.porting import torch_xla
from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.runtime")
_spmd = False


def world_size() -> int:
    """Return how many processes ``torch.distributed`` has; 1 where it was not initialised."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def global_ordinal() -> int:
    """Return this process's rank."""
    return distributed.get_rank() if distributed.is_initialized() else 0


local_ordinal = global_ordinal


def device_type() -> str:
    """Return "TPU", "CUDA" or "CPU"."""
    return torch_xla.device().type.replace("xla", "TPU").upper()


def global_runtime_device_count() -> int:
    """Return how many devices one program may be partitioned over."""
    return torch_xla.device_count()


addressable_runtime_device_count = global_device_count = global_runtime_device_count


def use_spmd(auto: bool = False) -> None:
    """Note that one process has all devices, which is how torchlike works anyway."""
    global _spmd
    _spmd = True


def is_spmd() -> bool:
    """Return whether ``use_spmd`` was called."""
    return _spmd


def initialize_cache(path: str, readonly: bool = False) -> None:
    """Do nothing: compiled programs are kept already (TORCHLIKE_CACHE_DIR)."""
