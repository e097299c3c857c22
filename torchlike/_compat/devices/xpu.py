"""``torch.xpu``: Intel GPUs, for which JAX has no backend here; scripts ask, and go on."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn

__name__ = "torchlike.xpu"  # where PyTorch has it, and what is printed


def is_available() -> Any:
    """Return False."""
    return False


def device_count() -> int:
    """Return 0."""
    return 0


def is_bf16_supported(including_emulation: Any = True) -> Any:
    """Return False: there is no device."""
    return False


def is_tf32_supported() -> bool:
    """Return False: there is no device."""
    return False


def is_initialized() -> Any:
    """Return False."""
    return False


def empty_cache() -> None:
    """Do nothing."""


def manual_seed(seed: int) -> None:
    """Do nothing: there is nothing to seed, as in PyTorch without a device."""


def seed() -> None:
    """Do nothing: there is nothing to seed, as in PyTorch without a device."""


manual_seed_all, seed_all = manual_seed, seed


def memory_allocated(device: Any = None) -> int:
    """Return 0."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """Return an empty dictionary."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """Return an empty dictionary."""
    return {}


def get_rng_state_all() -> list[Any]:
    """Return []."""
    return []


def get_arch_list() -> list[str]:
    """Return []."""
    return []


def get_gencode_flags() -> str:
    """Return ""."""
    return ""


def stream(stream: Any) -> contextlib.AbstractContextManager[None]:
    """Return a context manager on a stream, which changes nothing."""
    return contextlib.nullcontext()


def _absent(name: str) -> Callable[..., NoReturn]:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise AssertionError("Torch not compiled with XPU enabled")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "AssertionError: there is no device."
    return function


init = _absent("init")
current_device = _absent("current_device")
set_device = _absent("set_device")
synchronize = _absent("synchronize")
current_stream = _absent("current_stream")
get_device_name = _absent("get_device_name")
get_device_capability = _absent("get_device_capability")
get_device_properties = _absent("get_device_properties")
can_device_access_peer = _absent("can_device_access_peer")
mem_get_info = _absent("mem_get_info")
initial_seed = _absent("initial_seed")
get_rng_state = _absent("get_rng_state")
set_rng_state = _absent("set_rng_state")


class device:
    """NotImplementedError: there is no device."""

    def __init__(self, device: Any) -> None:
        raise NotImplementedError("PyTorch was compiled without XPU support")
