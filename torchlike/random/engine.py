"""The engine behind PyTorch's CPU generator: mt19937, its 5056-byte state, its cached normal.

NumPy's MT19937 gives the same words in the same order; what is PyTorch's own is the seeding rule,
the layout of the state, and the one standard normal kept for the next scalar draw.
"""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np

#: What a generator made without a seed starts from.
DEFAULT_SEED = 67280421310721
STATE_BYTES = 5056
_WORDS = 624


def checked_seed(seed: Any) -> int:
    """A seed as its unsigned 64-bit value. ValueError, in PyTorch's words, outside 64 bits."""
    value = int(seed)
    if not -(1 << 63) <= value < 1 << 64:
        raise ValueError("Overflow when unpacking long long")
    return value % (1 << 64)


class Engine:
    """A stream of 32-bit words."""

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self.seed(seed)

    def seed(self, seed: Any) -> None:
        """Start over. Only the low 32 bits of the seed reach the stream; all 64 are remembered."""
        self.initial_seed = checked_seed(seed)
        legacy = np.random.RandomState(self.initial_seed & 0xFFFFFFFF)
        self._bits = np.random.MT19937()
        self._bits.state = legacy.get_state(legacy=False)
        self._generator = np.random.Generator(self._bits)
        self._fresh = True
        #: A standard normal made in advance (float64), or None.
        self.cached_normal: float | None = None

    def seed_from_system(self) -> int:
        """Start over from a 64-bit number of the operating system's; gives that number."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.seed(seed)
        return seed

    def words32(self, n: int) -> np.ndarray:
        """The next n words, as uint32."""
        if n:
            self._fresh = False
        return self._generator.integers(0, 0xFFFFFFFF, n, dtype=np.uint32, endpoint=True)

    def words64(self, n: int) -> np.ndarray:
        """The next n pairs of words, as uint64; the word drawn first is the high half."""
        pairs = self.words32(2 * n).astype(np.uint64).reshape(n, 2)
        return (pairs[:, 0] << np.uint64(32)) | pairs[:, 1]

    # -- state -------------------------------------------------------------------------------------

    def get_state(self) -> np.ndarray:
        """The state as PyTorch's 5056 bytes."""
        state = self._bits.state["state"]
        position = int(state["pos"])
        if position < _WORDS:
            left, following = _WORDS + 1 - position, position
        else:
            left, following = 1, 0 if self._fresh else _WORDS
        cached = self.cached_normal
        packed = struct.pack("<QiiQ", self.initial_seed, left, 1, following)
        packed += state["key"].astype("<u8").tobytes()
        packed += struct.pack(
            "<dddi4xf4x", 0.0, cached or 0.0, 0.0, int(cached is not None), 0.0
        )
        return np.frombuffer(packed, np.uint8).copy()

    def set_state(self, state: np.ndarray) -> None:
        """Go back to a state. RuntimeError for one of another size or with impossible entries."""
        if state.size != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG "
                f"state size to be {state.size}"
            )
        packed = np.ascontiguousarray(state, np.uint8).tobytes()
        seed, left, seeded, following = struct.unpack_from("<QiiQ", packed, 0)
        if not seeded or not 0 < left <= _WORDS or following > _WORDS:
            raise RuntimeError("Invalid mt19937 state")
        key = np.frombuffer(packed, "<u8", _WORDS, 24).astype(np.uint32)
        _, cached, _, has_cached = struct.unpack_from("<dddi", packed, 24 + 8 * _WORDS)
        position = _WORDS if left == 1 else following
        self.initial_seed = seed
        self._bits.state = {
            "bit_generator": "MT19937", "state": {"key": key, "pos": position},
        }  # fmt: skip
        self._fresh = left == 1 and following == 0
        self.cached_normal = cached if has_cached else None
