"""A device of the CPU's that stands for a GPU, so that what moves between devices is tested where
there is none.

Under ``--xla_force_host_platform_device_count=2`` JAX has two devices, and refuses to mix them as
it refuses to mix a GPU and the CPU. The first, JAX's default, is called ``cuda:0`` here.
"""

from __future__ import annotations

from torchlike._runtime import platforms


def install() -> None:
    """Before anything is computed: say which device is which."""
    platforms.stand_for_gpu()
