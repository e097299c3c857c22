"""From rounds to one number: medians of per-round minima, and ratios within one run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median


def typical(rounds: Sequence[float]) -> float:
    """Return the median of the rounds' best times: one lucky or one disturbed round does not move
    it."""
    return median(rounds)


def spread(rounds: Sequence[float]) -> float:
    """Return the median distance from the median, relative to it: 0.02 means rounds agree within 2
    %."""
    middle = median(rounds)
    return median(abs(r - middle) for r in rounds) / middle


def ratio(rounds: Sequence[float], reference: Sequence[float]) -> float:
    """Return how many times as long as the reference it takes."""
    return typical(rounds) / typical(reference)


def disagreement(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the largest relative difference of two loss sequences; infinite where one has a
    NaN."""
    worst = 0.0
    for a, b in zip(first, second, strict=True):
        difference = abs(a - b) / max(abs(a), abs(b), 1e-30)
        worst = max(worst, math.inf if math.isnan(difference) else difference)
    return worst
