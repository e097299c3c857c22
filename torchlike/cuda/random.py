"""Random numbers on GPUs: each has a generator of its own, of PyTorch's numbers on CUDA."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torchlike._core import devices
from torchlike.cuda._device import device_count, is_available, require
from torchlike.random.generator import Generator, accelerators, default_generator
from torchlike.tensor import Tensor


def _generator(device: Any = "cuda") -> Generator:
    """Return the generator of a GPU; the CPU's where "cuda" means the CPU."""
    if devices.mapped("cuda") == "cpu":
        return default_generator
    return accelerators.of(devices.device(device).index or 0)


def _all_generators() -> tuple[Generator, ...]:
    """Return the generator of each GPU; none without one."""
    return tuple([_generator(index) for index in range(device_count())])


def manual_seed(seed: int) -> None:
    """Seed the current GPU's generator (nothing without a GPU: torch.manual_seed does it)."""
    if is_available():
        _generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed all GPUs' generators (nothing without a GPU)."""
    for generator in _all_generators():
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seed the current GPU's generator from the operating system (nothing without a GPU)."""
    if is_available():
        _generator().seed()


def seed_all() -> None:
    """Seed all GPUs' generators with one number of the operating system's (nothing without a
    GPU)."""
    if is_available():
        manual_seed_all(_generator().seed())


def initial_seed() -> int:
    """Return the seed of the current GPU's generator. AssertionError without a GPU."""
    require()
    return _generator().initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """Return the state of a GPU's generator, 16 bytes: the seed and the offset. AssertionError
    without a GPU."""
    require()
    return _generator(device).get_state()


def get_rng_state_all() -> list[Tensor]:
    """Return the state of each GPU's generator; none without one."""
    return [generator.get_state() for generator in _all_generators()]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Set the state of a GPU's generator, which PyTorch may have written (nothing without a
    GPU)."""
    if is_available():
        _generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set the state of each GPU's generator."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def _get_rng_state_offset(device: Any = "cuda") -> int:
    """Return the offset of a GPU's generator. AssertionError without a GPU."""
    require()
    return _generator(device).get_offset()


def _set_rng_state_offset(offset: int, device: Any = "cuda") -> None:
    """Set the offset of a GPU's generator (nothing without a GPU)."""
    if is_available():
        _generator(device).set_offset(offset)
