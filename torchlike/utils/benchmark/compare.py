"""Compare: measurements as tables, one for each label."""

from __future__ import annotations

import enum
import math
import sys
from collections.abc import Iterable
from typing import Any

from torchlike.utils.benchmark.timer import Measurement
from torchlike.utils.benchmark.units import ordered_unique, select_unit, unit_to_english

_BEST, _GOOD, _BAD, _WORST = "\033[92m\033[1m", "\033[34m", "\033[2m\033[91m", "\033[31m"
_END = "\033[0m\033[0m"


class Colorize(enum.Enum):
    """Whether the fastest of a row or of a column is to be seen."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Tables of measurements: a table for each ``label``, a row for each ``sub_label`` (or
    statement) and number of threads, a column for each ``description``. Measurements of one
    place are merged."""

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trim = False
        self._colorize = Colorize.NONE
        self._highlight = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add more measurements. Raises ValueError for anything else."""
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
            self._results.append(r)

    def trim_significant_figures(self) -> None:
        """Show as many digits as the measurements' spread allows."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show times in colours by how far they are from the best of their column, or of their
        row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark times whose quartiles are more than a tenth of the median apart."""
        self._highlight = True

    def print(self) -> None:
        """Print the tables."""
        sys.stdout.write(f"{self}\n")

    def __str__(self) -> str:
        merged: dict[tuple[Any, ...], Measurement] = {}
        for m in self._results:
            key = (m.label, m.num_threads, m.sub_label or m.task_spec.stmt, m.description)
            old = merged.get(key)
            merged[key] = m if old is None else _joined(old, m)
        labels = ordered_unique(key[0] for key in merged)
        return "\n".join(
            self._table(label, {k[1:]: m for k, m in merged.items() if k[0] == label})
            for label in labels
        )

    def _table(self, label: Any, cells: dict[tuple[Any, ...], Measurement]) -> str:
        unit, scale = select_unit(min(m.median for m in cells.values()))
        columns = ordered_unique(key[2] for key in cells)
        threads = sorted({key[0] for key in cells})
        rows = [(n, s) for n in threads for s in ordered_unique(k[1] for k in cells if k[0] == n)]
        shown: dict[tuple[Any, ...], str] = {
            key: self._number(m, scale) for key, m in cells.items()
        }
        widths = [
            max(len(str(c or "")), *(len(v) for k, v in shown.items() if k[2] == c)) + 4
            for c in columns
        ]
        head = max(len(f"{max(threads)} threads: "), *(len(f"      {s or ''}  ") for _, s in rows))
        lines = [
            " " * head
            + "|"
            + "|".join(f"{c or '':^{w}}" for c, w in zip(columns, widths, strict=True))
        ]
        total = len(lines[0])
        for n in threads:
            lines.append(f"{n} threads: ".ljust(total, "-"))
            for _, sub in (row for row in rows if row[0] == n):
                found = [(n, sub, c) for c in columns]
                text = "|".join(
                    self._painted(f"{shown.get(k, ''):>{w - 2}}  ", k, cells, rows, columns)
                    for k, w in zip(found, widths, strict=True)
                )
                lines.append(f"      {sub or ''}  ".ljust(head) + "|" + text)
        title = f" {label} " if label else ""
        note = f"Times are in {unit_to_english(unit)}s ({unit})."
        star = self._highlight and any("*" in v for v in shown.values())
        if star:
            note += "\n(*) the quartiles are more than 10 % of the median apart."
        return "\n".join([f"[{title:-^{total - 2}}]", *lines, "", note, ""])

    def _number(self, m: Measurement, scale: float) -> str:
        value = m.median / scale
        digits = 1
        if self._trim:
            digits = max(m.significant_figures - math.floor(math.log10(value)) - 1, 0)
        wide = self._highlight and m.iqr > 0.1 * m.median
        return f"{value:.{digits}f}{'*' if wide else ''}"

    def _painted(
        self,
        text: str,
        key: tuple[Any, ...],
        cells: dict[tuple[Any, ...], Measurement],
        rows: list[tuple[Any, Any]],
        columns: list[Any],
    ) -> str:
        if self._colorize is Colorize.NONE or key not in cells:
            return text
        n, sub, column = key
        peers = (
            [(n, sub, c) for c in columns]
            if self._colorize is Colorize.ROWWISE
            else ([(n, s, column) for t, s in rows if t == n])
        )
        best = min(cells[p].median for p in peers if p in cells)
        ratio = cells[key].median / best
        if ratio <= 1.0:
            return f"{_BEST}{text}{_END}"
        for limit, colour in ((1.05, _GOOD), (2.0, ""), (5.0, _BAD)):
            if ratio <= limit:
                return f"{colour}{text}{_END}" if colour else text
        return f"{_WORST}{text}{_END}"


def _joined(a: Measurement, b: Measurement) -> Measurement:
    times = [t * a.number_per_run for t in (*a.times, *b.times)]
    return Measurement(a.number_per_run, times, a.task_spec)
