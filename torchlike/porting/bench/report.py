"""What a measurement says: its table, its page, its plot."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from torchlike._runtime import whole_files
from torchlike.porting import charts, plot
from torchlike.porting.bench.turns import BenchRow
from torchlike.porting.document import bullets, document
from torchlike.porting.document import table as html_table
from torchlike.porting.plan.work import ProgramWork, told
from torchlike.porting.report import duration

#: Results that are further apart, relative to their norm, differ by more than rounding.
_ROUNDING = 1e-4
_NUMBERS = ("first call", "a call", "spread", "ratio", "agrees")
#: So that a title stands in one line.
_WIDTH = 64
_STYLE = """
body { max-width: 64rem; }
table { font-size: .9rem; }
td, th { padding: .3rem .6rem; font-variant-numeric: tabular-nums; }
i { display: inline-block; width: .8rem; height: .8rem; border-radius: .2rem; margin-right: .4rem; }
"""


@dataclass
class BenchReport:
    """What ``torchlike bench`` found: ``str`` of it is the table, and notes.

    Attributes:
      title: of what.
      rows: the measurements.
      about: versions, the machine, the date.
      remarks: rows that are missing, and why.
      peak: operations a second by unit, of which shares are told; None for those of the device.

    Example:
      >>> report = torchlike.bench(torch.cos, torch.ones(4), gradients=False, rounds=1)
      >>> report.as_json()["rows"][0]["row"]
      'eager'
    """

    title: str
    rows: list[BenchRow]
    about: dict[str, str]
    remarks: list[str]
    peak: dict[str, float] | None = None

    def __str__(self) -> str:
        console = Console(file=io.StringIO(), width=100)
        for one in tables(self):
            console.print(one)
        for line in notes(self):
            console.print(line, markup=False, soft_wrap=True, highlight=False)
        assert isinstance(console.file, io.StringIO)
        return console.file.getvalue()

    def as_json(self) -> dict[str, Any]:
        """Return everything measured, fit for JSON."""
        rows = [{**asdict(r), "median": r.median, "spread": r.spread} for r in self.rows]
        return {**vars(self), "rows": rows}

    def write_html(self, path: str | PathLike[str]) -> None:
        """Write a page with the table, the curves of a sweep, versions, the machine and the
        date."""
        _write_page(self, Path(path))

    def write_plot(self, path: str | PathLike[str]) -> None:
        """Write the curves of a sweep as a PNG file.

        Raises:
          ModuleNotFoundError: matplotlib is not installed.
          ValueError: the report is of one size.
        """
        found: dict[str, Any] = curves(self)
        if not found:
            raise ValueError("one size has no curve: time several (--sweep n=64..65536)")
        plot.write_sweep(Path(path), self.title, next(iter(self.rows[0].sizes)), found)


def tables(report: BenchReport) -> list[Table]:
    """Return a table for each mode: a row for each row and size."""
    made = []
    for mode, rows in _by_mode(report).items():
        one = Table(title=f"{report.title}: {mode}", title_justify="left", min_width=_WIDTH)
        for heading in _headings(report):
            one.add_column(heading, no_wrap=True)
        for heading in _NUMBERS:
            one.add_column(heading, justify="right", no_wrap=True)
        for row, before in zip(rows, [rows[0], *rows], strict=False):
            if row.sizes != before.sizes:
                one.add_section()
            one.add_row(*_cells(row))
        made.append(one)
    return made


def _headings(report: BenchReport) -> list[str]:
    return [*(report.rows[0].sizes if report.rows else {}), "row"]


def _cells(row: BenchRow) -> list[str]:
    return [
        *(f"{size:,}" for size in row.sizes.values()),
        row.row,
        duration(row.first),
        duration(row.median),
        f"{row.spread:.0%}",
        "1.00" if row.ratio is None else f"{row.ratio:.2f}",
        "" if row.apart is None else f"{row.apart:.0e}",
    ]


def _by_mode(report: BenchReport) -> dict[str, list[BenchRow]]:
    found: dict[str, list[BenchRow]] = {}
    for row in report.rows:
        found.setdefault(row.mode, []).append(row)
    return found


def notes(report: BenchReport) -> list[str]:
    """Return in lines what the table cannot say: what differs, what a program computes at which
    share of the peak, what is missing, versions and the machine."""
    lines = []
    for row in report.rows:
        at = "".join(f", {name} = {size}" for name, size in row.sizes.items())
        if row.apart is not None and row.apart > _ROUNDING:
            lines.append(
                f"{row.row}, {row.mode}{at}: results differ from eager's by {row.apart:.1e}"
            )
    for row in _largest(report.rows):
        work = ProgramWork(row.work["flops"], row.work["bytes"]) if row.work else None
        if work is not None and (work.total or work.bytes):
            said = told(work, row.median, report.peak or (row.work or {})["peak"])
            lines.append(f"{row.row}, {row.mode}: {said}")
    lines += [*report.remarks, *_busy(report.about)]
    about = [f"{name} {text}" for name, text in report.about.items()]
    return [*lines, "; ".join(about)]


def _busy(about: dict[str, str]) -> list[str]:
    """Say of more processes than cores what they do to rows whose threads wait for each other."""
    load = float(about.get("load", "0").partition(" ")[0])
    cores = int(about.get("cores", "1"))
    if load <= cores + 1:
        return []
    return [
        f"The machine was busy ({load} processes on {cores} cores): threads of PyTorch and of BLAS "
        "wait for each other then, up to a hundred times as long as they compute. "
        "OMP_NUM_THREADS=1 in the environment gives each one thread."
    ]


def _largest(rows: Sequence[BenchRow]) -> list[BenchRow]:
    """Return of each row and mode the one of the largest size, which a sweep has last."""
    return list({(row.row, row.mode): row for row in rows}.values())


def curves(report: BenchReport) -> dict[str, dict[str, list[tuple[float, float, float]]]]:
    """Return points by mode and row: size, microseconds a call, spread. {} without a sweep."""
    found: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for row in report.rows:
        for size in row.sizes.values():
            point = (float(size), 1e6 * row.median, row.spread)
            found.setdefault(row.mode, {}).setdefault(row.row, []).append(point)
    return found


def _write_page(report: BenchReport, path: Path) -> None:
    names = list(dict.fromkeys(row.row for row in report.rows))
    parts = []
    for mode, by_row in _by_mode(report).items():
        rows = []
        for row in by_row:
            cells = [escape(cell) for cell in _cells(row)]
            mark = f'<i style="background:{charts.colour(names.index(row.row))}"></i>'
            cells[len(row.sizes)] = mark + cells[len(row.sizes)]
            rows.append(cells)
        parts.append(f"<h2>{escape(mode)}</h2>")
        points = curves(report).get(mode)
        if points:
            series = [[(x, y) for x, y, _ in points.get(name, [])] for name in names]
            across = charts.Axis(next(iter(report.rows[0].sizes)), log=True)
            up = charts.Axis("microseconds a call", log=True)
            sizes = sorted({x for one in series for x, _ in one})
            parts.append(charts.figure(f"a call, {mode}", series, across, up, x_ticks=sizes))
        parts.append(html_table(rows, [*_headings(report), *_NUMBERS]))
    about = html_table([[escape(name), escape(text)] for name, text in report.about.items()])
    body = (
        f"<h1>{escape(report.title)}</h1>{''.join(parts)}"
        f"{bullets(notes(report)[:-1])}<h2>Machine</h2>{about}"
    )
    whole_files.write_text(path, document(report.title, body, _STYLE + charts.STYLE))
