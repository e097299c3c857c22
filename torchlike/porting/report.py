"""What a comparison says: the statistics of recorded runs and the table that shows them."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table

#: Rounding differences grow with every step of training, so the beginning is judged by itself.
FIRST_LOSSES = 50


@dataclass(frozen=True)
class Run:
    """One recorded run of the script. Times are in seconds."""

    label: str
    framework: str
    version: str
    device: str
    first_step: float | None
    steps: list[float]
    losses: list[float]
    seconds: float
    last_line: str = ""
    #: Modules that could not be compiled, and why.
    left_eager: dict[str, str] = field(default_factory=dict)

    @property
    def steady_step(self) -> float | None:
        """The median after the first: one more compilation or an evaluation moves it little."""
        return statistics.median(self.steps) if self.steps else None


@dataclass(frozen=True)
class Agreement:
    """How far the losses of two runs are apart: the largest absolute difference."""

    count: int
    first: float
    all: float
    counts: tuple[int, int]

    def __str__(self) -> str:
        if self.count == 0:
            text = "no losses to compare"
        elif self.count > FIRST_LOSSES:
            text = f"{self.first:.1e} first {FIRST_LOSSES}\n{self.all:.1e} all {self.count}"
        else:
            text = f"{self.first:.1e} all {self.count}"
        if self.counts[0] != self.counts[1]:
            text += f"\n{self.counts[0]} and {self.counts[1]} losses"
        return text


def agreement(reference: list[float], other: list[float]) -> Agreement:
    """Compare two series of losses, pair by pair. A NaN agrees with a NaN only."""
    pairs = list(zip(reference, other, strict=False))
    apart = [_difference(a, b) for a, b in pairs]
    return Agreement(
        count=len(pairs),
        first=max(apart[:FIRST_LOSSES], default=0.0),
        all=max(apart, default=0.0),
        counts=(len(reference), len(other)),
    )


def _difference(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    difference = abs(a - b)
    return math.inf if math.isnan(difference) else difference


def table(name: str, runs: list[Run]) -> Table:
    """One row a run; the first run is what the others are compared with."""
    reference = runs[0]
    result = Table(title=name, title_justify="left")
    result.add_column("run", no_wrap=True)
    for heading in ("first step", "steady step", "ratio"):
        result.add_column(heading, justify="right", no_wrap=True)
    result.add_column("losses agree to", no_wrap=True)
    for run in runs:
        result.add_row(
            run.label,
            duration(run.first_step),
            duration(run.steady_step),
            ratio(run.steady_step, reference.steady_step),
            "" if run is reference else str(agreement(reference.losses, run.losses)),
        )
    return result


def notes(runs: list[Run]) -> list[str]:
    """What the table cannot say: versions, last lines, runs without steps, modules left eager."""
    lines = []
    for run in runs:
        about = f"{run.label}: {run.framework} {run.version} on {run.device}"
        lines.append(f"{about}; last line: {run.last_line}" if run.last_line else about)
        if run.first_step is None:
            lines.append(
                f"{run.label}: neither optimizer.step() nor backward() ran: no step to time."
            )
        for module, reason in run.left_eager.items():
            lines.append(f"{run.label}: {module} was left eager. {reason}")
    return lines


def as_json(name: str, runs: list[Run]) -> dict[str, Any]:
    """Everything measured, with the summary, for the file beside the plot."""
    reference = runs[0]
    entries = []
    for run in runs:
        agree = agreement(reference.losses, run.losses)
        entries.append(
            {
                **vars(run),
                "steady_step": run.steady_step,
                "losses_agree": {
                    "with": reference.label,
                    "first_50": agree.first,
                    "all": agree.all,
                },
            }
        )
    return {"script": name, "runs": entries}


def duration(seconds: float | None) -> str:
    """A time with three digits and its unit."""
    if seconds is None:
        return "-"
    for unit, factor in (("s", 1.0), ("ms", 1e3)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def ratio(seconds: float | None, reference: float | None) -> str:
    if seconds is None or not reference:
        return "-"
    return f"{seconds / reference:.2f}"
