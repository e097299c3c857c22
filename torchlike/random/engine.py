"""The CPU generator of PyTorch: mt19937, its seed rule, its 5056 state bytes, its cached normal.

The words come from numpy's MT19937, which is the same recurrence twisted at the same moments, so
a state can be carried over in both directions. A draw of n words costs about 1.5 ns a word.
"""

from __future__ import annotations

import ctypes
import functools
import math
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

#: What a generator starts from when nobody seeds it.
DEFAULT_SEED = 67280421310721

#: 53 bits make a double in [0, 1).
MASK53 = (1 << 53) - 1
UNIT53 = 2.0**-53

_WORDS = 624
_STATE = np.dtype(
    {
        "names": [
            "seed",
            "left",
            "seeded",
            "next",
            "key",
            "normal",
            "has_normal",
            "normal32",
            "has_normal32",
        ],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", _WORDS), "<f8", "<i4", "<f4", "u1"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": 5056,
    }
)

#: Below this many words ``random_raw`` (0.4 µs a call, 2.0 ns a word) beats
#: ``Generator.integers`` (3 µs a call, 1.5 ns a word).
_FEW_WORDS = 4096


def unsigned_seed(seed: int) -> int:
    """Return the seed as PyTorch keeps it: modulo 2**64, so -1 becomes 2**64 - 1.

    Raises:
      ValueError: outside [-2**63, 2**64 - 1].
    """
    if not -(1 << 63) <= seed < 1 << 64:
        raise ValueError("Overflow when unpacking long long")
    return seed & ((1 << 64) - 1)


class Engine:
    """One mt19937 stream with PyTorch's seeding, cached normal and state bytes.

    ``lock`` is re-entrant and held by every fill from its first word to its last, so that
    threads that share an engine get whole tensors and never halves of each other's.
    """

    __slots__ = (
        "_bits",
        "_generator",
        "_normal32",
        "_seed",
        "_spent_next",
        "cached_normal",
        "lock",
    )

    #: The second value of the last scalar pair, waiting for the next scalar normal.
    cached_normal: float | None
    #: Fills that take the place of those marked `by_engine`, by name; None: these are its own.
    fills: ClassVar[Mapping[str, Callable[..., Any]] | None] = None

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self.lock = threading.RLock()
        self._bits = np.random.MT19937(0)
        self._generator = np.random.Generator(self._bits)
        self.seed(seed)

    # -- marks -------------------------------------------------------------------------------------

    def mark(self) -> tuple[Any, ...]:
        """Return where the stream is, for `is_at` and `go_back`: a copy of 2.5 KB, 0.5 us."""
        return (
            self._memory().copy(),
            self._seed,
            self.cached_normal,
            self._normal32,
            (self._spent_next),
        )

    def is_at(self, mark: tuple[Any, ...]) -> bool:
        """Return whether nobody has drawn or seeded since a mark was taken."""
        normals = self.cached_normal, self._normal32
        return np.array_equal(self._memory(), mark[0]) and normals == mark[2:4]

    def go_back(self, mark: tuple[Any, ...]) -> None:
        """Restore the state of a mark."""
        with self.lock:
            self._memory()[:] = mark[0]
            _, self._seed, self.cached_normal, self._normal32, self._spent_next = mark

    def _memory(self) -> np.ndarray:
        """Return NumPy's state of the stream, as it lies in memory: the words, and the place in
        them."""
        words = ctypes.c_uint32 * (_WORDS + 1)
        return np.ctypeslib.as_array(words.from_address(self._bits.ctypes.state_address))

    # -- seeding -----------------------------------------------------------------------------------

    def seed(self, seed: int) -> None:
        """Start again from ``seed``, and drop the cached normal.

        All 64 bits are kept for ``initial_seed``, but only the low 32 start the stream, so that
        0 and 2**32 give the same numbers. Draws nothing.

        Raises:
          RuntimeError: ``seed`` is not an integer.
          ValueError: outside [-2**63, 2**64 - 1].
        """
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        full = unsigned_seed(int(seed))
        with self.lock:
            self._bits._legacy_seeding(full & 0xFFFFFFFF)
            self._seed = full
            self._spent_next = 0
            self.cached_normal = None
            self._normal32: float | None = None

    def seed_from_entropy(self) -> int:
        """Seed with 64 bits from the operating system, and return that seed."""
        seed = secrets.randbits(64)
        self.seed(seed)
        return seed

    def initial_seed(self) -> int:
        """Return the seed last set, in [0, 2**64)."""
        return self._seed

    # -- draws -------------------------------------------------------------------------------------

    def words32(self, n: int) -> np.ndarray:
        """Draw the next ``n`` words, uint32 of shape (n,)."""
        if n < _FEW_WORDS:
            if n == 0:
                return np.empty(0, np.uint32)
            self._spent_next = _WORDS
            return self._bits.random_raw(n).astype(np.uint32)
        self._spent_next = _WORDS
        return self._generator.integers(0, 0xFFFFFFFF, n, np.uint32, endpoint=True)

    def words64(self, n: int) -> np.ndarray:
        """Draw ``n`` 64-bit words, uint64 of shape (n,): the word drawn first is the high half.

        Draws 2n words.
        """
        if n < _FEW_WORDS:
            if n == 0:
                return np.empty(0, np.uint64)
            self._spent_next = _WORDS
            halves = self._bits.random_raw(2 * n)
            return (halves[::2] << np.uint64(32)) | halves[1::2]
        self._spent_next = _WORDS
        return self._generator.integers(0, 0xFFFFFFFFFFFFFFFF, n, np.uint64, endpoint=True)

    def double(self) -> float:
        """Draw one uniform double in [0, 1): 53 bits of a 64-bit word. Draws 2 words."""
        raw = self._bits.random_raw
        self._spent_next = _WORDS
        high = raw()
        return (((high << 32) | raw()) & MASK53) * UNIT53

    def normal(self) -> float:
        """Draw one standard normal, or take the cached one. Draws 4 words, or none when one was
        cached.

        Box-Muller on two uniform doubles x1, x2: radius sqrt(-2 log1p(-x2)), angle 2 pi x1; the
        cosine is the value, the sine is cached.
        """
        with self.lock:
            cached = self.cached_normal
            if cached is not None:
                self.cached_normal = None
                return cached
            x1, x2 = self.double(), self.double()
            radius, angle = math.sqrt(-2.0 * math.log1p(-x2)), 2.0 * math.pi * x1
            self.cached_normal = radius * math.sin(angle)
            return radius * math.cos(angle)

    # -- state -------------------------------------------------------------------------------------

    def get_state(self) -> np.ndarray:
        """Return the state as PyTorch's 5056 bytes, uint8 of shape (5056,), a fresh array."""
        with self.lock:
            stream: Any = self._bits.state["state"]
            pos = int(stream["pos"])
            record = np.zeros(1, _STATE)
            record["seed"] = self._seed
            record["seeded"] = 1
            record["key"] = stream["key"]
            # Both engines twist when the 625th word is asked for; until then PyTorch's `left`
            # is 1 and `next` tells a fresh seed (0) from a block used up (624).
            record["left"] = 1 if pos == _WORDS else _WORDS + 1 - pos
            record["next"] = self._spent_next if pos == _WORDS else pos
            for name, value in (("normal", self.cached_normal), ("normal32", self._normal32)):
                if value is not None:
                    record[name] = value
                    record[f"has_{name}"] = 1
        return record.view(np.uint8)

    def set_state(self, state: np.ndarray) -> None:
        """Take over a state of 5056 bytes, seed and cached normal included.

        Raises:
          TypeError: not a numpy array of uint8.
          RuntimeError: another size, or a record that is not a valid mt19937 state.

        Differs from PyTorch: a record whose ``left`` and ``next`` contradict each other is
        refused too; PyTorch accepts it and then reads beyond its words.
        """
        if not isinstance(state, np.ndarray):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if state.size != _STATE.itemsize:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {_STATE.itemsize} but found the input "
                f"RNG state size to be {state.size}"
            )
        record = np.frombuffer(state.tobytes(), _STATE)[0]
        left, next_ = int(record["left"]), int(record["next"])
        valid = int(record["seeded"]) == 1 and 0 < left <= _WORDS and next_ <= _WORDS
        if not valid or (left != 1 and left + next_ != _WORDS + 1):
            raise RuntimeError("Invalid mt19937 state")
        with self.lock:
            self._bits.state = {
                "bit_generator": "MT19937",
                "state": {
                    "key": record["key"].astype(np.uint32),
                    "pos": _WORDS if left == 1 else next_,
                },
            }
            self._seed = int(record["seed"])
            self._spent_next = next_ if left == 1 else _WORDS
            self.cached_normal = float(record["normal"]) if record["has_normal"] else None
            self._normal32 = float(record["normal32"]) if record["has_normal32"] else None

    def copy(self) -> Engine:
        """Return a separate engine that will give the same numbers."""
        return from_state(self.get_state())

    def __reduce__(self) -> tuple[Callable[[np.ndarray], Engine], tuple[np.ndarray]]:
        return from_state, (self.get_state(),)


def from_state(state: np.ndarray) -> Engine:
    """Return a new engine with the given 5056 state bytes; raises what ``set_state`` raises."""
    engine = Engine()
    engine.set_state(state)
    return engine


def atomic(fill: Callable[..., Any]) -> Callable[..., Any]:
    """Mark ``fill(engine, ...)`` as one draw: the engine's lock is held throughout (0.3 µs)."""

    @functools.wraps(fill)
    def locked(engine: Engine, *args: Any, **kwargs: Any) -> Any:
        with engine.lock:
            return fill(engine, *args, **kwargs)

    return locked


def by_engine(fill: Callable[..., Any]) -> Callable[..., Any]:
    """Mark ``fill(engine, ...)`` as that of this engine alone: another kind (a GPU's) has one of
    the same name, in its ``fills``."""
    name = fill.__name__

    @functools.wraps(fill)
    def chosen(engine: Engine, *args: Any, **kwargs: Any) -> Any:
        if engine.fills is None:
            return fill(engine, *args, **kwargs)
        return engine.fills[name](engine, *args, **kwargs)

    return chosen
