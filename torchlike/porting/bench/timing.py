"""The clock of ``bench``: the first call apart, then blocks of calls, by turns.

Standard library only: the process that runs PyTorch uses it too.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

#: A block is long enough for the clock, and the waiting at its end, not to matter.
BLOCK_SECONDS = 0.02
#: And holds several calls, unless one takes longer than a block should.
_LEAST_CALLS = 3


@dataclass(frozen=True)
class Candidate:
    """Something to time.

    Attributes:
      call: one call.
      finish: returns when a call's result is there.
      finish_each: whether each call of a block is waited for, or the last one alone.
      settle: makes the calls after which all others take as long; None where the first suffices.
    """

    call: Callable[[], Any]
    finish: Callable[[Any], object]
    finish_each: bool = False
    settle: Callable[[], object] | None = None


def first_call(candidate: Candidate) -> tuple[float, Any]:
    """Return the seconds until the result of one call was there, and the result."""
    start = time.perf_counter()
    result = candidate.call()
    candidate.finish(result)
    return time.perf_counter() - start, result


def block(candidate: Candidate, calls: int) -> float:
    """Return seconds a call, of ``calls`` in a row, all finished. The garbage collector waits."""
    call, finish = candidate.call, candidate.finish
    collects = gc.isenabled()
    gc.disable()
    try:
        start = time.perf_counter()
        if candidate.finish_each:
            for _ in repeat(None, calls):
                finish(call())
        else:
            for _ in repeat(None, calls - 1):
                call()
            finish(call())
        return (time.perf_counter() - start) / calls
    finally:
        if collects:
            gc.enable()


def calls_per_block(candidate: Candidate, seconds: float = BLOCK_SECONDS) -> int:
    """Return how many calls make a block. It makes them, so it warms up, too."""
    if candidate.settle is not None:
        candidate.settle()
    calls = 1
    while (each := block(candidate, calls)) * calls < seconds:
        # At most tenfold at a time: the first blocks may still compile something.
        calls = min(10 * calls, max(int(seconds / each) + 1, _LEAST_CALLS))
    return calls


def spread(rounds: Sequence[float]) -> float:
    """Return the median distance from the median, relative to it: 0.02 means that rounds agree
    within 2 %."""
    middle = statistics.median(rounds)
    return statistics.median(abs(r - middle) for r in rounds) / middle if middle else 0.0


def paired_ratio(rounds: Sequence[float], reference: Sequence[float]) -> float:
    """Return how many times as long as the reference it takes: the median over rounds, in each of
    which both had their turn."""
    return statistics.median(a / b for a, b in zip(rounds, reference, strict=True))
