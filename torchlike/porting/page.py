"""A comparison as a page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from torchlike.porting import charts
from torchlike.porting.document import bullets, document, table
from torchlike.porting.report import HEADINGS, RecordedRun, agreement, times

_STYLE = """
body { max-width: 64rem; }
table { font-size: .9rem; }
td, th { padding: .3rem .6rem; text-align: right; font-variant-numeric: tabular-nums;
  white-space: pre-line; }
td:first-child, th:first-child { text-align: left; white-space: nowrap; }
i { display: inline-block; width: .8rem; height: .8rem; border-radius: .2rem; margin-right: .4rem; }
li { overflow-wrap: anywhere; }
"""


def html(name: str, runs: Sequence[RecordedRun], said: Sequence[str]) -> str:
    """Return the page: the table, the losses, the times of steps, and what else was said of the
    runs."""
    losses = [[(float(x), y) for x, y in enumerate(run.losses, 1)] for run in runs]
    curves_of_times = [[(float(x), y) for x, y in enumerate(run.milliseconds, 1)] for run in runs]
    curves = charts.figure("loss", losses, charts.Axis("update"), charts.Axis("loss"), nested=True)
    body = (
        f"<h1>{escape(name)}: eager and compiled</h1>{_table(runs)}"
        f"{curves}{_times(runs, curves_of_times)}{bullets(said)}"
    )
    return document(name, body, _STYLE + charts.STYLE)


def _times(runs: Sequence[RecordedRun], curves: Sequence[list[tuple[float, float]]]) -> str:
    medians = [None if run.steady_step is None else 1e3 * run.steady_step for run in runs]
    return charts.figure(
        "time of a step, without loading; dashed: medians of steady steps",
        curves,
        charts.Axis("step"),
        charts.Axis("milliseconds", log=True),
        medians=medians,
    )


def _table(runs: Sequence[RecordedRun]) -> str:
    head = (
        "run",
        *HEADINGS,
        "losses agree to (relative)",
        "peak memory",
        "calls by NumPy",
        "operations compiled",
    )
    rows = []
    for i, run in enumerate(runs):
        cells = (
            *times(run, runs[0]),
            str(agreement(runs[0].losses, run.losses)) if i else "",
            "-" if run.peak_memory is None else f"{run.peak_memory / 2**20:,.0f} MiB",
            _count(run.by_numpy),
            _count(run.compiled),
        )
        label = f'<i style="background:{charts.colour(i)}"></i>{escape(run.label)}'
        rows.append([label, *map(escape, cells)])
    return table(rows, head)


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"
