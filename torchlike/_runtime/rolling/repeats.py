"""Finds where a sequence of numbers repeats itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


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
    """Find all maximal repeats of at least ``turns`` turns, and of at most ``longest`` numbers a
    turn; what saves most comes first, and of equals the shortest turn."""
    found: list[Repeat] = []
    n = len(numbers)
    for period in range(1, min(longest, n // turns) + 1):
        differs = np.flatnonzero(numbers[period:] != numbers[:-period])
        ends = np.concatenate([[-1], differs, [n - period]])
        lengths = np.diff(ends) - 1 + period
        for i in np.flatnonzero(lengths >= turns * period):
            found.append(Repeat(int(ends[i]) + 1, period, int(lengths[i])))
    return sorted(found, key=lambda r: (-r.saved, r.period))
