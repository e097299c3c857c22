"""Timing one runner: the first call apart, then the best block of a round."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

#: A block is long enough for the clock and the waiting at its end not to matter...
BLOCK_SECONDS = 0.01
#: ...and holds several steps, so that work of one step which runs on into the next is counted.
MIN_STEPS_PER_BLOCK = 3
MIN_BLOCKS = 3
#: What of `time` is read: the wall's clock, unless a program asks for processor time.
counter = "perf_counter"


def now() -> float:
    """Read the clock, in seconds."""
    return getattr(time, counter)()


@dataclass(frozen=True)
class Runner:
    """Something to time.

    Attributes:
        step: one call.
        wait: returns when the step's result is there.
        wait_each: wait after each step of a block, or after its last only.
        value: the step's result as a float (a loss), where it has one.
        finish: returns when everything the steps started is done.
    """

    step: Callable[[], Any]
    wait: Callable[[Any], object]
    wait_each: bool = True
    value: Callable[[Any], float] | None = None
    finish: Callable[[], object] = field(default=lambda: None)


def timed_call(runner: Runner) -> tuple[float, float | None]:
    """Measure one step alone: seconds until its result was there, and the result's value."""
    start = now()
    result = runner.step()
    runner.wait(result)
    runner.finish()
    seconds = now() - start
    return seconds, runner.value(result) if runner.value else None


def block(runner: Runner, steps: int) -> float:
    """Measure `steps` steps in a row: seconds per step, all finished before the clock stops."""
    step, wait = runner.step, runner.wait
    start = now()
    if runner.wait_each:
        for _ in repeat(None, steps):
            wait(step())
    else:
        for _ in repeat(None, steps - 1):
            step()
        wait(step())
    runner.finish()
    return (now() - start) / steps


def steps_per_block(runner: Runner, block_seconds: float = BLOCK_SECONDS) -> int:
    """Find how many steps make a block; runs the step, so it also warms up."""
    steps = MIN_STEPS_PER_BLOCK
    while (per_step := block(runner, steps)) * steps < block_seconds:
        # At most tenfold at a time: the first blocks may still compile something.
        steps = min(10 * steps, int(block_seconds / per_step) + 1)
    return steps


def best_of_round(runner: Runner, steps: int, seconds: float) -> tuple[float, int]:
    """Measure a round of about `seconds`: its fastest block, as seconds per step, and how many."""
    end = now() + seconds
    best, blocks = float("inf"), 0
    while blocks < MIN_BLOCKS or now() < end:
        best = min(best, block(runner, steps))
        blocks += 1
    return best, blocks
