"""The keys and values of a store, and what can be asked of them.

Standard library only: the launcher serves one to processes that have not imported anything yet.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from torchlike._runtime.rendezvous.errors import DistStoreError, QueueEmptyError


def names(keys: Sequence[str]) -> str:
    """Join keys for a message: the first few of many."""
    shown = ", ".join(keys[:8])
    return shown if len(keys) <= 8 else f"{shown} and {len(keys) - 8} more"


class KeyValueTable:
    """Keys and values that several threads read and write; asking for a key waits until it is
    there. Each method that waits takes seconds and raises DistStoreError after them."""

    def __init__(self) -> None:
        self._values: dict[str, bytes] = {}
        self._queues: dict[str, deque[bytes]] = {}
        self._changed = threading.Condition()

    def _until(self, ready: Callable[[], bool], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not ready():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._changed.wait(min(left, 3600.0))
        return True

    def set(self, key: str, value: bytes) -> None:
        """Keep a value."""
        with self._changed:
            self._values[key] = value
            self._changed.notify_all()

    def get(self, key: str, seconds: float) -> bytes:
        """Wait until a key has a value, and return it."""
        with self._changed:
            self._wait([key], seconds)
            return self._values[key]

    def add(self, key: str, amount: int) -> int:
        """Raise a number, from 0, and give what it is now."""
        with self._changed:
            now = int(self._values.get(key, b"0")) + amount
            self._values[key] = str(now).encode()
            self._changed.notify_all()
            return now

    def append(self, key: str, value: bytes) -> None:
        """Put a value behind what there is."""
        with self._changed:
            self._values[key] = self._values.get(key, b"") + value
            self._changed.notify_all()

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        """Change the value where it is the expected one, or none is there and none is expected; the
        value that the key has then, or the expected one where it has none."""
        with self._changed:
            if key not in self._values and expected:
                return expected
            if self._values.get(key, b"") == expected:
                self._values[key] = desired
                self._changed.notify_all()
            return self._values[key]

    def missing(self, keys: Sequence[str]) -> list[str]:
        """Return the keys that are not there."""
        with self._changed:
            return [key for key in keys if key not in self._values]

    def wait(self, keys: Sequence[str], seconds: float) -> None:
        """Return once all keys are there."""
        with self._changed:
            self._wait(keys, seconds)

    def _wait(self, keys: Sequence[str], seconds: float) -> None:
        values = self._values
        if not self._until(lambda: all(key in values for key in keys), seconds):
            absent = [key for key in keys if key not in values]
            raise DistStoreError(
                f"wait timeout after {seconds * 1000:.0f}ms, keys: {names(absent)} were set by "
                "no process"
            )

    def delete(self, key: str) -> bool:
        """Forget a key; whether it was there."""
        with self._changed:
            return self._values.pop(key, None) is not None

    def keys(self) -> list[str]:
        """Return all keys of the table."""
        with self._changed:
            return list(self._values)

    def push(self, key: str, value: bytes) -> None:
        """Put a value at the end of a queue."""
        with self._changed:
            self._queues.setdefault(key, deque()).append(value)
            self._changed.notify_all()

    def pop(self, key: str, seconds: float) -> bytes:
        """Take the first value of a queue, once there is one. With 0 seconds QueueEmptyError."""
        with self._changed:
            queue = self._queues.setdefault(key, deque())
            if not self._until(lambda: bool(queue), seconds):
                if seconds <= 0:
                    raise QueueEmptyError(f"queue {key} is empty")
                raise DistStoreError(f"wait timeout: queue {key} is empty")
            return queue.popleft()

    def length(self, key: str) -> int:
        """Return how many values a queue has."""
        with self._changed:
            return len(self._queues.get(key, ()))
