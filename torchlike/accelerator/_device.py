"""Which accelerators there are, and which of them is the current one."""

from __future__ import annotations

from typing import Any

import jax

from torchlike._core import devices


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
    require()
    return 0


def set_device_index(device: Any) -> None:
    """Refuse every index but 0, the only one that can be current: NotImplementedError for others,
    RuntimeError without any."""
    require()
    index = device if isinstance(device, int) else (devices.device(device).index or 0)
    if index != 0:
        raise NotImplementedError("set_device_index: say device='cuda:N' where the tensor is made")


def require() -> None:
    """Raise RuntimeError without an accelerator."""
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
