"""A device of the CPU's that stands for a GPU, so that what moves between devices is tested where
there is none.

Under ``--xla_force_host_platform_device_count=2`` JAX has two devices, and refuses to mix them as
it refuses to mix a GPU and the CPU. The first, JAX's default, is called ``cuda:0`` here.
"""

from __future__ import annotations

from typing import Any

import jax

from torchlike._core import devices
from torchlike._runtime import platforms


def install() -> None:
    """Before anything is computed: patch what says which device is which."""
    gpu, cpu = jax.devices()
    platforms.only_cpu = lambda: False
    platforms.cpu_device = lambda: cpu
    platforms.is_cpu = lambda device: device is cpu

    def available(type: str, *, of_all_processes: bool = False) -> list[Any]:
        return {"cuda": [gpu], "cpu": [cpu]}.get(devices.mapped(type), [])

    devices.available = available
    kinds = {gpu: devices.device("cuda", 0), cpu: devices.CPU}
    devices.from_jax = kinds.__getitem__  # type: ignore[assignment]
