"""``torch.random``: seeding, states, generators.

PyTorch's numbers: ``engine.py`` is its Mersenne twister on NumPy, bit for bit, ``cuda/`` its Philox
for accelerators, and ``generator.py`` what draws from either. How draws become tensors, and inputs
of programs (``dropout``), is in `_ops/random/sampling.py`. Imports `_core` and `_runtime`. Begin
with ``generator.py``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torchlike._core import devices as _devices
from torchlike.random.generator import Generator, accelerators, default_generator
from torchlike.tensor import Tensor

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


def manual_seed(seed: Any) -> Generator:
    """Seed the default generators of all devices, and return the CPU's.

    Args:
      seed: an int of at most 64 bits; the draws that follow are PyTorch's, of the CPU and of CUDA.

    Raises:
      ValueError: outside 64 bits.

    Example:
      >>> _ = torch.manual_seed(0)
      >>> x = torch.rand(3)
      >>> _ = torch.manual_seed(0)
      >>> torch.equal(x, torch.rand(3))
      True
    """
    accelerators.seed_all(int(seed))
    return default_generator.manual_seed(int(seed))


def seed() -> int:
    """Seed the default generators of all devices from the operating system and return the seed."""
    made = default_generator.seed()
    accelerators.seed_all(made)
    return made


def initial_seed() -> int:
    """Return the seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """Return the default generator's state, a uint8 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Put the default generator into a state."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(
    devices: Any = None,
    enabled: Any = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Restore the default generators after a `with` block to the states that they had before it:
    the CPU's, and those of ``devices`` (numbers or devices; by default of all accelerators)."""
    if not enabled:
        yield
        return
    state = default_generator.get_state()
    if devices is None:
        states = accelerators.states()
    else:
        given = [d if isinstance(d, int) else _devices.device(d).index or 0 for d in devices]
        states = {index: accelerators.of(index).get_state() for index in given}
    try:
        yield
    finally:
        default_generator.set_state(state)
        accelerators.restore(states)
