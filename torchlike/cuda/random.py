"""Random numbers on GPUs come from the one generator on the host: states are its states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torchlike import random
from torchlike.cuda._device import device_count, is_available, require
from torchlike.tensor import Tensor


def manual_seed(seed: int) -> None:
    """Seed the generator (nothing without a GPU: torch.manual_seed does it)."""
    if is_available():
        random.manual_seed(seed)


def seed() -> None:
    """Seed it from the operating system (nothing without a GPU)."""
    if is_available():
        random.seed()


manual_seed_all, seed_all = manual_seed, seed


def initial_seed() -> int:
    """Return the seed. AssertionError without a GPU."""
    require()
    return random.initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """Return the generator's state. AssertionError without a GPU."""
    require()
    return random.get_rng_state()


def get_rng_state_all() -> list[Tensor]:
    """Return a state for each GPU: all the same; none without one."""
    return [random.get_rng_state() for _ in range(device_count())]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Set the generator's state (nothing without a GPU)."""
    if is_available():
        random.set_rng_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set it to the first of the states."""
    for state in list(new_states)[:1]:
        set_rng_state(state)
