"""The tables, one per group of workloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from rich.table import Table
from rich.text import Text

from benchmarks.session import IDLE_CPU_SECONDS, Measurement
from benchmarks.stats import disagreement, ratio, spread, typical
from benchmarks.targets import Verdict, judge

#: Losses of one workload that differ by more than this were not of the same computation.
LOSS_TOLERANCE = 1e-3
#: The column that all others of a row are divided by.
REFERENCE = "torch"


def duration(seconds: float | None) -> str:
    """Write three significant digits with the unit that suits them."""
    if seconds is None:
        return ""
    for limit, unit, factor in ((1e-3, "µs", 1e6), (1.0, "ms", 1e3)):
        if seconds < limit:
            return f"{_three_digits(seconds * factor)} {unit}"
    return f"{_three_digits(seconds)} s"


def _three_digits(value: float) -> str:
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{decimals}f}"


def group_table(
    title: str, names: Mapping[str, str], cells: Sequence[Measurement], training: bool
) -> Table:
    """Return a table with one row per workload and framework.

    Args:
        names: workload -> its title, for the caption.
        training: add losses and peak memory.
    """
    verdicts = {v.target.cell: v for v in judge(_rounds_of(cells))}
    shown = dict.fromkeys(c.workload for c in cells)
    table = Table(
        title=title,
        title_justify="left",
        header_style="bold",
        caption="\n".join(f"{workload}: {names[workload]}" for workload in shown),
        caption_justify="left",
    )
    table.add_column("workload", no_wrap=True)
    table.add_column("framework", no_wrap=True)
    for column in ("first", "steady", "±", f"÷ {REFERENCE}", "÷ jax/jnp"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("target")
    if training:
        table.add_column("loss Δ", justify="right", no_wrap=True)
        table.add_column("peak MB", justify="right", no_wrap=True)
    for workload in shown:
        row = [c for c in cells if c.workload == workload]
        for i, cell in enumerate(row):
            name = workload if i == 0 else ""
            if cell.error is not None:
                failed = Text(f"failed: {cell.error}", style="red")
                table.add_row(name, cell.framework, "", "", "", "", "", failed)
                continue
            table.add_row(
                name,
                cell.framework,
                duration(cell.first_s),
                duration(typical(cell.rounds)),
                f"{spread(cell.rounds):.0%}",
                _ratio_to(row, REFERENCE, cell),
                _ratio_to_jax(row, cell),
                _target(verdicts.get((workload, cell.framework))),
                *((_losses(row, cell), _megabytes(cell.peak_mb)) if training else ()),
            )
        table.add_section()
    return table


def _rounds_of(cells: Sequence[Measurement]) -> dict[tuple[str, str], Sequence[float]]:
    return {(c.workload, c.framework): c.rounds for c in cells if c.error is None}


def _find(row: Sequence[Measurement], framework: str) -> Measurement | None:
    return next((c for c in row if c.framework == framework and c.error is None), None)


def _ratio_to(row: Sequence[Measurement], framework: str, cell: Measurement) -> str:
    reference = _find(row, framework)
    return f"{ratio(cell.rounds, reference.rounds):.2f}" if reference else ""


def _ratio_to_jax(row: Sequence[Measurement], cell: Measurement) -> str:
    # An eager op has its like in jnp, a jitted one in jax; the step of a net has only the latter.
    likes = ("jnp", "jax") if cell.framework.partition("@")[0] in ("torchlike", "jnp") else ("jax",)
    for like in likes:
        if text := _ratio_to(row, like, cell):
            return text
    return ""


def _target(verdict: Verdict | None) -> Text:
    if verdict is None:
        return Text("")
    if verdict.ratio is None:
        return Text(f"{verdict.target.text}: not measured", style="dim")
    style = "green" if verdict.met else "red"
    return Text(f"{verdict.target.text}: {verdict.ratio:.2f}", style=style)


def _losses(row: Sequence[Measurement], cell: Measurement) -> Text:
    reference = _find(row, REFERENCE) or next(c for c in row if c.error is None)
    if reference is cell or not reference.losses:
        return Text("")
    difference = disagreement(cell.losses, reference.losses)
    return Text(f"{difference:.0e}", style="" if difference <= LOSS_TOLERANCE else "red")


def _megabytes(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def warnings(cells: Sequence[Measurement]) -> list[str]:
    """Return warnings of what makes the numbers less trustworthy than they look."""
    found = []
    shares = [b for c in cells for b in c.busy]
    if shares and median(shares) > 0.1:
        found.append(
            f"the machine was {median(shares):.0%} busy between rounds (worst {max(shares):.0%}): "
            "times of PyTorch suffer most from a neighbour, run again when it is quiet"
        )
    for cell in cells:
        if cell.idle_cpu_s > IDLE_CPU_SECONDS:
            found.append(
                f"{cell.framework} used {duration(cell.idle_cpu_s)} of processor time while idle "
                f"({cell.workload}): it disturbed the others"
            )
        if cell.rounds and spread(cell.rounds) > 0.1:
            found.append(
                f"{cell.framework} on {cell.workload}: rounds differ by {spread(cell.rounds):.0%}"
            )
    return found
