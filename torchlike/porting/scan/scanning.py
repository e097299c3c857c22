"""Scans files one by one."""

from __future__ import annotations

import ast
import dataclasses
import functools
import warnings
from collections.abc import Callable, Container, Sequence
from pathlib import Path

from torchlike.porting.scan import differences, notebooks, reader, sources
from torchlike.porting.scan.findings import FileReport, ScanReport
from torchlike.porting.scan.neighbours import Neighbours


def scan(
    paths: Sequence[Path], told: Callable[[int, int], None] = lambda done, of: None
) -> ScanReport:
    """Scan all programs at and below ``paths`` and return the report; ``told`` hears of the
    progress."""
    failed: list[FileReport] = []
    found = list(
        sources.files(
            paths, lambda path, why: failed.append(FileReport(sources.shown(path), skipped=why))
        )
    )
    reports = []
    neighbours = Neighbours()
    own = frozenset(part for path in found for part in path.absolute().parts[:-1])
    for i, path in enumerate(found):
        told(i, len(found))
        reports.append(scan_file(path, neighbours, own))
    told(len(found), len(found))
    keep_what_can_be_met(reports)
    return ScanReport(failed + reports)


def keep_what_can_be_met(reports: Sequence[FileReport]) -> None:
    """Take for supported, of what differs, what the program cannot meet."""
    texts = [report.text for report in reports if report.text]
    can_meet = functools.cache(lambda says: differences.can_meet(says, texts))
    for report in reports:
        report.findings = [
            dataclasses.replace(f, kind="supported", link="")
            if f.kind == "differs" and not can_meet(f.says)
            else f
            for f in report.findings
        ]


def scan_file(
    path: Path, neighbours: Neighbours | None = None, own: Container[str] = ()
) -> FileReport:
    """Scan one program and return its report; what cannot be read is skipped with the reason.

    ``neighbours`` has read other files of the program already, which is these packages of its
    ``own``.
    """
    report = FileReport(sources.shown(path))
    try:
        text = sources.text(path)
        if path.suffix == ".ipynb":
            notebook = notebooks.read(text)
            text, report.notes = notebook.source, notebook.notes
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the scanned program's syntax
            tree = ast.parse(text)
        report.lines = text.count("\n") + (not text.endswith("\n") and text != "")
        report.findings = reader.read(tree, path, neighbours or Neighbours(), own)
        report.text = text
    except sources.UnreadableError as error:
        report.skipped = str(error)
    except SyntaxError as error:
        report.skipped = f"not Python 3: {error.msg}, line {error.lineno}"
    except (RecursionError, MemoryError):
        report.skipped = "nested too deeply to be read"
    except ValueError as error:
        report.skipped = f"not Python 3: {error}"
    if path.suffix == ".ipynb" and not report.skipped:
        places = notebook.places
        report.findings = [
            dataclasses.replace(f, cell=places[f.line - 1][0], line=places[f.line - 1][1])
            for f in report.findings
        ]
    return report
