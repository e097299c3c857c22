"""``torch.accelerator``: whichever accelerator JAX found, by one name.

Imports `cuda` and below. Begin with ``_device.py``, which says what there is.
"""

from __future__ import annotations

import warnings
from typing import Any

from torchlike import cuda as _cuda
from torchlike._compat.streams import Stream
from torchlike._core.dtypes import ALL as _DTYPES
from torchlike._runtime import pending
from torchlike.accelerator import random as random
from torchlike.accelerator._device import (
    current_accelerator,
    current_device_index,
    device_count,
    is_available,
    require,
    set_device_index,
)


def synchronize(device: Any = None) -> None:
    """Wait until all work on the devices is done. RuntimeError without an accelerator."""
    require()
    pending.wait()


def current_stream(device: Any = None) -> Stream:
    """Return the stream of an accelerator; there is one. RuntimeError without an accelerator."""
    require()
    return Stream(current_accelerator() if device is None else device)


def set_stream(stream: Stream) -> None:
    """Do nothing: there is one stream. RuntimeError without an accelerator."""
    require()


def get_device_capability(device: Any = None) -> dict[str, Any]:
    """Return ``supported_dtypes``, the dtypes tensors have. RuntimeError without an accelerator."""
    require()
    return {"supported_dtypes": set(_DTYPES)}


class device_index:
    """A region on the accelerator of an index; None changes nothing. Entering raises what
    ``set_device_index`` does."""

    def __init__(self, device: int | None) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            set_device_index(self.idx)

    def __exit__(self, *exc: object) -> None:
        return None


class Graph:
    """Recorded work of an accelerator: NotImplementedError, and RuntimeError without one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        require()
        raise NotImplementedError(
            "torch.accelerator.Graph: XLA runs compiled programs. Use instead: torchlike.jit."
        )


def current_device_idx() -> int:
    """Call ``current_device_index`` under its old name: FutureWarning."""
    warnings.warn("Use `current_device_index` instead.", FutureWarning, stacklevel=2)
    return current_device_index()


def set_device_idx(device: Any) -> None:
    """Call ``set_device_index`` under its old name: FutureWarning."""
    warnings.warn("Use `set_device_index` instead.", FutureWarning, stacklevel=2)
    set_device_index(device)


# -- memory: every function raises RuntimeError without an accelerator -----------------------------


def empty_cache() -> None:
    """Free what torchlike keeps for later calls; XLA keeps what it allocated for its next programs.
    RuntimeError without an accelerator."""
    require()
    _cuda.empty_cache()


def empty_host_cache() -> None:
    """Do nothing: there is nothing to give back. RuntimeError without an accelerator."""
    require()


def memory_stats(device: Any = None) -> Any:
    """Return the numbers that XLA's allocator counts, under PyTorch's names."""
    require()
    return _cuda.memory_stats(device)


def memory_allocated(device: Any = None) -> int:
    """Return the bytes in use."""
    require()
    return _cuda.memory_allocated(device)


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that were in use."""
    require()
    return _cuda.max_memory_allocated(device)


def memory_reserved(device: Any = None) -> int:
    """Return the bytes held by XLA's allocator."""
    require()
    return _cuda.memory_reserved(device)


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes that were held."""
    require()
    return _cuda.max_memory_reserved(device)


def get_memory_info(device: Any = None) -> tuple[int, int]:
    """Return the bytes free, and in all."""
    require()
    return _cuda.mem_get_info(device)


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Do nothing: XLA's counts run from the process' start. RuntimeError without an accelerator."""
    require()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Do nothing: XLA's peak is that since the process' start. RuntimeError without an
    accelerator."""
    require()
