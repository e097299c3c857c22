"""``torch.profiler.itt``: marks for Intel's VTune, for which XLA has none: they do nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = ["is_available", "mark", "range", "range_pop", "range_push"]


def is_available() -> bool:
    """Return False: JAX's wheels are built without ITT."""
    return False


def range_push(msg: str) -> int:
    """Begin a range: nothing sees it."""
    return 0


def range_pop() -> int:
    """End the innermost range."""
    return 0


def mark(msg: str) -> None:
    """Mark an instant: nothing sees it."""


@contextlib.contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """Run the block of ``with range("epoch {}", n):``; nothing is marked."""
    yield
