"""The plot of a comparison: the losses, curve on curve, and the time of each step.

A PNG file by matplotlib, to be shown anywhere; the page draws the same curves without it.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from torchlike._runtime import whole_files
from torchlike.porting.report import RecordedRun

MISSING = "No plot: it needs matplotlib (pip install 'torchlike[demo]')."


def available() -> bool:
    """Return whether matplotlib, which is an extra, is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def write(path: Path, name: str, runs: list[RecordedRun]) -> None:
    """Write the plot of ``runs`` as a PNG file.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    if not available():
        raise ModuleNotFoundError(MISSING, name="matplotlib")
    # Not at the top: its 0.3 s are nothing that `torchlike run` should wait for.
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    loss_axes, time_axes = figure.subplots(1, 2)
    for i, run in enumerate(runs):
        # Later curves are thinner, so that the ones they lie on stay visible.
        style = {"label": run.label, "color": f"C{i}", "linewidth": 4.0 / (i + 1)}
        loss_axes.plot(range(1, len(run.losses) + 1), run.losses, **style)
        times = run.milliseconds
        if times:
            style["linewidth"] = 1.2
            time_axes.plot(range(1, len(times) + 1), times, **style)
    loss_axes.set(title="loss", xlabel="backward()")
    time_axes.set(title="time of a step, without loading (ms)", xlabel="step", yscale="log")
    time_axes.yaxis.set_major_formatter("{x:g}")
    for axes in (loss_axes, time_axes):
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend()
    figure.suptitle(name)
    with whole_files.writing(path) as file:
        figure.savefig(file, dpi=120, format="png")
