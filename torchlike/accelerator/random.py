"""``torch.accelerator.random``: the states of the accelerators' generators."""

from __future__ import annotations

from typing import Any

from torchlike._core import devices
from torchlike.accelerator._device import current_device_index, device_count
from torchlike.random.generator import Generator, accelerators
from torchlike.tensor import Tensor

__all__ = ["get_rng_state", "get_rng_state_all", "initial_seed"]


def _generator(device: Any) -> Generator:
    current = current_device_index()
    index = device if device is None or isinstance(device, int) else devices.device(device).index
    return accelerators.of(current if index is None else index)


def initial_seed(device: Any = None, /) -> int:
    """Return the seed of an accelerator's generator. RuntimeError without an accelerator."""
    return _generator(device).initial_seed()


def get_rng_state(device: Any = None, /) -> Tensor:
    """Return the state of an accelerator's generator, 16 bytes: the seed and the offset.
    RuntimeError without an accelerator."""
    return _generator(device).get_state()


def get_rng_state_all() -> list[Tensor]:
    """Return the state of each accelerator's generator; none without one."""
    return [get_rng_state(i) for i in range(device_count())]
