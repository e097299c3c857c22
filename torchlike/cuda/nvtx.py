"""Ranges in a profile, by jax.profiler; RuntimeError without a GPU."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import jax

from torchlike.cuda._device import is_available

_open = threading.local()


def _stack() -> list[Any]:
    if not is_available():
        raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
    if not hasattr(_open, "ranges"):
        _open.ranges = []
    return _open.ranges


def range_push(msg: str) -> int:
    """Begin a range; gives its depth."""
    ranges = _stack()
    ranges.append(jax.profiler.TraceAnnotation(msg))
    ranges[-1].__enter__()
    return len(ranges) - 1


def range_pop() -> int:
    """End the last range; gives its depth, -1 when there is none."""
    ranges = _stack()
    if not ranges:
        return -1
    ranges.pop().__exit__(None, None, None)
    return len(ranges)


def mark(msg: str) -> None:
    """Mark a range without length."""
    range_push(msg)
    range_pop()


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Mark a range by a ``with`` block; the message is formatted with the arguments."""
    range_push(msg.format(*args, **kwargs))
    try:
        yield
    finally:
        range_pop()
