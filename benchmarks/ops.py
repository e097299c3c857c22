"""Eager time of the hundred most used ops against PyTorch and jax.numpy.

    python benchmarks/ops.py                     every op at two sizes, about a quarter of an hour
    python benchmarks/ops.py --quick             does it run? about four minutes
    python benchmarks/ops.py 'sc.*' --json out.json

Names are regular expressions that match a whole name. Each op's ratios are printed as soon as it
is done, and written to the file of ``--json``; an interrupt ends the run with the table so far. The
ops and how each is called stand in workloads/common_ops.py; README.md beside this file says how it
is timed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

if not __package__:
    # Run as a script: the package is found from the repository's root, not from this folder.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from rich.console import Console
from rich.table import Table

from benchmarks import frameworks, quiet, tables
from benchmarks.session import Measurement, Plan, run_together
from benchmarks.stats import ratio, typical
from benchmarks.workloads.common_ops import FRAMEWORKS, OPS, SIZES

#: An op that takes more than so many times as long as jnp at the large size is named at the end.
SLOW = 3.0
REPORT_WIDTH = 120
#: The exit code after an interrupt, 128 + SIGINT.
INTERRUPTED = 130

Cells = Mapping[tuple[str, str, str], Measurement]


@dataclass(frozen=True)
class Row:
    """One op of the table; ratios are None where a framework failed."""

    name: str
    cells: Cells

    def cell(self, size: str, framework: str) -> Measurement | None:
        found = self.cells.get((self.name, size, framework))
        return found if found is not None and found.error is None else None

    def ratio(self, size: str, framework: str) -> float | None:
        """Return torchlike's time by that of ``framework``."""
        ours, theirs = self.cell(size, "torchlike"), self.cell(size, framework)
        return ratio(ours.rounds, theirs.rounds) if ours and theirs else None


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="ops, as regular expressions")
    parser.add_argument("--rounds", type=int, default=5, help="rounds per op (default 5)")
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a round")
    parser.add_argument("--quick", action="store_true", help="1 round of 20 ms: does it run?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rounds, op by op")
    arguments = parser.parse_args(argv)
    try:
        arguments.names = select(arguments.names)
    except ValueError as error:
        parser.error(str(error))
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    if arguments.quick:
        arguments.rounds, arguments.seconds = 1, 0.02
    return arguments


def select(patterns: Sequence[str]) -> list[str]:
    """Return the ops whose name a pattern matches; all of them without patterns.

    Raises:
        ValueError: for a pattern that matches none.
    """
    for pattern in patterns:
        if not any(re.fullmatch(pattern, name) for name in OPS):
            raise ValueError(f"no op matches {pattern!r}; known: {', '.join(OPS)}")
    return [n for n in OPS if not patterns or any(re.fullmatch(p, n) for p in patterns)]


def rows_of(measured: Sequence[Measurement]) -> list[Row]:
    """Return a row for each op, the slowest against jnp at the large size first, failures before
    all."""
    cells: dict[tuple[str, str, str], Measurement] = {}
    for c in measured:
        name, _, size = c.workload.partition("/")
        cells[name, size, c.framework] = c
    rows = [Row(name, cells) for name in dict.fromkeys(name for name, _, _ in cells)]
    return sorted(rows, key=lambda r: -(r.ratio("large", "jnp") or float("inf")))


def table(rows: Sequence[Row]) -> Table:
    """Return a table of torchlike's times, its ratios, and the first calls with their
    compilations."""
    made = Table(title="eager ops", title_justify="left", header_style="bold")
    made.add_column("op", no_wrap=True)
    for size in SIZES:
        for column in (size, "÷ torch", "÷ jnp"):
            made.add_column(column, justify="right", no_wrap=True)
    made.add_column("first call", justify="right", no_wrap=True)
    made.add_column("in jnp", justify="right", no_wrap=True)
    for row in rows:
        texts: list[str] = []
        for size in SIZES:
            ours = row.cell(size, "torchlike")
            texts.append(tables.duration(typical(ours.rounds)) if ours else "failed")
            ratios = (row.ratio(size, "torch"), row.ratio(size, "jnp"))
            texts += ["" if r is None else f"{r:.2f}" for r in ratios]
        first = (row.cell("large", name) for name in ("torchlike", "jnp"))
        texts += [tables.duration(c.first_s) if c else "" for c in first]
        made.add_row(row.name, *texts)
    return made


def slow(rows: Sequence[Row]) -> list[tuple[str, float]]:
    """Return the ops above SLOW times jnp at the large size, with their ratios."""
    found = [(row.name, row.ratio("large", "jnp")) for row in rows]
    return [(name, r) for name, r in found if r is not None and r > SLOW]


class Progress:
    """What was measured so far: a line for each op that is done, and the file of ``--json``."""

    def __init__(self, console: Console, count: int, json_file: Path | None) -> None:
        self.console, self.count, self.json_file = console, count, json_file
        self.measured: list[Measurement] = []
        self.started = time.monotonic()

    def add(self, cells: Sequence[Measurement]) -> None:
        """Take a workload's measurements; the last size of an op makes its line."""
        self.measured += cells
        name, _, size = cells[0].workload.partition("/")
        if size != SIZES[-1]:
            return
        (row,) = rows_of([c for c in self.measured if c.workload.startswith(f"{name}/")])
        done = len(self.measured) // (len(SIZES) * len(FRAMEWORKS))
        self.console.print(
            f"{done:3}/{self.count} {time.monotonic() - self.started:4.0f} s  {summary(row)}",
            markup=False,
            highlight=False,
        )
        self.write({})

    def write(self, versions: Mapping[str, str]) -> None:
        """Write the file; what was in it from before this run is gone."""
        if self.json_file:
            content = {"versions": versions, "measurements": [c.as_json() for c in self.measured]}
            self.json_file.write_text(json.dumps(content, indent=1) + "\n")


def summary(row: Row) -> str:
    """Write the ratios of one op in a line."""
    parts = [f"{row.name:18}"]
    for size in SIZES:
        for framework in FRAMEWORKS[1:]:
            found = row.ratio(size, framework)
            parts.append(f"{size} ÷ {framework} {'failed' if found is None else f'{found:.2f}'}")
    return ", ".join(parts)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write; gives 1 when a framework failed at an op, 130 when interrupted."""
    arguments = parse_arguments(argv)
    # PyTorch's threads need a quiet machine, but there are 600 rounds or more to wait before: a
    # short look each time (ten ticks of the system's clock on two processors), and little patience.
    patience = 0.0 if arguments.quick else 1.0
    plan = Plan(arguments.rounds, arguments.seconds, 0.1, patience, look=0.05)
    console = Console()
    if not console.is_terminal:
        console = Console(width=REPORT_WIDTH)
    compared = [frameworks.parse(name) for name in FRAMEWORKS]
    workloads = [f"{name}/{size}" for name in arguments.names for size in SIZES]
    progress = Progress(console, len(arguments.names), arguments.json)
    versions: dict[str, str] = {}
    interrupted = False
    with (
        tempfile.NamedTemporaryFile(prefix="benchmarks-", suffix=".log", delete=False) as log,
        console.status("") as status,
    ):
        try:
            _, versions = run_together(
                workloads, lambda _: compared, plan, log, status.update, progress.add
            )
        except KeyboardInterrupt:
            interrupted = True
    progress.write(versions)
    rows = rows_of(progress.measured)
    console.print(table(rows))
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
    console.print(f"{quiet.describe_machine()}; {libraries}; compare only within one run.")
    for name, times in slow(rows):
        console.print(f"above {SLOW:g} × jnp at the large size: {name}, {times:.2f}")
    failed = [c for c in progress.measured if c.error]
    for cell in failed:
        console.print(f"failed: {cell.workload} in {cell.framework}: {cell.error}", markup=False)
    if failed:
        console.print(f"tracebacks: {log.name}")
    else:
        Path(log.name).unlink()
    if interrupted:
        return INTERRUPTED
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
