"""Eager time of the hundred most used ops against PyTorch and jax.numpy.

    python benchmarks/ops.py                     every op at two sizes, twenty minutes or more
    python benchmarks/ops.py --quick exp sort    does it run? two ops only
    python benchmarks/ops.py 'sc.*' --json out.json

Names are regular expressions that match a whole name. The ops and how each is called stand in
workloads/common_ops.py; README.md beside this file says how it is timed.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
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
        """torchlike's time by that of ``framework``."""
        ours, theirs = self.cell(size, "torchlike"), self.cell(size, framework)
        return ratio(ours.rounds, theirs.rounds) if ours and theirs else None


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="ops, as regular expressions")
    parser.add_argument("--rounds", type=int, default=5, help="rounds per op (default 5)")
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a round")
    parser.add_argument("--quick", action="store_true", help="1 round of 20 ms: does it run?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every round here")
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
    """The ops whose name a pattern matches; all of them without patterns.

    Raises:
        ValueError: for a pattern that matches none.
    """
    for pattern in patterns:
        if not any(re.fullmatch(pattern, name) for name in OPS):
            raise ValueError(f"no op matches {pattern!r}; known: {', '.join(OPS)}")
    return [n for n in OPS if not patterns or any(re.fullmatch(p, n) for p in patterns)]


def rows_of(measured: Sequence[Measurement]) -> list[Row]:
    """A row for each op, the slowest against jnp at the large size first, failures before all."""
    cells: dict[tuple[str, str, str], Measurement] = {}
    for c in measured:
        name, _, size = c.workload.partition("/")
        cells[name, size, c.framework] = c
    rows = [Row(name, cells) for name in dict.fromkeys(name for name, _, _ in cells)]
    return sorted(rows, key=lambda r: -(r.ratio("large", "jnp") or float("inf")))


def table(rows: Sequence[Row]) -> Table:
    """Times of torchlike, its ratios, and the first calls with their compilations."""
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
    """The ops above SLOW times jnp at the large size, with their ratios."""
    found = [(row.name, row.ratio("large", "jnp")) for row in rows]
    return [(name, r) for name, r in found if r is not None and r > SLOW]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write; gives 1 when a framework failed at an op."""
    arguments = parse_arguments(argv)
    # PyTorch's threads need a quiet machine, but six hundred waits of ten seconds are too many.
    plan = Plan(arguments.rounds, arguments.seconds, 0.1, 0.0 if arguments.quick else 2.0)
    console = Console()
    if not console.is_terminal:
        console = Console(width=REPORT_WIDTH)
    compared = [frameworks.parse(name) for name in FRAMEWORKS]
    workloads = [f"{name}/{size}" for name in arguments.names for size in SIZES]
    with (
        tempfile.NamedTemporaryFile(prefix="benchmarks-", suffix=".log", delete=False) as log,
        console.status("") as status,
    ):
        measured, versions = run_together(workloads, lambda _: compared, plan, log, status.update)
    rows = rows_of(measured)
    console.print(table(rows))
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
    console.print(f"{quiet.describe_machine()}; {libraries}; compare only within one run.")
    for name, times in slow(rows):
        console.print(f"above {SLOW:g} × jnp at the large size: {name}, {times:.2f}")
    failed = [c for c in measured if c.error]
    for cell in failed:
        console.print(f"failed: {cell.workload} in {cell.framework}: {cell.error}", markup=False)
    if failed:
        console.print(f"tracebacks: {log.name}")
    else:
        Path(log.name).unlink()
    if arguments.json:
        content = {"versions": versions, "measurements": [c.as_json() for c in measured]}
        arguments.json.write_text(json.dumps(content, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
