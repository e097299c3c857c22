"""What a comparison says: the statistics of recorded runs and the table that shows them."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field, replace
from typing import Any

from rich.table import Table

from torchlike.porting.bench.timing import spread
from torchlike.porting.plan.work import ProgramWork, told

#: Rounding differences grow with every step of training, so the beginning is judged by itself.
FIRST_LOSSES = 50


@dataclass(frozen=True)
class RecordedRun:
    """One recorded run of the script. Times are in seconds."""

    label: str
    framework: str
    version: str
    device: str
    first_step: float | None
    steps: list[float]
    losses: list[float]
    seconds: float
    #: How many backward passes an update follows.
    passes: int = 1
    last_line: str = ""
    #: The time in which a DataLoader loaded, which no step counts.
    loaded: float = 0.0
    #: What the script itself gave to ``torch.compile``, what of it held steps, what ran eagerly.
    marked: list[str] = field(default_factory=list)
    whole_steps: list[str] = field(default_factory=list)
    fell_back: dict[str, str] = field(default_factory=dict)
    #: Whether ``torch.compile`` compiles in this run.
    compiles: bool = True
    #: The function that is a whole step: its name, file and first line.
    step_function: dict[str, Any] | None = None
    script_file: str | None = None
    #: The most memory of the process in bytes; calls of operations that NumPy computed; forms of
    #: operations that were compiled. None where that is not known.
    peak_memory: int | None = None
    by_numpy: int | None = None
    compiled: int | None = None
    #: The seed of the script's random numbers; another for each run where the script sets none.
    seed: int | None = None
    #: Programs that XLA was asked for, and how many of them were in the folder of compiled ones.
    #: None where that is not known.
    programs: dict[str, int] | None = None
    #: What the program with the most operations computes a call: its name, operations by unit,
    #: bytes, the device's peak. None where nothing was compiled.
    work: dict[str, Any] | None = None
    #: The dtypes to which the script's regions of autocast cast.
    autocast: list[str] = field(default_factory=list)

    #: Of further rounds, in which each row had its turn: the steps after the first, and the time of
    #: the whole run.
    more_steps: list[list[float]] = field(default_factory=list)
    more_seconds: list[float] = field(default_factory=list)

    def with_round(self, again: RecordedRun) -> RecordedRun:
        """Return the run with the times of another round."""
        return replace(
            self,
            more_steps=[*self.more_steps, again.steps],
            more_seconds=[*self.more_seconds, again.seconds],
        )

    @property
    def steady_step(self) -> float | None:
        """The median after the first, and over rounds: one more compilation or an evaluation moves
        it little."""
        return statistics.median(self._medians) if self.steps else None

    @property
    def spread(self) -> float | None:
        """How far rounds are from their median, relative to it; of one round, its steps."""
        if not self.steps:
            return None
        return spread(self._medians if self.more_steps else self.steps)

    @property
    def whole(self) -> float:
        """The time of the whole run: the median over rounds."""
        return statistics.median([self.seconds, *self.more_seconds])

    @property
    def _medians(self) -> list[float]:
        return [statistics.median(steps) for steps in (self.steps, *self.more_steps) if steps]

    @property
    def milliseconds(self) -> list[float]:
        """The time of each step, of the first too; none where no step was seen."""
        return [] if self.first_step is None else [1e3 * t for t in (self.first_step, *self.steps)]


@dataclass(frozen=True)
class Agreement:
    """How far the losses of two runs are apart: the largest difference, relative to the loss."""

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
    """Compare two series of losses, pair by pair. A NaN agrees with a NaN only.

    A difference is relative to the larger loss of the pair; where both are less than a thousandth
    of the largest loss of the reference, which is where rounding is all there is, to that.
    """
    pairs = list(zip(reference, other, strict=False))
    finite = [abs(loss) for loss in reference if math.isfinite(loss)]
    least = 1e-3 * max(finite, default=0.0)
    apart = [_difference(a, b, least) for a, b in pairs]
    return Agreement(
        count=len(pairs),
        first=max(apart[:FIRST_LOSSES], default=0.0),
        all=max(apart, default=0.0),
        counts=(len(reference), len(other)),
    )


def _difference(a: float, b: float, least: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.inf
    return abs(a - b) / max(abs(a), abs(b), least)


#: Of what `times` gives.
HEADINGS = ("first\nstep", "steady\nstep", "ratio", "whole\nrun")


def times(run: RecordedRun, reference: RecordedRun) -> tuple[str, ...]:
    """Return the times of a run, as both tables have them."""
    return (
        duration(run.first_step),
        duration(run.steady_step) + ("" if run.spread is None else f" ±{run.spread:.0%}"),
        ratio(run.steady_step, reference.steady_step),
        duration(run.whole),
    )


def table(name: str, runs: list[RecordedRun]) -> Table:
    """Return a table with one row a run; the first run is what the others are compared with."""
    reference = runs[0]
    result = Table(title=name, title_justify="left")
    result.add_column("run")  # which wraps where a screen is narrow: numbers stay whole
    for heading in HEADINGS:
        result.add_column(heading, justify="right", no_wrap=True)
    result.add_column("losses agree to\n(relative)", no_wrap=True)
    for run in runs:
        result.add_row(
            run.label,
            *times(run, reference),
            "" if run is reference else str(agreement(reference.losses, run.losses)),
        )
    return result


#: Losses that are further apart, relatively, differ by more than rounding.
_ROUNDING = 1e-3


def what_is_compiled(run: RecordedRun) -> str:
    """Say in words what the programs of a run hold; nothing of a run without any."""
    if run.whole_steps:
        names = ", ".join(run.whole_steps)
        return f"{names}: forward, backward and update are one program"
    if run.marked:
        return f"what the script marks, {', '.join(run.marked)}"
    return ""


def notes(runs: list[RecordedRun], peak: dict[str, float] | None = None) -> list[str]:
    """Return in lines what the table cannot say: versions, last lines, what was compiled and what
    was left eager, runs without steps, the time of loading."""
    lines = []
    for run in runs:
        about = f"{run.label}: {run.framework} {run.version} on {run.device}"
        lines.append(f"{about}; last line: {run.last_line}" if run.last_line else about)
        compiled = what_is_compiled(run)
        if compiled and run.compiles and run is not runs[0] and run.framework == "torchlike":
            lines.append(f"{run.label}: {compiled}.")
        if run.work is not None:
            work = ProgramWork(run.work["flops"], run.work["bytes"])
            # Of a part of a step its time is not known.
            seconds = run.steady_step if run.work["program"] in run.whole_steps else None
            said = told(work, seconds, peak or run.work["peak"])
            lines.append(f"{run.label}: {run.work['program']}: {said}.")
            if run.autocast:
                lines.append(
                    f"{run.label}: under autocast a program keeps more bits than "
                    f"{' and '.join(run.autocast)} has: XLA fuses operations, and does not round "
                    "between them. Losses differ from the eager ones by more than float32's do."
                )
        if run.first_step is None:
            lines.append(
                f"{run.label}: neither optimizer.step() nor backward() ran: no step to time."
            )
        if run.loaded:
            lines.append(
                f"{run.label}: DataLoaders took {duration(run.loaded)} of {duration(run.seconds)} "
                "in all; the steps' times leave that out."
            )
        for name, reason in run.fell_back.items():
            lines.append(f"{run.label}: {name} was left eager. {reason}")
    lines += _of_cache(runs)
    apart = [agreement(runs[0].losses, run.losses).first > _ROUNDING for run in runs[1:]]
    if any(apart) and len({run.seed for run in runs}) > 1:
        lines.append(
            "Each run drew its own random numbers, so losses differ: the script sets no seed "
            "(torch.manual_seed), or not the same in each."
        )
    return lines


def _of_cache(runs: list[RecordedRun]) -> list[str]:
    """Say how many programs of each run the cache had: first steps go by that."""
    counts = [(run.label, run.programs) for run in runs if run.programs and run.programs["asked"]]
    if not counts:
        return []
    each = "; ".join(f"{label}: {n['found']} of {n['asked']}" for label, n in counts)
    return [
        f"Programs that the compile cache had (warm), of those compiled: {each}. An empty "
        "TORCHLIKE_CACHE_DIR= turns it off (cold)."
    ]


def as_json(name: str, runs: list[RecordedRun]) -> dict[str, Any]:
    """Return everything measured, with the summary, for the file beside the plot."""
    reference = runs[0]
    entries = []
    for run in runs:
        agree = agreement(reference.losses, run.losses)
        entries.append(
            {
                **vars(run),
                "steady_step": run.steady_step,
                "spread": run.spread,
                "losses_agree": {
                    "with": reference.label,
                    "first_50": agree.first,
                    "all": agree.all,
                },
            }
        )
    return {"script": name, "runs": entries}


def duration(seconds: float | None) -> str:
    """Write a time with three digits and its unit."""
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
