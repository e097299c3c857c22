"""Plots as PNG files, by matplotlib, to be shown anywhere: of a comparison, of a sweep of sizes.

Pages draw the same curves without it (`torchlike.porting.charts`).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from torchlike._runtime import whole_files
from torchlike.porting import charts
from torchlike.porting.report import RecordedRun

MISSING = "No plot: it needs matplotlib (pip install 'torchlike[demo]')."


def available() -> bool:
    """Return whether matplotlib, which is an extra, is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def write(path: Path, name: str, runs: list[RecordedRun]) -> None:
    """Write the plot of a comparison: the losses, curve on curve, and the time of each step, with
    the medians of steady steps.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    figure = _figure(11, 4.2)
    loss_axes, time_axes = figure.subplots(1, 2)
    for i, run in enumerate(runs):
        # Later curves are thinner, so that the ones they lie on stay visible.
        style = {"label": run.label, "color": f"C{i}", "linewidth": 4.0 / (i + 1)}
        loss_axes.plot(range(1, len(run.losses) + 1), run.losses, **style)
        times = run.milliseconds
        if times:
            style["linewidth"] = 1.2
            time_axes.plot(range(1, len(times) + 1), times, **style)
        if run.steady_step is not None:
            median = 1e3 * run.steady_step
            time_axes.axhline(median, color=f"C{i}", linestyle="--", linewidth=0.8)
    loss_axes.set(title="loss", xlabel="update", ylabel="loss")
    title = "time of a step, without loading (dashed: median)"
    time_axes.set(title=title, xlabel="step", ylabel="milliseconds", yscale="log")
    _finish(figure, path, name)


def write_sweep(
    path: Path,
    name: str,
    size: str,
    curves: dict[str, dict[str, list[tuple[float, float, float]]]],
) -> None:
    """Write the plot of a sweep: the time of a call over its size, of each mode and row.

    Args:
        path: the file.
        name: the title.
        size: the name of the size.
        curves: by mode and row: size, microseconds, and the spread of these relative to them.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    figure = _figure(2 + 5 * len(curves), 4.2)
    names = list(dict.fromkeys(row for rows in curves.values() for row in rows))
    several = figure.subplots(1, len(curves), squeeze=False, sharey=True)[0]
    sizes = sorted({p[0] for rows in curves.values() for points in rows.values() for p in points})
    for axes, (mode, rows) in zip(several, curves.items(), strict=True):
        for row, points in rows.items():
            across, times, spreads = zip(*points, strict=True)
            colour = f"C{names.index(row)}"
            axes.plot(across, times, marker="o", markersize=3, label=row, color=colour)
            low = [t * (1 - s) for t, s in zip(times, spreads, strict=True)]
            high = [t * (1 + s) for t, s in zip(times, spreads, strict=True)]
            axes.fill_between(across, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.set(title=mode, xlabel=size, yscale="log")
        axes.set_xscale("log", base=2)
        axes.set_xticks(sizes[:: -(-len(sizes) // 6)], minor=False)  # as many as have room
        axes.xaxis.set_major_formatter("{x:,g}")
    several[0].set_ylabel("microseconds a call")
    figure.legend(*several[0].get_legend_handles_labels(), loc="outside right upper")
    _finish(figure, path, name, legends=False)


def _figure(width: float, height: float) -> Any:
    if not available():
        raise ModuleNotFoundError(MISSING, name="matplotlib")
    # Not at the top: its 0.3 s are nothing that `torchlike run` should wait for.
    from matplotlib.figure import Figure  # noqa: PLC0415

    return Figure(figsize=(width, height), layout="constrained")


def _finish(figure: Any, path: Path, name: str, *, legends: bool = True) -> None:
    for axes in figure.axes:
        low, high = axes.get_ylim()
        if axes.get_yscale() == "log" and axes.lines:
            axes.set_yticks(charts.ticks(low, high, log=True), minor=False)
            axes.yaxis.set_minor_formatter("")
            axes.yaxis.set_major_formatter("{x:,g}")
            axes.set_ylim(low, high)
        axes.grid(alpha=0.3)
        if axes.lines and legends:
            axes.legend()
    figure.suptitle(name)
    with whole_files.writing(path) as file:
        figure.savefig(file, dpi=120, format="png")
