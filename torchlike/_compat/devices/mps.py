"""``torch.mps``: Apple's GPUs, for which JAX has no backend here; the answers of such a build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__name__ = "torchlike.mps"  # where PyTorch has it, and what is printed


def is_available() -> bool:
    """Return False."""
    return False


def device_count() -> int:
    """Return 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Do nothing: there is nothing to seed."""


def without_backend(
    called: str, name: str, place: str = "torchlike.mps"
) -> Callable[..., NoReturn]:
    """Return a function of a place that says that its backend is not there."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"Cannot execute {called}() without MPS backend.")

    function.__name__ = function.__qualname__ = name
    function.__module__ = place
    function.__doc__ = "RuntimeError: there is no MPS backend."
    return function


empty_cache = without_backend("emptyCache", "empty_cache")
synchronize = without_backend("deviceSynchronize", "synchronize")
current_allocated_memory = without_backend("getCurrentAllocatedMemory", "current_allocated_memory")
driver_allocated_memory = without_backend("getDriverAllocatedMemory", "driver_allocated_memory")
recommended_max_memory = without_backend("getRecommendedMaxMemory", "recommended_max_memory")
set_per_process_memory_fraction = without_backend(
    "setMemoryFraction", "set_per_process_memory_fraction"
)
get_rng_state = without_backend("getDefaultGenerator", "get_rng_state")
set_rng_state = without_backend("getDefaultGenerator", "set_rng_state")
seed = without_backend("getDefaultGenerator", "seed")
