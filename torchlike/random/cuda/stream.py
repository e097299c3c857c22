"""The generator of a GPU: a seed and an offset, 16 bytes of state."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

import numpy as np

from torchlike.random.cuda.philox import key_of
from torchlike.random.engine import DEFAULT_SEED, unsigned_seed

#: The fills that draw from a GPU's stream, by name (``fills.py``).
FILLS: dict[str, Callable[..., Any]] = {}

_STATE = np.dtype([("seed", "<u8"), ("offset", "<i8")])


class WordStream(Protocol):
    """What a fill draws from: an engine, or what stands for one where a program is traced, which
    will draw anew at each of its runs."""

    lock: Any

    def take(self, increment: int) -> Any: ...


class PhiloxEngine:
    """One Philox stream, with PyTorch's seeding and state bytes for CUDA.

    It has the methods of `Engine`, by which generators, captures and checkpoints handle either;
    numbers are drawn from it by ``torchlike.random.cuda.fills``.
    """

    __slots__ = ("_offset", "_seed", "lock")

    #: Takes the place of the CPU's fills (see ``engine.by_engine``).
    fills: ClassVar[Mapping[str, Callable[..., Any]]] = FILLS

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self.lock = threading.RLock()
        self._seed, self._offset = unsigned_seed(seed), 0

    # -- draws -------------------------------------------------------------------------------------

    def take(self, increment: int) -> Any:
        """Return the key of the next numbers (`key_of`), and grow the offset by ``increment``,
        rounded up to a multiple of 4."""
        with self.lock:
            key = key_of(self._seed, self._offset)
            self._offset = (self._offset + (increment + 3) // 4 * 4) & ((1 << 64) - 1)
        return key

    # -- seeding -----------------------------------------------------------------------------------

    def seed(self, seed: int) -> None:
        """Start again from ``seed``, whose 64 bits all count. Raises as ``Engine.seed``."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        with self.lock:
            self._seed, self._offset = unsigned_seed(int(seed)), 0

    def seed_from_entropy(self) -> int:
        """Seed from the operating system, and return that seed: 53 bits, as PyTorch takes for a
        GPU."""
        seed = secrets.randbits(53)
        self.seed(seed)
        return seed

    def initial_seed(self) -> int:
        """Return the seed last set, in [0, 2**64)."""
        return self._seed

    @property
    def offset(self) -> int:
        """What was drawn since the seed, in words of one thread."""
        return self._offset

    @offset.setter
    def offset(self, offset: int) -> None:
        if offset % 4:
            raise RuntimeError("offset must be a multiple of 4")
        if not 0 <= offset < 1 << 64:
            raise ValueError("Overflow when unpacking long long")
        with self.lock:
            self._offset = offset

    # -- state -------------------------------------------------------------------------------------

    def get_state(self) -> np.ndarray:
        """Return the state as PyTorch's 16 bytes, uint8 of shape (16,), a fresh array."""
        signed = self._offset - (1 << 64) if self._offset >= 1 << 63 else self._offset
        return np.array([(self._seed, signed)], _STATE).view(np.uint8)

    def set_state(self, state: np.ndarray) -> None:
        """Take over a state of 16 bytes, or of 8: a seed alone.

        Raises:
          TypeError: not a numpy array of uint8.
          RuntimeError: another size, or an offset that is no multiple of 4.
        """
        if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size not in (8, 16):
            raise RuntimeError("RNG state is wrong size")
        whole = state.tobytes() + bytes(16 - state.size)
        record = np.frombuffer(whole, _STATE)[0]
        with self.lock:
            self.offset = int(record["offset"]) & ((1 << 64) - 1)
            self._seed = int(record["seed"])

    # -- marks -------------------------------------------------------------------------------------

    def mark(self) -> tuple[int, int]:
        """Return where the stream is, for `is_at` and `go_back`."""
        return self._seed, self._offset

    def is_at(self, mark: tuple[int, int]) -> bool:
        """Return whether nobody has drawn or seeded since a mark was taken."""
        return (self._seed, self._offset) == mark

    def go_back(self, mark: tuple[int, int]) -> None:
        """Restore the state of a mark."""
        with self.lock:
            self._seed, self._offset = mark

    def copy(self) -> PhiloxEngine:
        """Return a separate engine that will give the same numbers."""
        made = PhiloxEngine()
        made.go_back(self.mark())
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_state, (self.get_state(),)


def _from_state(state: np.ndarray) -> PhiloxEngine:
    engine = PhiloxEngine()
    engine.set_state(state)
    return engine
