"""The environment each framework's process gets."""

from __future__ import annotations

from benchmarks.frameworks import Framework
from torchlike._runtime import xla_flags
from torchlike.porting import allocator

#: glibc's own variables for the settings that `torchlike.porting.allocator` makes by mallopt.
_KEEP_LARGE_BLOCKS = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 30),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(allocator.WHOLE_HEAP),
    "MALLOC_ARENA_MAX": str(allocator.arena_count()),
}


def variables(framework: Framework, cache: str) -> dict[str, str]:
    """Return the variables to add for a process of `framework`; `cache` is its own compilation
    cache.

    Every cache starts empty, or the first call of one framework would be warm and that of
    another cold. OpenMP is left alone: PyTorch with OMP_WAIT_POLICY=PASSIVE is 2 to 5 times
    slower, which would flatter everyone else.
    """
    added = {
        "XLA_FLAGS": xla_flags.FOUND,
        "TORCHLIKE_CACHE_DIR": f"{cache}/torchlike",
        "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor",
        "JAX_COMPILATION_CACHE_DIR": f"{cache}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "PYTHONUNBUFFERED": "1",
    }
    if framework.library == "torchlike":
        # What the worker's import and its tune_allocator() look at.
        if framework.allocator == "stock":
            added |= {"TORCHLIKE_ALLOCATOR": "system", "TORCHLIKE_XLA_FLAGS": "system"}
    elif framework.allocator == "tuned":
        added |= _KEEP_LARGE_BLOCKS | {"XLA_FLAGS": xla_flags.extended(xla_flags.FOUND)}
    return added
