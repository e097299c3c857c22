"""``torchlike.compiler.report``: what NumPy computed, what was compiled, and what both cost."""

from __future__ import annotations

import io
import linecache
import os
from collections import Counter
from typing import Any

from torchlike._runtime.first_calls.statistics import (
    CompiledMeanwhile,
    CompiledPiece,
    Record,
    compiled_pieces,
    cuts,
    meanwhile,
    records,
)
from torchlike._runtime.lazy import LazyModule

_console: Any = LazyModule("rich.console")
_table: Any = LazyModule("rich.table")


#: Lines that cut chains of deferred calls, as many as are shown.
_MOST_LINES = 12
#: What a script can do about a cut, by why it was made.
_REMEDIES = {"a value is read": "read it every 50th step"}


class Report:
    """A table of compiled forms, one of functions that were compiled in the background, and two of
    deferred calls. ``print(report)`` shows them.

    Attributes:
      rows: a record for each operation, the dearest first.
      programs: one for each program that was compiled while its function ran eagerly.
      pieces: one for each chain of deferred calls that became a program.
      cuts: how often deferred calls were run because of a line, most often first: pairs of
        (why, file, line) and a number.

    Example:
      >>> report = torchlike.compiler.report()
      >>> "first calls" in str(report)
      True
    """

    def __init__(
        self,
        rows: list[Record],
        programs: list[CompiledMeanwhile],
        pieces: list[CompiledPiece],
        cuts: Counter[tuple[str, str, int]],
    ) -> None:
        self.rows, self.programs, self.pieces = rows, programs, pieces
        self.cuts = cuts.most_common()

    def __rich__(self) -> Any:
        tables = [self._of_operations()]
        if self.programs:
            tables.append(self._of_programs())
        if self.pieces:
            tables.append(self._of_pieces())
        if self.cuts:
            tables.append(self._of_cuts())
        return _console.Group(*tables)

    def _of_pieces(self) -> Any:
        table = _table.Table(title="deferred calls that became a program", title_justify="left")
        for name in ("from", "to", "operations", "runs", "as a program", "saved s, estimated"):
            table.add_column(name, justify="left" if name in ("from", "to") else "right")
        for piece in sorted(self.pieces, key=lambda p: -p.saved):
            table.add_row(
                piece.operations[0],
                piece.operations[-1],
                f"{len(piece.operations):,}",
                f"{piece.runs:,}",
                f"{piece.as_program:,}",
                f"{piece.saved / 1e6:.2f}",
            )
        return table

    def _of_cuts(self) -> Any:
        table = _table.Table(title="lines that cut chains of deferred calls", title_justify="left")
        for name in ("flushes", "why", "where", "", "remedy"):
            table.add_column(name, justify="right" if name == "flushes" else "left")
        for (why, file, line), times in self.cuts[:_MOST_LINES]:
            source = linecache.getline(file, line).strip()
            where = f"{os.path.basename(file)}:{line}" if file else ""
            remedy = _REMEDIES.get(why, "") if times > 1 else ""
            table.add_row(f"{times:,}", why, where, source, remedy)
        return table

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
    whole; ``explain`` tells more of programs. Where calls are deferred: the chains of them that
    became programs, and the lines that cut chains.

    Returns:
      a table: ``print`` shows it, and its ``rows`` are the records.

    Example:
      >>> with torchlike.compiler.set_first_calls("numpy"):
      ...     y = torch.ones(3) + 1
      >>> len(torchlike.compiler.report().rows) > 0
      True
    """
    rows = sorted(records.values(), key=lambda r: -_seconds(r))
    return Report(rows, list(meanwhile), list(compiled_pieces), cuts)


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
