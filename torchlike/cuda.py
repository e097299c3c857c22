"""``torch.cuda``: what scripts ask of a GPU, answered by JAX's devices, harmless without one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax

from torchlike import devices, unsupported

#: Kernels in CUDA source: not supported, and says what to use instead.
jiterator = SimpleNamespace(**unsupported.functions("cuda.jiterator"))


def is_available() -> Any:
    """Whether JAX has a GPU backend."""
    return bool(devices.available("cuda"))


def device_count() -> int:
    """How many GPUs JAX sees."""
    return len(devices.available("cuda"))


def is_initialized() -> Any:
    return is_available()


def init() -> None:
    """JAX initialises its backends on first use."""


def current_device() -> int:
    """The index of the current GPU. RuntimeError without one."""
    devices.to_jax(devices.device("cuda"))
    return 0


def set_device(device: Any) -> None:
    """Choose the GPU for new tensors made on "cuda"; only device 0 can be the current one."""
    found = (
        devices.device(device) if not isinstance(device, int) else devices.device("cuda", device)
    )
    devices.to_jax(found)
    if found.index not in (None, 0):
        raise NotImplementedError("set_device: say device='cuda:N' where the tensor is made")


def get_device_name(device: Any = None) -> str:
    """The GPU's name. RuntimeError without one."""
    return devices.to_jax(devices.device("cuda" if device is None else device)).device_kind


def synchronize(device: Any = None) -> None:
    """Wait until all work on the devices is done."""
    jax.effects_barrier()
    for d in jax.local_devices():
        jax.device_put(0, d).block_until_ready()


def empty_cache() -> None:
    """Nothing to do: XLA's allocator keeps its memory."""


def _statistic(device: Any, name: str) -> int:
    if not is_available():
        return 0
    found = devices.to_jax(devices.device("cuda" if device is None else device))
    return int((found.memory_stats() or {}).get(name, 0))


def memory_allocated(device: Any = None) -> int:
    """Bytes in use on the GPU (0 without one)."""
    return _statistic(device, "bytes_in_use")


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that were in use (0 without a GPU)."""
    return _statistic(device, "peak_bytes_in_use")


def memory_reserved(device: Any = None) -> int:
    """Bytes held by XLA's allocator (0 without a GPU)."""
    return _statistic(device, "bytes_reserved")


max_memory_reserved = memory_reserved


def reset_peak_memory_stats(device: Any = None) -> None:
    """Not kept by XLA: the peak is since the process began."""


def is_bf16_supported(including_emulation: Any = True) -> Any:
    """XLA computes in bfloat16 on every GPU."""
    return is_available()


def manual_seed(seed: int) -> None:
    """Seed the generators of the GPUs (nothing to do without one)."""


manual_seed_all = seed_all = manual_seed


def __getattr__(name: str) -> Any:
    if name in ("Stream", "Event", "CUDAGraph", "graph", "stream", "amp", "nvtx"):
        raise NotImplementedError(
            f"torch.cuda.{name}: XLA orders work by itself; time with time.perf_counter() around "
            "torch.cuda.synchronize(), and compile steps with torchlike.jit"
        )
    raise AttributeError(f"module 'torchlike.cuda' has no attribute '{name}'")
