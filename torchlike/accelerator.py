"""``torch.accelerator``: whichever accelerator JAX found, by one name."""

from __future__ import annotations

from typing import Any

import jax

from torchlike import devices


def current_accelerator(check_available: Any = False) -> devices.device | None:
    """The device type of JAX's default backend, None on a machine with a CPU only."""
    platform = jax.default_backend()
    return None if platform == "cpu" else devices.device(devices.from_jax(jax.devices()[0]).type)


def is_available() -> Any:
    """Whether there is an accelerator."""
    return current_accelerator() is not None


def device_count() -> int:
    """How many accelerators JAX sees."""
    return jax.device_count() if is_available() else 0


def current_device_index() -> int:
    """The index of the accelerator on which new tensors are made. RuntimeError without one."""
    _require()
    return 0


def set_device_index(device: Any) -> None:
    """Only 0 can be the current one: NotImplementedError for others, RuntimeError without any."""
    _require()
    index = device if isinstance(device, int) else (devices.device(device).index or 0)
    if index != 0:
        raise NotImplementedError("set_device_index: say device='cuda:N' where the tensor is made")


def synchronize(device: Any = None) -> None:
    """Wait until all work on the devices is done."""
    jax.effects_barrier()
    for d in jax.local_devices():
        jax.device_put(0, d).block_until_ready()


def _require() -> None:
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
