"""``torchlike scan``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from torchlike._runtime import whole_files
from torchlike.porting.scan import page, table
from torchlike.porting.scan.findings import KINDS
from torchlike.porting.scan.scanning import scan

#: What ``--fail-on`` may name; "never" is for reports.
FAIL_ON = ("missing", "risky", "differs", "never")


def run(
    paths: Sequence[Path],
    *,
    fail_on: str = "missing",
    everything: bool = False,
    json_path: Path | None = None,
    html_path: Path | None = None,
    console: Console | None = None,
) -> int:
    """Scan, print the table, write the files that were asked for.

    Returns:
        The exit code: 0; 1 if something of the kind ``fail_on``, or worse, was found; 2 if nothing
        could be read; 3 if nothing was found but a file could not be read.
    """
    console = console or Console()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("scanning")
        report = scan(paths, lambda n, of: progress.update(task, completed=n, total=of))
    if any(True for _ in table.lines(report, everything=everything)):
        console.print(table.table(report, everything=everything))
    for line in table.summary(report):
        console.print(line, markup=False, soft_wrap=True)
    if json_path is not None:
        whole_files.write_text(json_path, json.dumps(report.as_json(), indent=1))
    if html_path is not None:
        whole_files.write_text(html_path, page.html(report))
    if len(report.skipped) == len(report.files):
        console.print("No program could be read.", style="red")
        return 2
    worse = () if fail_on == "never" else KINDS[: KINDS.index(fail_on) + 1]
    if any(report.count(kind) for kind in worse):
        return 1
    return 3 if report.skipped and fail_on != "never" else 0
