"""Curves for reports, as SVG: a page shows them with nothing beside it.

Drawn by hand; the picture of `torchlike.porting.plot` needs matplotlib. Axes have names, and ticks
stand at round numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
figure { margin: 1.5rem 0; } figcaption { font-weight: 600; margin-bottom: .3rem; }
svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: currentColor; } svg .grid { stroke: var(--line); }
svg polyline { fill: none; stroke-linejoin: round; }
svg .median { stroke-dasharray: 5 4; stroke-width: 1.2; }
"""
_COLOURS = (
    "light-dark(#4269d0, #7a9bf5)",
    "light-dark(#d0560b, #ff9a57)",
    "light-dark(#2f8a4c, #6fcf8b)",
    "light-dark(#8b45c9, #c194f0)",
    "light-dark(#a1284f, #f07a9d)",
    "light-dark(#6b6b1e, #c9c96a)",
)
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _ABOVE, _BELOW = 900, 280, 84, 30, 10, 44


@dataclass(frozen=True)
class Axis:
    """An axis: its name, and whether it is logarithmic."""

    name: str
    log: bool = False

    def at(self, value: float) -> float:
        """Return where a value stands, on a scale of the axis' own."""
        return math.log10(value) if self.log else value

    def shows(self, value: float) -> bool:
        """Return whether a value can be shown."""
        return math.isfinite(value) and (value > 0 or not self.log)


def colour(i: int) -> str:
    """Return the colour of the curve with this number, for light and dark screens."""
    return _COLOURS[i % len(_COLOURS)]


def ticks(low: float, high: float, *, log: bool = False, most: int = 7) -> list[float]:
    """Return round numbers from ``low`` to ``high``: multiples of 1, 2 or 5 times a power of ten;
    on a logarithmic axis powers of ten, and where these are few, 2 and 5 times these."""
    if log:
        return _log_ticks(low, high, most)
    span = high - low
    if span <= 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(span / most))
    step = next(f * power for f in (1, 2, 5, 10, 20) if span / (f * power) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found: list[float] = []
    for factors in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        made = [f * 10.0**k for k in powers for f in factors]
        shown = [t for t in made if low * (1 - 1e-9) <= t <= high * (1 + 1e-9)]
        if not found or len(shown) <= most:
            found = shown
        if len(found) >= 3:
            break
    if len(found) < 3:  # less than a factor of two: a logarithm is a straight line
        return ticks(low, high, most=most)
    return found[:: -(-len(found) // most)]


def number(value: float) -> str:
    """Write a tick's number."""
    if value and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.3g}"
    return f"{value:,.10g}"


def figure(
    title: str,
    series: Sequence[Sequence[tuple[float, float]]],
    across: Axis,
    up: Axis,
    *,
    x_ticks: Sequence[float] | None = None,
    medians: Sequence[float | None] = (),
    nested: bool = False,
) -> str:
    """Draw curves; what is not finite is left out. "" where nothing is left.

    Args:
        title: above the curves.
        series: the points of each, in the order of their colours.
        across, up: the axes.
        x_ticks: where ticks stand on the axis across; at round numbers by default.
        medians: of each curve a value at which a line is drawn, or None.
        nested: whether later curves are thinner, so that those they lie on stay visible.
    """
    kept = [[(x, y) for x, y in one if across.shows(x) and up.shows(y)] for one in series]
    points = [point for one in kept for point in one]
    if not points:
        return ""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    left, right = across.at(min(xs)), across.at(max(xs))
    bottom, top = up.at(min(ys)), up.at(max(ys))
    margin = 0.04 * (top - bottom) or 0.5
    bottom, top = bottom - margin, top + margin

    def place(x: float, y: float) -> tuple[float, float]:
        part = (across.at(x) - left) / (right - left) if right > left else 0.5
        height = (top - up.at(y)) / (top - bottom)
        return (
            _LEFT + part * (_WIDTH - _LEFT - _RIGHT),
            _ABOVE + height * (_HEIGHT - _ABOVE - _BELOW),
        )

    parts = _up_axis(up, bottom, top, lambda y: place(xs[0], y)[1])
    marks = x_ticks or ticks(min(xs), max(xs), log=across.log)
    parts += _across_axis(across, marks, lambda x: place(x, ys[0])[0])
    for i, median in enumerate(medians):
        if median is not None and up.shows(median):
            down = place(xs[0], median)[1]
            parts.append(
                f'<line class="median" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{down:.1f}" '
                f'y2="{down:.1f}" style="stroke:{colour(i)}"/>'
            )
    for i, one in enumerate(kept):
        text = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in one)
        width = max(1.2, 5.0 / (i + 1)) if nested else 1.5
        parts.append(
            f'<polyline points="{text}" style="stroke:{colour(i)}" stroke-width="{width:.1f}"/>'
        )
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'role="img" aria-label="{escape(title)}">{"".join(parts)}</svg></figure>'
    )


def _up_axis(up: Axis, bottom: float, top: float, place: Callable[[float], float]) -> list[str]:
    low, high = (10**bottom, 10**top) if up.log else (bottom, top)
    parts = []
    for value in ticks(low, high, log=up.log):
        down = place(value)
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{down:.1f}" '
            f'y2="{down:.1f}"/><text x="{_LEFT - 8}" y="{down + 4:.1f}" text-anchor="end">'
            f"{number(value)}</text>"
        )
    middle = (_HEIGHT - _BELOW) / 2
    turned = f'transform="rotate(-90 14 {middle:.0f})"'
    parts.append(
        f'<text x="14" y="{middle:.0f}" text-anchor="middle" {turned}>{escape(up.name)}</text>'
    )
    return parts


def _across_axis(
    across: Axis, marks: Sequence[float], place: Callable[[float], float]
) -> list[str]:
    parts = [
        f'<text x="{place(x):.1f}" y="{_HEIGHT - _BELOW + 18}" text-anchor="middle">{number(x)}'
        "</text>"
        for x in marks
    ]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    at = f'x="{middle:.0f}" y="{_HEIGHT - 6}" text-anchor="middle"'
    return [*parts, f"<text {at}>{escape(across.name)}</text>"]
