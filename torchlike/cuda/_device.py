"""GPUs: how many, which, and what they are."""

from __future__ import annotations

from typing import Any, NamedTuple

from torchlike._core import devices
from torchlike._runtime import platforms
from torchlike.random.cuda import cards


def is_available() -> bool:
    """Return whether JAX has a GPU backend.

    Returns:
      True for a GPU of any maker that JAX has a backend for; a TPU is none.
    """
    return bool(devices.available("cuda"))


def device_count() -> int:
    """Return how many GPUs JAX sees; 0 without a GPU backend."""
    return len(devices.available("cuda"))


def require() -> None:
    """Raise AssertionError without a GPU, in the words of PyTorch built without CUDA."""
    if not is_available():
        raise AssertionError("Torch not compiled with CUDA enabled")


def jax_device(device: Any = None) -> Any:
    """Return the JAX device that is meant; the first by default. AssertionError without a GPU."""
    require()
    if isinstance(device, int):
        return devices.to_jax(devices.device("cuda", device))
    return devices.to_jax(devices.device("cuda" if device is None else device))


def current_device() -> int:
    """Return the index of the current GPU. AssertionError without one."""
    require()
    return 0


def set_device(device: Any) -> None:
    """Choose the GPU for new tensors made on "cuda"; only device 0 can be the current one."""
    index = device if isinstance(device, int) else devices.device(device).index or 0
    if index < 0:
        return
    require()
    if index != 0:
        raise NotImplementedError("set_device: say device='cuda:N' where the tensor is made")


class device:
    """A region on a GPU: new tensors that name none are made there. Negative: nothing changes."""

    def __init__(self, device: Any) -> None:
        if isinstance(device, int):
            self.idx = device
        else:
            named = devices.device(device) if device is not None else None
            self.idx = -1 if named is None else named.index or 0
        self._region: Any = None

    def __enter__(self) -> None:
        if self.idx < 0:
            return
        require()
        if self.idx != 0:
            raise NotImplementedError(
                "torch.cuda.device: say device='cuda:N' where the tensor is made"
            )

    def __exit__(self, *exc: object) -> bool:
        return False


class device_of(device):
    """The region of a tensor's GPU; nothing for tensors elsewhere."""

    def __init__(self, obj: Any) -> None:
        super().__init__((obj.device.index or 0) if obj.device.type == "cuda" else -1)


def get_device_name(device: Any = None) -> str:
    """Return the GPU's name. AssertionError without one."""
    found = jax_device(device)
    return cards.current().name if platforms.stands_for_gpu(found) else found.device_kind


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the GPU's compute capability, (8, 0) for instance. AssertionError without one."""
    major, _, minor = str(getattr(jax_device(device), "compute_capability", "0.0")).partition(".")
    return int(major), int(minor or 0)


class DeviceProperties(NamedTuple):
    """What JAX knows of a GPU, under PyTorch's names."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Return the GPU's name, compute capability, memory and multiprocessors. AssertionError without
    a GPU."""
    gpu = jax_device(device)
    memory = (gpu.memory_stats() or {}).get("bytes_limit", 0)
    count = getattr(gpu, "core_count", 0)
    if platforms.stands_for_gpu(gpu):
        count = cards.current().multiprocessors
    return DeviceProperties(
        get_device_name(device), *get_device_capability(device), int(memory), int(count)
    )
