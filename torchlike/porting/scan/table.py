"""A scan as a table in the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.markup import escape
from rich.table import Table

from torchlike.porting.scan.findings import FileReport, Finding, ScanReport

COLOURS = {
    "missing": "red",
    "risky": "yellow",
    "differs": "cyan",
    "other": "blue",
    "supported": "green",
}


def lines(report: ScanReport, *, everything: bool) -> Iterator[tuple[FileReport, Finding]]:
    """Yield the findings that are shown: not what is supported, unless everything is."""
    for file in report.files:
        for finding in file.findings:
            if everything or finding.kind != "supported":
                yield file, finding


def place(file: FileReport, finding: Finding) -> str:
    """Write where a finding is, as editors and people read it."""
    if finding.cell is not None:
        return f"{file.path} cell {finding.cell}:{finding.line}"
    return f"{file.path}:{finding.line}"


def table(report: ScanReport, *, everything: bool = False) -> Table:
    """Return a table with one row a finding."""
    made = Table(title="What is used of PyTorch", title_justify="left")
    for heading in ("where", "kind", "name", "what to do"):
        made.add_column(heading, overflow="fold")
    for file, f in lines(report, everything=everything):
        kind = "missing, guarded" if f.guarded else f.kind
        says = f.says + (f" ({f.link})" if f.link else "")
        made.add_row(
            escape(place(file, f)), f"[{COLOURS[f.kind]}]{kind}[/]", escape(f.name), escape(says)
        )
    return made


def summary(report: ScanReport) -> list[str]:
    """Return the sums, and what was left out."""
    read = len(report.files) - len(report.skipped)
    counts = ", ".join(f"{report.count(k)} {k}" for k in COLOURS)
    said = [f"{read} files, {report.lines} lines: {counts}"]
    said += [f"left out: {file.path}: {file.skipped}" for file in report.skipped]
    said += [f"{file.path}: {note}" for file in report.files for note in file.notes]
    return said
