"""What scripts ask CUDA's driver and runtime: the answers without them, for XLA talks to those.

Without a GPU they are those of PyTorch built without CUDA; with one NotImplementedError.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn

from torchlike.cuda._device import require


class CudaError(RuntimeError):
    """An error code of CUDA's runtime."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error ({code})")


class DeferredCudaCallError(Exception):
    """What was asked before CUDA began failed when it did."""


class cudaStatus:
    """Error codes."""

    SUCCESS: int = 0
    ERROR_NOT_READY: int = 34


def check_error(res: int) -> None:
    """Raise CudaError for another code than success."""
    if res != cudaStatus.SUCCESS:
        raise CudaError(res)


def host_memory_stats() -> OrderedDict[str, Any]:
    """Return an empty dictionary: memory of the host is not pinned."""
    return OrderedDict()


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """Return an empty dictionary: memory of the host is not pinned."""
    return {}


def caching_allocator_enable(value: bool = True) -> None:
    """Do nothing: XLA's allocator is chosen before the process begins, by
    XLA_PYTHON_CLIENT_ALLOCATOR."""


def _refused(name: str, instead: str) -> Callable[..., NoReturn]:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        require()
        raise NotImplementedError(
            f"torch.cuda.{name}: XLA talks to CUDA itself. Use instead: {instead}."
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"AssertionError without a GPU, else NotImplementedError: {instead}."
    return function


_FFI = "jax.ffi"
_MEMORY = "XLA_PYTHON_CLIENT_MEM_FRACTION in the environment"
caching_allocator_alloc = _refused("caching_allocator_alloc", "torch.empty")
caching_allocator_delete = _refused("caching_allocator_delete", "del")
cudart = _refused("cudart", _FFI)
current_blas_handle = _refused("current_blas_handle", _FFI)
current_solver_handle = _refused("current_solver_handle", _FFI)
get_per_process_memory_fraction = _refused("get_per_process_memory_fraction", _MEMORY)
get_stream_from_external = _refused("get_stream_from_external", "torch.cuda.Stream()")
get_sync_debug_mode = _refused("get_sync_debug_mode", "jax.transfer_guard")
get_allocator_backend = _refused("get_allocator_backend", "memory_stats()")
device_memory_used = _refused("device_memory_used", "memory_allocated()")
list_gpu_processes = _refused("list_gpu_processes", "nvidia-smi")
memory_usage = _refused("memory_usage", "nvidia-smi")
temperature = _refused("temperature", "nvidia-smi")
power_draw = _refused("power_draw", "nvidia-smi")
clock_rate = _refused("clock_rate", "nvidia-smi")


class MemPool:
    """RuntimeError: XLA has one pool."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("Tried to instantiate dummy base class MemPool")
