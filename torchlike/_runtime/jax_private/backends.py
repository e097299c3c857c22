"""Which backends have started, and which devices a machine has, without starting one."""

from __future__ import annotations

import sys
from typing import Any

from torchlike._runtime.jax_private.names import declare

BACKENDS = declare(
    "jax._src.xla_bridge.backends_are_initialized",
    "whether a backend runs in this process",
    "one is taken to run",
)
TPU_CHIPS = declare(
    "jax._src.hardware_utils.num_available_tpu_chips_and_device_id",
    "whether this machine has a TPU, known before a backend starts",
    "it is taken to have one where libtpu is installed",
)
NVIDIA_GPU = declare(
    "jax._src.hardware_utils.has_visible_nvidia_gpu",
    "whether this machine has a GPU, known before a backend starts",
    "it is taken to have one where a plugin for one is installed",
)


def started() -> bool:
    """Return whether a backend runs in this process, with threads that a fork of it would not
    have. JAX has no public name for that: asking for its devices starts one. Imports nothing."""
    bridge: Any = sys.modules.get(BACKENDS.where.rpartition(".")[0])
    if bridge is None:
        return False
    asked = BACKENDS.find()
    return asked is None or asked()


def has_tpu() -> bool:
    """Return whether this machine has a TPU's chips; True where JAX cannot tell."""
    count = TPU_CHIPS.find()
    return count is None or count()[0] > 0


def has_nvidia_gpu() -> bool:
    """Return whether this machine has a GPU; True where JAX cannot tell."""
    has = NVIDIA_GPU.find()
    return has is None or has()
