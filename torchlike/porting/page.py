"""A comparison as a page that needs nothing beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from torchlike.porting.document import bullets, document, table
from torchlike.porting.report import RecordedRun, agreement, duration, ratio

_STYLE = """
body { max-width: 64rem; }
table { font-size: .9rem; }
td, th { padding: .3rem .6rem; text-align: right; font-variant-numeric: tabular-nums;
  white-space: pre-line; }
td:first-child, th:first-child { text-align: left; white-space: nowrap; }
figure { margin: 1.5rem 0; } figcaption { font-weight: 600; margin-bottom: .3rem; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: currentColor; } svg .grid { stroke: var(--line); }
svg polyline { fill: none; stroke-linejoin: round; }
i { display: inline-block; width: .8rem; height: .8rem; border-radius: .2rem; margin-right: .4rem; }
li { overflow-wrap: anywhere; }
"""
_COLOURS = (
    "light-dark(#4269d0, #7a9bf5)",
    "light-dark(#d0560b, #ff9a57)",
    "light-dark(#2f8a4c, #6fcf8b)",
    "light-dark(#8b45c9, #c194f0)",
)
_WIDTH, _HEIGHT, _LEFT, _BELOW = 900, 260, 70, 30


def html(name: str, runs: Sequence[RecordedRun], said: Sequence[str]) -> str:
    """Return the page: the table, the losses, the times of steps, and what else was said of the
    runs."""
    losses = [list(enumerate(run.losses, 1)) for run in runs]
    times = [list(enumerate(run.milliseconds, 1)) for run in runs]
    body = (
        f"<h1>{escape(name)}: eager and compiled</h1>{_table(runs)}"
        f"{_figure('loss of each backward()', losses)}"
        f"{_figure('milliseconds of each step, without loading (logarithmic)', times, log=True)}"
        f"{bullets(said)}"
    )
    return document(name, body, _STYLE)


def _table(runs: Sequence[RecordedRun]) -> str:
    head = (
        "run",
        "first step",
        "steady step",
        "ratio",
        "losses agree to (relative)",
        "peak memory",
        "calls by NumPy",
        "operations compiled",
    )
    rows = []
    for i, run in enumerate(runs):
        cells = (
            duration(run.first_step),
            duration(run.steady_step),
            ratio(run.steady_step, runs[0].steady_step),
            str(agreement(runs[0].losses, run.losses)) if i else "",
            "-" if run.peak_memory is None else f"{run.peak_memory / 2**20:,.0f} MiB",
            _count(run.by_numpy),
            _count(run.compiled),
        )
        label = f'<i style="background:{_colour(i)}"></i>{escape(run.label)}'
        rows.append([label, *map(escape, cells)])
    return table(rows, head)


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.3g}"


def _colour(i: int) -> str:
    return _COLOURS[i % len(_COLOURS)]


def _figure(title: str, series: Sequence[Sequence[tuple[int, float]]], *, log: bool = False) -> str:
    """Draw curves over the number of the step; what is not finite is left out. By hand, as SVG:
    the page shows them without matplotlib, which draws the picture of `torchlike.porting.plot`."""
    kept = [
        [
            (x, math.log10(y) if log else y)
            for x, y in one
            if math.isfinite(y) and (y > 0 or not log)
        ]
        for one in series
    ]
    ys = [y for one in kept for _, y in one]
    if not ys:
        return ""
    low, high = min(ys), max(ys)
    high = high if high > low else low + 1
    last = max(2, max(x for one in kept for x, _ in one))

    def at(x: float, y: float) -> tuple[float, float]:
        across = _LEFT + (x - 1) / (last - 1) * (_WIDTH - _LEFT - 10)
        return across, 10 + (high - y) / (high - low) * (_HEIGHT - _BELOW - 10)

    parts = []
    for k in range(5):
        value = low + (high - low) * k / 4
        across, down = at(1, value)
        text = _number(10**value if log else value)
        parts.append(
            f'<line class="grid" x1="{across}" x2="{_WIDTH - 10}" y1="{down:.1f}" y2="{down:.1f}"/>'
            f'<text x="{_LEFT - 8}" y="{down + 4:.1f}" text-anchor="end">{text}</text>'
        )
    for x, anchor in ((1, "start"), (last, "end")):
        parts.append(
            f'<text x="{at(x, low)[0]:.1f}" y="{_HEIGHT - 6}" text-anchor="{anchor}">{x}</text>'
        )
    for i, one in enumerate(kept):  # later curves are thinner: those they lie on stay visible
        points = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in one)
        width = max(1.2, 5.0 / (i + 1)) if not log else 1.5
        parts.append(
            f'<polyline points="{points}" style="stroke:{_colour(i)}" stroke-width="{width:.1f}"/>'
        )
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'role="img" aria-label="{escape(title)}">{"".join(parts)}</svg></figure>'
    )
