"""Reads what JAX's profiler wrote: the events on the host's threads and on accelerators."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.profiler

from torchlike.profiler.events import FunctionEvent

#: How names begin of what is left out: frames of Python's functions, of which there is one for each
#: call, and marks in time.
_OTHERS = "$", "ThreadpoolListener::"


def read(folder: Path, regions: frozenset[str]) -> list[FunctionEvent]:
    """Read the events of a trace. ``regions``: the names that the program gave its own.

    RuntimeError where JAX wrote no trace.
    """
    files = sorted(folder.rglob("*.xplane.pb"))
    if not files:
        raise RuntimeError("JAX wrote no trace.")
    data = jax.profiler.ProfileData.from_file(str(files[-1]))
    return [
        FunctionEvent(
            event.name,
            event.start_ns / 1e3,
            (event.start_ns + event.duration_ns) / 1e3,
            thread,
            is_on_device=is_on_device,
            is_user_annotation=event.name in regions,
        )
        for thread, (is_on_device, line) in enumerate(_lines(data))
        for event in line.events
        if not event.name.startswith(_OTHERS)
    ]


def _lines(data: Any) -> Iterator[tuple[bool, Any]]:
    """Yield the threads of the host, and the lines of accelerators."""
    for plane in data.planes:
        is_on_device = plane.name.startswith("/device:") and "CPU" not in plane.name
        if is_on_device or plane.name.startswith("/host:CPU"):
            for line in plane.lines:
                yield is_on_device, line
