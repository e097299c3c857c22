"""``torch_xla.runtime``, usually ``xr``."""

from __future__ import annotations

from torchlike import distributed
from torchlike.porting import torch_xla
from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.runtime")
_spmd = False


def world_size() -> int:
    """How many processes ``torch.distributed`` has; 1 where it was not initialised."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def global_ordinal() -> int:
    """This process's rank."""
    return distributed.get_rank() if distributed.is_initialized() else 0


local_ordinal = global_ordinal


def device_type() -> str:
    """ "TPU", "CUDA" or "CPU"."""
    return torch_xla.device().type.replace("xla", "TPU").upper()


def global_runtime_device_count() -> int:
    """How many devices one program may be partitioned over."""
    return torch_xla.device_count()


addressable_runtime_device_count = global_device_count = global_runtime_device_count


def use_spmd(auto: bool = False) -> None:
    """One process with all devices, which is what torchlike is anyway."""
    global _spmd
    _spmd = True


def is_spmd() -> bool:
    """Whether ``use_spmd`` was called."""
    return _spmd


def initialize_cache(path: str, readonly: bool = False) -> None:
    """Nothing: compiled programs are kept already (TORCHLIKE_CACHE_DIR)."""
