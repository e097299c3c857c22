"""``torchlike.compiler.report``: what NumPy computed, what was compiled, and what both cost."""

from __future__ import annotations

import io
from typing import Any

from torchlike._runtime.first_calls.statistics import (
    CompiledMeanwhile,
    Record,
    meanwhile,
    records,
)
from torchlike._runtime.lazy import LazyModule

_console: Any = LazyModule("rich.console")
_table: Any = LazyModule("rich.table")


class Report:
    """A table of compiled forms, and one of functions that were compiled in the background.
    ``print(report)`` shows them.

    Attributes:
      rows: a record for each operation, the dearest first.
      programs: one for each program that was compiled while its function ran eagerly.

    Example:
      >>> report = torchlike.compiler.report()
      >>> "first calls" in str(report)
      True
    """

    def __init__(self, rows: list[Record], programs: list[CompiledMeanwhile]) -> None:
        self.rows, self.programs = rows, programs

    def __rich__(self) -> Any:
        tables = [self._of_operations()]
        if self.programs:
            tables.append(self._of_programs())
        return _console.Group(*tables)

    def _of_programs(self) -> Any:
        table = _table.Table(title="compiled in the background", title_justify="left")
        for name in ("function", "equations", "compiled in s", "waited for s", ""):
            table.add_column(name, justify="left" if name in ("function", "") else "right")
        for p in self.programs:
            seconds = "" if p.seconds is None else f"{p.seconds:.1f}"
            table.add_row(p.name, f"{p.equations:,}", seconds, f"{p.waited:.1f}", p.state)
        return table

    def _of_operations(self) -> Any:
        table = _table.Table(title="first calls", title_justify="left")
        table.add_column("operation", no_wrap=True)
        for name in (
            "by NumPy: traces",
            "from other sizes",
            "calls",
            "ms",
            "compiled",
            "after calls",
            "ms",
        ):
            table.add_column(name, justify="right")
        table.add_column("compiled at once because")
        for row in (*self.rows, _total(self.rows)):
            table.add_row(
                row.name,
                str(row.programs),
                str(row.specialised),
                str(row.calls),
                f"{1e3 * (row.making_seconds + row.calling_seconds):.1f}",
                str(row.compiled),
                _span(row.compiled_after),
                f"{1e3 * row.compiling_seconds:.1f}",
                ", ".join(f"{reason} ({n})" for reason, n in row.reasons.items()),
                end_section=row is (self.rows[-1] if self.rows else None),
            )
        return table

    def __str__(self) -> str:
        text = io.StringIO()
        _console.Console(file=text, width=140).print(self)
        return text.getvalue()

    __repr__ = __str__


def report() -> Report:
    """Report what happened to the operations' compiled forms so far, the dearest first.

    For each: how many programs were traced for NumPy and how many were made of the trace of other
    sizes; how many calls NumPy computed, and the milliseconds of all that; how many signatures were
    compiled, after how many calls by NumPy, and the milliseconds of their first compiled calls; and
    why signatures were compiled at once. Then, for each program of ``torchlike.jit`` that was
    compiled in the background, from which call on it is used, and whether as shared blocks or
    whole; ``explain`` tells more of programs.

    Returns:
      a table: ``print`` shows it, and its ``rows`` are the records.

    Example:
      >>> with torchlike.compiler.set_first_calls("numpy"):
      ...     y = torch.ones(3) + 1
      >>> len(torchlike.compiler.report().rows) > 0
      True
    """
    rows = sorted(records.values(), key=lambda r: -_seconds(r))
    return Report(rows, list(meanwhile))


def _seconds(row: Record) -> float:
    return row.making_seconds + row.calling_seconds + row.compiling_seconds


def _span(counts: list[int]) -> str:
    if not counts:
        return ""
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def _total(rows: list[Record]) -> Record:
    total = Record("all")
    for row in rows:
        for name in (
            "programs",
            "specialised",
            "calls",
            "making_seconds",
            "calling_seconds",
            "compiled",
            "compiling_seconds",
        ):
            setattr(total, name, getattr(total, name) + getattr(row, name))
    return total
