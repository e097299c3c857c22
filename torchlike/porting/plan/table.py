"""A plan as tables in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from torchlike.porting.plan.planning import Plan


def show(plan: Plan, console: Console | None = None) -> None:
    """Print a plan."""
    console = console or Console()
    mesh = ", ".join(f"{name}={size}" for name, size in plan.mesh.items())
    console.print(
        f"[bold]{heading(plan)}[/] on {plan.topology}: {plan.devices} x {plan.chip['title']}, "
        f"mesh {mesh}"
    )
    for title, rows in sections(plan):
        table = Table(title=title, title_justify="left", show_header=False)
        table.add_column()
        table.add_column(justify="right")
        table.add_column()
        for row in rows:
            table.add_row(*row)
        console.print(table)
    console.print(verdict(plan))
    console.print(f"Figures of the chip: {plan.chip['source']}")


def heading(plan: Plan) -> str:
    """Return the step's name, and which of a loop's steps it is."""
    return f"{plan.step}, the one that {plan.phase}" if plan.phase else plan.step


def verdict(plan: Plan) -> str:
    """Say whether it fits, and what bounds it, in a sentence."""
    left = plan.capacity - plan.needed
    fits = f"It fits, with {size(left)} to spare" if plan.fits else f"It lacks {size(-left)}"
    return (
        f"{fits} on each device. A step takes {seconds(plan.seconds)} at least, bound by "
        f"{plan.bound}."
    )


def sections(plan: Plan) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return the titles, and rows of (what, figure, remark)."""
    memory = [(kind, size(n), "") for kind, n in plan.inputs.items()]
    made = plan.results - plan.aliased
    memory += [
        ("arguments, as laid out", size(plan.arguments), "by XLA, with padding"),
        ("activations and temporaries", size(plan.temporary), "at their peak"),
        ("results in memory of their own", size(made), ""),
        ("program", size(plan.code), ""),
        ("needed", size(plan.needed), f"of {size(plan.capacity)}"),
    ]
    units = ", ".join(f"{unit} {count(n)}" for unit, n in plan.units.items() if n)
    peaks = ", ".join(f"{count(plan.chip['peak'][u])} {u}" for u, n in plan.units.items() if n)
    work = [
        ("operations of a step", count(plan.flops), f"on all devices: {units}"),
        (
            "bytes moved",
            size(plan.bytes) if plan.bytes else "-",
            "on each device" if plan.bytes else "XLA does not say for CUDA",
        ),
    ]
    exchange = [
        (c.kind, size(c.nbytes), f"{c.count} x, groups of {c.group}") for c in plan.collectives
    ] or [("none", "", "")]
    bounds = [
        ("compute", seconds(plan.compute_seconds), "at the chip's peak"),
        ("memory", seconds(plan.memory_seconds), "at its bandwidth"),
        ("interconnect", seconds(plan.interconnect_seconds), "around rings"),
        (
            "share of the peak",
            f"{plan.compute_seconds / plan.seconds:.0%}" if plan.seconds else "-",
            f"at most; the peak: {peaks}" if peaks else "no products",
        ),
        (
            "captured, compiled here in",
            seconds(plan.capture_seconds),
            seconds(plan.compile_seconds),
        ),
    ]
    return [
        ("Memory of each device", memory),
        ("Work", work),
        ("Exchange of each device", exchange),
        ("A step takes at least", bounds),
    ]


#: Heads of the table of a loop's steps.
PHASES = ("step", "number", "memory", "operations", "exchanged", "at least")


def show_phases(plans: Sequence[Plan], console: Console | None = None) -> None:
    """Print the kinds of steps that one update takes."""
    console = console or Console()
    table = Table(title="The steps of an update", title_justify="left")
    for name in PHASES:
        table.add_column(name, justify="left" if name == "step" else "right")
    for plan in plans:
        table.add_row(*phase_row(plan))
    console.print(table)
    console.print(of_update(plans))


def phase_row(plan: Plan) -> tuple[str, ...]:
    _, memory, _, operations, exchanged, least, _ = advice_row(plan)
    return (plan.phase, str(plan.steps), memory, operations, exchanged, least)


def of_update(plans: Sequence[Plan]) -> str:
    """Say what an update takes of all its steps, in a sentence."""
    steps, least = sum(p.steps for p in plans), sum(p.steps * p.seconds for p in plans)
    return (
        f"An update takes {steps} steps, {seconds(least)} at least together; memory is that of the "
        "largest."
    )


def show_advice(plans: Sequence[Plan], console: Console | None = None) -> None:
    """Print what each change gives, beside the plan as it is."""
    console = console or Console()
    table = Table(title="What a change gives", title_justify="left")
    for name in ("change", "memory", "fits", "operations", "exchanged", "at least", "bound by"):
        table.add_column(name, justify="left" if name == "change" else "right")
    for plan in plans:
        table.add_row(*advice_row(plan))
    console.print(table)
    for line in of_changes(plans):
        console.print(line)


def of_changes(plans: Sequence[Plan]) -> list[str]:
    """Say which changes take no less memory than the plan as it is, the first one."""
    before, *changes = plans
    worse = [plan.change for plan in changes if plan.needed >= before.needed]
    if not worse:
        return []
    return [f"These take no less memory than as it is: {', '.join(worse)}."]


def advice_row(plan: Plan) -> tuple[str, ...]:
    return (
        plan.change or "as it is",
        size(plan.needed),
        "yes" if plan.fits else "no",
        count(plan.flops),
        size(sum(c.nbytes for c in plan.collectives)),
        seconds(plan.seconds),
        plan.bound,
    )


def size(n: float) -> str:
    """Write a number of bytes, in decimal units."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(n) < 1000:
            return f"{n:.3g} {unit}" if unit != "B" else f"{n:.0f} B"
        n /= 1000
    return f"{n:.4g} TB"


def count(n: float) -> str:
    """Write a number of operations, in decimal units."""
    for unit in ("", "k", "M", "G", "T"):
        if abs(n) < 1000:
            return f"{n:.4g} {unit}".rstrip()
        n /= 1000
    return f"{n:.4g} P"


def seconds(n: float) -> str:
    """Write a time."""
    if n >= 1:
        return f"{n:.3g} s"
    return f"{n * 1e3:.3g} ms" if n >= 1e-3 else f"{n * 1e6:.3g} us"
