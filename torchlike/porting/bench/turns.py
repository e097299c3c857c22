"""Times the rows of several workbenches by turns, and keeps what was found."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchlike.porting.bench.timing import paired_ratio, spread
from torchlike.porting.bench.workbench import Workbench
from torchlike.porting.divergence.digests import all_apart

#: The row that others are compared with.
REFERENCE = "eager"


@dataclass
class BenchRow:
    """What was measured of one row, one mode and one size. Times are in seconds.

    Attributes:
      row: who computed, such as "compiled".
      mode: "forward" or "with gradients".
      sizes: the sizes of a sweep by name; {} without one.
      first: the time of the first call.
      rounds: the time of a call, in each round.
      ratio: how many times as long as eager it takes, round by round; None of eager.
      apart: how far results are from eager's, relative to their norm; None of eager.
      work: operations by unit, bytes, and the device's peak; None where they are not known.
    """

    row: str
    mode: str
    sizes: dict[str, int]
    first: float
    rounds: list[float] = field(default_factory=list)
    ratio: float | None = None
    apart: float | None = None
    work: dict[str, Any] | None = None

    @property
    def median(self) -> float:
        """The median over rounds."""
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float:
        """The median distance of rounds from it, relative to it."""
        return spread(self.rounds)


def measure(
    benches: Sequence[Workbench],
    sweep: Iterable[dict[str, int]] = ({},),
    rounds: int = 7,
    progress: Callable[[str], None] = lambda line: None,
) -> tuple[list[BenchRow], dict[str, str], list[str]]:
    """Time all that the benches have: each row once in each round, so that what else the machine
    does meets all of them.

    Args:
      title: of the report.
      benches: who makes and times the rows.
      sweep: the sizes to make arguments for, one after the other.
      rounds: how many times each row has its turn.
      progress: is told in lines what happens.
    """
    rows: list[BenchRow] = []
    about: dict[str, str] = {}
    remarks: list[str] = []
    for sizes in sweep:
        at = ", ".join(f"{n} = {v}" for n, v in sizes.items())
        progress(f"first calls{' of ' * bool(at)}{at}")
        turns = _first_calls(benches, sizes, about, remarks)
        progress(f"{len(turns)} rows, {rounds} rounds")
        calls = [bench.calls(row.row, row.mode) for bench, row in turns]
        for _ in range(rounds):
            for (bench, row), n in zip(turns, calls, strict=True):
                row.rounds.append(bench.block(row.row, row.mode, n))
        for bench, row in turns:
            row.work = bench.work(row.row, row.mode)
        rows += _compared([row for _, row in turns])
    about.update(machine())
    return rows, about, list(dict.fromkeys(remarks))


def _first_calls(
    benches: Sequence[Workbench],
    sizes: dict[str, int],
    about: dict[str, str],
    remarks: list[str],
) -> list[tuple[Workbench, BenchRow]]:
    turns: list[tuple[Workbench, BenchRow]] = []
    results: dict[str, Any] = {}
    failed: dict[str, list[str]] = {}
    for bench in benches:
        made = bench.open(sizes)
        about.update(made["about"])
        remarks += made["remarks"]
        for name, mode in made["rows"]:
            found = bench.first(name, mode)
            if "error" in found:
                failed.setdefault(found["error"], []).append(f"{name}, {mode}")
                continue
            row = BenchRow(name, mode, sizes, found["seconds"])
            if name == REFERENCE:
                results[mode] = found["digests"]
            elif mode in results:
                row.apart = all_apart(results[mode], found["digests"])
            turns.append((bench, row))
    for error, names in failed.items():
        every = len(names) > 1 and not turns and len(failed) == 1
        remarks.append(f"{'every row' if every else '; '.join(names)}: {error}")
    return turns


def _compared(rows: list[BenchRow]) -> list[BenchRow]:
    reference = {row.mode: row for row in rows if row.row == REFERENCE}
    for row in rows:
        if row.mode in reference and row is not reference[row.mode]:
            row.ratio = paired_ratio(row.rounds, reference[row.mode].rounds)
    return sorted(rows, key=lambda row: row.mode != "forward")


def machine() -> dict[str, str]:
    """Return what a reader of a report asks: the processor, its cores, who else computes, when."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = {
        "processor": _processor(),
        "cores": str(cores),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "date": datetime.datetime.now().astimezone().isoformat(" ", "minutes"),
    }
    if hasattr(os, "getloadavg"):
        found["load"] = f"{os.getloadavg()[0]:.1f} processes on average in the last minute"
    return found


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [
                line.partition(":")[2].strip() for line in file if line.startswith("model name")
            ]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
