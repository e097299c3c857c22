"""``torch.accelerator``: whichever accelerator JAX found, by one name."""

from __future__ import annotations

import warnings
from typing import Any

import jax

from torchlike import cuda as _cuda
from torchlike._compat.streams import Stream
from torchlike._core import devices
from torchlike._core.dtypes import ALL as _DTYPES
from torchlike._runtime import pending


def current_accelerator(check_available: Any = False) -> devices.device | None:
    """Return the device type of JAX's default backend, None on a machine with a CPU only."""
    platform = jax.default_backend()
    return (
        None if platform == "cpu" else devices.device(devices.from_jax(jax.local_devices()[0]).type)
    )


def is_available() -> Any:
    """Return whether there is an accelerator."""
    return current_accelerator() is not None


def device_count() -> int:
    """Return how many accelerators JAX sees."""
    return jax.local_device_count() if is_available() else 0


def current_device_index() -> int:
    """Return the index of the accelerator on which new tensors are made. RuntimeError without
    one."""
    _require()
    return 0


def set_device_index(device: Any) -> None:
    """Refuse every index but 0, the only one that can be current: NotImplementedError for others,
    RuntimeError without any."""
    _require()
    index = device if isinstance(device, int) else (devices.device(device).index or 0)
    if index != 0:
        raise NotImplementedError("set_device_index: say device='cuda:N' where the tensor is made")


def synchronize(device: Any = None) -> None:
    """Wait until all work on the devices is done. RuntimeError without an accelerator."""
    _require()
    pending.wait()


def current_stream(device: Any = None) -> Stream:
    """Return the stream of an accelerator; there is one. RuntimeError without an accelerator."""
    _require()
    return Stream(current_accelerator() if device is None else device)


def set_stream(stream: Stream) -> None:
    """Do nothing: there is one stream. RuntimeError without an accelerator."""
    _require()


def get_device_capability(device: Any = None) -> dict[str, Any]:
    """Return ``supported_dtypes``, the dtypes tensors have. RuntimeError without an accelerator."""
    _require()
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
        _require()
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
    _require()
    _cuda.empty_cache()


def empty_host_cache() -> None:
    """Do nothing: there is nothing to give back. RuntimeError without an accelerator."""
    _require()


def memory_stats(device: Any = None) -> Any:
    """Return the numbers that XLA's allocator counts, under PyTorch's names."""
    _require()
    return _cuda.memory_stats(device)


def memory_allocated(device: Any = None) -> int:
    """Return the bytes in use."""
    _require()
    return _cuda.memory_allocated(device)


def max_memory_allocated(device: Any = None) -> int:
    """Return the most bytes that were in use."""
    _require()
    return _cuda.max_memory_allocated(device)


def memory_reserved(device: Any = None) -> int:
    """Return the bytes held by XLA's allocator."""
    _require()
    return _cuda.memory_reserved(device)


def max_memory_reserved(device: Any = None) -> int:
    """Return the most bytes that were held."""
    _require()
    return _cuda.max_memory_reserved(device)


def get_memory_info(device: Any = None) -> tuple[int, int]:
    """Return the bytes free, and in all."""
    _require()
    return _cuda.mem_get_info(device)


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Do nothing: XLA's counts run from the process' start. RuntimeError without an accelerator."""
    _require()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Do nothing: XLA's peak is that since the process' start. RuntimeError without an
    accelerator."""
    _require()


def _require() -> None:
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
