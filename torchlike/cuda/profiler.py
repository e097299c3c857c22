"""The switch of NVIDIA's profilers, which need none here: AssertionError without a GPU."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torchlike.cuda._device import require


def start() -> None:
    """Nothing to do: give the profiler the process from its beginning."""
    require()


def stop() -> None:
    """Nothing to do."""
    require()


@contextlib.contextmanager
def profile() -> Iterator[None]:
    """A region between ``start`` and ``stop``."""
    start()
    try:
        yield
    finally:
        stop()
