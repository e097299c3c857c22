"""What each number is meant to be, and whether it is.

A target is a ratio of two cells of one run. It is judged and printed; no benchmark fails by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.stats import ratio
from benchmarks.workloads.micro import MICRO

#: (workload, framework): where a time stands.
Cell = tuple[str, str]


@dataclass(frozen=True)
class Target:
    """``time of cell ≤ limit × time of over``."""

    cell: Cell
    limit: float
    over: Cell

    @property
    def text(self) -> str:
        workload, framework = self.over
        name = framework if workload == self.cell[0] else workload
        return f"≤ {self.limit:g}× {name}"


@dataclass(frozen=True)
class Verdict:
    """A target and the ratio that was measured; `ratio` is None where a time is missing."""

    target: Target
    ratio: float | None

    @property
    def met(self) -> bool | None:
        return None if self.ratio is None else self.ratio <= self.target.limit


def _targets() -> tuple[Target, ...]:
    found = [Target(("op", "torchlike"), 2.0, ("op", "jnp"))]
    for workload, limit in (("mlp", 1.0), ("cnn", 1.0), ("gpt", 1.5)):
        found.append(Target((workload, "torchlike"), limit, (workload, "torch")))
    for workload in ("mlp", "cnn", "gpt", "lstm"):
        # With the allocator set alike: it is worth a third of a GPT step, and not what is judged.
        found.append(Target((workload, "torchlike.jit"), 1.05, (workload, "jax@tuned")))
    found.append(Target(("row_100mb", "torchlike"), 3.0, ("row_2mb", "torchlike")))
    found.append(Target(("add_", "torchlike"), 1.3, ("add_", "torch")))
    for workload, case in MICRO.items():
        if case.group == "elementwise":
            found.append(Target((workload, "torchlike"), 1.0, (workload, "torch")))
    return tuple(found)


TARGETS = _targets()


def judge(rounds: Mapping[Cell, Sequence[float]]) -> list[Verdict]:
    """Hold every target against the rounds measured."""
    verdicts = []
    for target in TARGETS:
        mine, reference = rounds.get(target.cell), rounds.get(target.over)
        measured = ratio(mine, reference) if mine and reference else None
        verdicts.append(Verdict(target, measured))
    return verdicts
