"""``torchlike scan``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from torchlike._runtime import whole_files
from torchlike.porting.scan import listing, page
from torchlike.porting.scan.findings import KINDS
from torchlike.porting.scan.scanning import scan

#: What ``--format`` may be, and what ``--fail-on`` may name; "never" is for reports.
FORMS = ("text", "json", "github")
FAIL_ON = ("missing", "risky", "differs", "never")


def run(
    paths: Sequence[Path],
    *,
    fail_on: str = "missing",
    everything: bool = False,
    form: str = "text",
    json_path: Path | None = None,
    html_path: Path | None = None,
    console: Console | None = None,
) -> int:
    """Scan, print what was found in one of ``FORMS``, write the files that were asked for.

    Returns:
        The exit code: 0; 1 if something of the kind ``fail_on``, or worse, was found; 2 if nothing
        could be read; 3 if nothing was found but a file could not be read.
    """
    console = console or Console()
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("scanning")
        report = scan(paths, lambda n, of: progress.update(task, completed=n, total=of))
    if form == "json":
        said = [json.dumps(report.as_json(), indent=1)]
    elif form == "github":
        said = [*listing.workflow_commands(report), *listing.summary(report)]
    else:
        width = min(max(console.width, 40), 100)
        said = listing.report_lines(report, everything=everything, width=width)
    for line in said:
        heading = form == "text" and line in listing.SECTIONS
        style = "bold" if heading else None
        console.print(line, markup=False, highlight=False, soft_wrap=True, style=style)
    if json_path is not None:
        whole_files.write_text(json_path, json.dumps(report.as_json(), indent=1))
    if html_path is not None:
        whole_files.write_text(html_path, page.html(report))
    if len(report.skipped) == len(report.files):
        Console(stderr=True).print("No program could be read.", style="red")
        return 2
    worse = () if fail_on == "never" else KINDS[: KINDS.index(fail_on) + 1]
    if any(report.count(kind) for kind in worse):
        return 1
    return 3 if report.skipped and fail_on != "never" else 0
