"""``torch.cuda``: what scripts ask of a GPU, answered by JAX's devices; without one, as PyTorch
built without CUDA answers.

Imports `_compat`, `amp`, `random` and below. Begin with ``_device.py``; ``memory.py`` and
``streams.py`` are one subject each.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from torchlike._compat import unsupported
from torchlike._core import devices
from torchlike._core.errors import OutOfMemoryError
from torchlike.cuda import amp, memory, nvtx, profiler, random, streams
from torchlike.cuda._device import (
    current_device,
    device,
    device_count,
    device_of,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_available,
    require,
    set_device,
)
from torchlike.cuda.driver import (
    CudaError,
    DeferredCudaCallError,
    MemPool,
    caching_allocator_alloc,
    caching_allocator_delete,
    caching_allocator_enable,
    check_error,
    clock_rate,
    cudart,
    cudaStatus,
    current_blas_handle,
    current_solver_handle,
    device_memory_used,
    get_allocator_backend,
    get_per_process_memory_fraction,
    get_stream_from_external,
    get_sync_debug_mode,
    host_memory_stats,
    host_memory_stats_as_nested_dict,
    list_gpu_processes,
    memory_usage,
    power_draw,
    temperature,
)
from torchlike.cuda.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_cached,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_cached,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)
from torchlike.cuda.random import _all_generators as _all_generators
from torchlike.cuda.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from torchlike.cuda.streams import (
    CUDAGraph,
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    graph,
    graph_pool_handle,
    is_current_stream_capturing,
    make_graphed_callables,
    set_stream,
    stream,
    synchronize,
)
from torchlike.cuda.tensor_types import TENSOR_TYPES as _TENSOR_TYPES

globals().update(_TENSOR_TYPES)

#: Kernels in CUDA source: not supported, and says what to use instead.
jiterator = SimpleNamespace(**unsupported.functions("cuda.jiterator"))
has_half = True
has_magma = False


def is_initialized() -> bool:
    """Return whether JAX has a GPU backend."""
    return is_available()


def __getattr__(name: str) -> Any:
    if name == "_initialized":  # what is_initialized() says, asked without the call
        return is_initialized()
    if name == "default_generators":
        return _all_generators()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def init() -> None:
    """Do nothing: JAX initialises its backends on first use. AssertionError without a GPU."""
    require()


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return whether there is a GPU: XLA computes in bfloat16 on every one."""
    return is_available()


def is_tf32_supported() -> bool:
    """Return whether the GPU has tensor cores for TF32 (compute capability 8 and above)."""
    return is_available() and get_device_capability()[0] >= 8


def ipc_collect() -> None:
    """Do nothing: memory is not shared between processes. AssertionError without a GPU."""
    require()


def can_device_access_peer(device: Any, peer_device: Any) -> bool:  # noqa: F811
    """Return whether two GPUs are in this process. AssertionError without any."""
    require()
    return all(
        0 <= (d if isinstance(d, int) else devices.device(d).index or 0) < device_count()
        for d in (device, peer_device)
    )


def get_arch_list() -> list[str]:
    """Return the compute capabilities of the GPUs: XLA compiles for what is there."""
    return sorted({"sm_{}{}".format(*get_device_capability(i)) for i in range(device_count())})


def get_gencode_flags() -> str:
    """Return "": no CUDA source is compiled."""
    return ""
