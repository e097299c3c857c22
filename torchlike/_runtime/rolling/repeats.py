"""Finds where a sequence of numbers repeats itself, in time that grows with its length."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

#: Numbers of a window. Where a repeat is longer, most of its windows are met once a turn.
_WINDOW = 8
#: So many distances are looked at.
_MOST_PERIODS = 256
#: An odd number whose powers, of 64 bits, tell the places in a window apart.
_BASE = np.uint64(0x9E3779B97F4A7C15)


class Repeat(NamedTuple):
    """``length`` numbers from ``start`` on, each equal to the one ``period`` places later, as far
    as there is one."""

    start: int
    period: int
    length: int

    @property
    def saved(self) -> int:
        """How many numbers are left out if each turn but one is."""
        return (self.length // self.period - 1) * self.period


def repeats(numbers: Any, turns: int, longest: int) -> list[Repeat]:
    """Find the maximal repeats of at least ``turns`` turns, and of at most ``longest`` numbers a
    turn; what saves most comes first, and of equals the shortest turn."""
    found: list[Repeat] = []
    n = len(numbers)
    for period in _periods(numbers, min(longest, n // turns)):
        differs = np.flatnonzero(numbers[period:] != numbers[:-period])
        ends = np.concatenate([[-1], differs, [n - period]])
        lengths = np.diff(ends) - 1 + period
        for i in np.flatnonzero(lengths >= turns * period):
            found.append(Repeat(int(ends[i]) + 1, period, int(lengths[i])))
    return sorted(found, key=lambda r: (-r.saved, r.period))


def _periods(numbers: Any, longest: int) -> list[int]:
    """Return the distances at which windows come again, those first at which most do: to compare
    the numbers at every distance takes the square of their count (0.1 s for 17,000)."""
    n = len(numbers) - _WINDOW + 1
    if n < 2 or longest < 1:
        return []
    values = np.asarray(numbers).astype(np.uint64) + np.uint64(1)
    hashes = np.zeros(n, np.uint64)
    for place in range(_WINDOW):  # modulo 2 ** 64
        hashes = hashes * _BASE + values[place : place + n]
    order = np.argsort(hashes, kind="stable")
    again = hashes[order[1:]] == hashes[order[:-1]]
    distances = np.diff(order)[again]
    counts = np.bincount(distances[distances <= longest])
    often = np.argsort(-counts, kind="stable")[:_MOST_PERIODS]
    return [int(d) for d in often if counts[d]]
