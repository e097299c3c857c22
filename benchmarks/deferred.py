"""Training steps of torchlike: at once, deferred and compiled, by turns; and what recording takes.

``python -m benchmarks.deferred``. Milliseconds of a step, the least and the median of all rounds;
microseconds of an operation on 64×64, the least.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torchlike as torch
from benchmarks.workloads import TRAINING
from torchlike._extensions.deferred import policy

OPERATIONS = 256


def step_of(name: str) -> Callable[[], Any]:
    """Return the step of a workload, with a model of its own. It gives the loss."""
    training = TRAINING[name].in_torch(torch, TRAINING[name].problem())

    def step() -> Any:
        training.optimizer.zero_grad()
        loss = training.loss(training.x, training.y)
        loss.backward()
        training.optimizer.step()
        return loss

    return step


def ways(name: str) -> dict[str, Callable[[], float]]:
    """Return the ways to run a step, each of which gives its loss."""
    at_once, step, compiled = step_of(name), step_of(name), torch.jit(step_of(name))

    def deferred() -> float:
        with torch.deferred(True):
            return step().item()

    return {
        "at once": lambda: at_once().item(),
        "deferred": deferred,
        "compiled": lambda: compiled().item(),
    }


def seconds(function: Callable[[], Any]) -> float:
    """Measure a call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def operations(with_backward: bool) -> float:
    """Measure what one of many operations takes until it is recorded, or run."""
    x, y = torch.ones(64, 64).requires_grad_(with_backward), torch.ones(64, 64)
    start, out = time.perf_counter(), x
    for _ in range(OPERATIONS // 2):
        out = (out + y) * y
    if with_backward:
        out.sum().backward()
    took = time.perf_counter() - start
    torch.cpu.synchronize()
    return took / OPERATIONS


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line a workload, and two of operations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", choices=[*TRAINING], nargs="*", default=[*TRAINING])
    options = parser.parse_args(argv)
    policy.current = policy.AtOnce()  # the program, from the first step on
    for name in options.only:
        took: dict[str, list[float]] = {}
        runs = ways(name)
        for i in range(options.rounds + 2):
            for way, run in runs.items():
                found = seconds(run)
                if i > 1:
                    took.setdefault(way, []).append(1e3 * found)
        said = [f"{w} {min(t):.2f} ({statistics.median(t):.2f})" for w, t in took.items()]
        print(f"{name}: {', '.join(said)} ms")
    for with_backward in (False, True):
        least = {}
        for way in (False, True):
            with torch.deferred(way):
                least[way] = min(operations(with_backward) for _ in range(options.rounds + 2))
        words = "with its backward" if with_backward else "an operation"
        print(f"{words}: at once {1e6 * least[False]:.2f}, recorded {1e6 * least[True]:.2f} µs")


if __name__ == "__main__":
    main()
