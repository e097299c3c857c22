"""How busy the machine is while none of our workers runs."""

from __future__ import annotations

import os
import time
from pathlib import Path

_STAT = Path("/proc/stat")


def busy_fraction(seconds: float) -> float | None:
    """Sleep, and give the share of all processors that was in use; None where Linux's /proc is not.

    Our own workers sleep while this runs, so what it sees is somebody else.
    """
    if not _STAT.exists():
        time.sleep(seconds)
        return None
    before = _jiffies()
    time.sleep(seconds)
    return busy_between(before, _jiffies())


def busy_between(before: list[int], after: list[int]) -> float:
    """Return the busy share between two readings of /proc/stat's first line (proc(5))."""
    spent = [b - a for a, b in zip(before, after, strict=True)]
    total = sum(spent[:8])  # guest time is already part of user time
    idle = spent[3] + spent[4]
    return 1 - idle / total if total else 0.0


def _jiffies() -> list[int]:
    first_line = _STAT.read_text().splitlines()[0]
    return [int(word) for word in first_line.split()[1:]]


def wait_until_quiet(below: float, patience: float, sample: float = 0.2) -> float | None:
    """Wait until the machine is less than `below` busy, `patience` seconds at most.

    Returns the last busy share seen.
    """
    deadline = time.monotonic() + patience
    while True:
        busy = busy_fraction(sample)
        if busy is None or busy <= below or time.monotonic() >= deadline:
            return busy


def describe_machine() -> str:
    """Return the processor's name and the number of logical processors that we may use."""
    info = Path("/proc/cpuinfo")
    names = [
        line.partition(":")[2].strip()
        for line in (info.read_text().splitlines() if info.exists() else [])
        if line.startswith("model name")
    ]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{names[0] if names else 'processor unknown'}, {cores} logical processors"
