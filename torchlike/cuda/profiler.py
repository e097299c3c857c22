"""The switch of NVIDIA's profilers, which need none here: AssertionError without a GPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torchlike.cuda._device import require


def start() -> None:
    """Do nothing: give the profiler the process from its beginning. AssertionError without a
    GPU."""
    require()


def stop() -> None:
    """Do nothing. AssertionError without a GPU."""
    require()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """Call ``start`` and ``stop`` around a ``with`` block."""
    start()
    try:
        yield
    finally:
        stop()
