"""What ``torchlike.jit`` costs against hand-written JAX, flax nnx, torch.compile and PyTorch.

    python -m benchmarks.jit                    everything, about an hour
    python -m benchmarks.jit --quick            does it run?
    python -m benchmarks.jit --parts calls compile --workloads mlp gpt12 --json out.json

Four parts:

steps    a steady training step of each net; one process a framework, interleaved rounds. What
         checks of values cost is our step to the same with ``checks=False``.
calls    a call of a jitted function that reads and writes 10, 100 or 1,000 hidden cells, against a
         plain ``jax.jit`` call with as many arguments, given to keep; both in one process, in turn.
compile  the first step with an empty compilation cache, each in a fresh process, in turn.
memory   the most that later steps hold (weights, state, inputs, temporaries), compiling left out,
         each in a fresh process; and what XLA says its program needs. A JAX step holds no gradients
         afterwards, so the step compared ends with ``zero_grad()``; what ``.grad`` costs where it
         is left, as eager execution leaves it, stands beside it.

All ratios are of one run. The allocator is set alike for torchlike and JAX (``@tuned``).
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

if not __package__:
    # Run as a script: the package is found from the repository's root, not from this folder.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from rich.console import Console
from rich.table import Table

from benchmarks import environments, frameworks, quiet, start, tables
from benchmarks.pool import ROOT
from benchmarks.session import Measurement, Plan, run_together
from benchmarks.stats import ratio, spread
from benchmarks.workloads import LONG, TRAINING

NETS = {name: (TRAINING | LONG)[name] for name in ("mlp", "cnn", "resnet", "gpt", "gpt12", "lstm")}
OURS, REFERENCE = "torchlike.jit", "jax@tuned"
#: The same step without gradients to keep, which hand-written JAX does not hand out either.
CLEARED = frameworks.CLEARING
#: The same step without checks of values.
UNCHECKED = frameworks.UNCHECKED
FRAMEWORKS = (OURS, UNCHECKED, CLEARED, REFERENCE, "nnx@tuned", "torch.compile", "torch")
CELLS = (10, 100, 1000)
PARTS = ("steps", "calls", "compile", "memory")
#: What the ratios are meant to be: to hand-written JAX, and (steps) to torch.compile.
STEP, CALL, COMPILE, MEMORY = 1.03, 1.3, 1.3, 1.05
#: And of a step to the same without checks of values.
CHECKS = 1.02
COMPILED = {"mlp": 1.0, "cnn": 1.0, "resnet": 1.0, "gpt": 1.15, "gpt12": 1.15, "lstm": 1.5}
MEMORY_STEPS = 4


def verdict(measured: float, limit: float) -> str:
    colour = "green" if measured <= limit else "red"
    return f"[{colour}]{measured:.2f}[/{colour}] (≤ {limit:g})"


# -- steps -----------------------------------------------------------------------------------------


def steps(
    names: Sequence[str], labels: Sequence[str], plan: Plan, console: Console
) -> list[dict[str, Any]]:
    found: list[Measurement] = []
    with (
        tempfile.NamedTemporaryFile(prefix="benchmarks-", suffix=".log", delete=False) as log,
        console.status("") as status,
    ):
        for name in names:
            cells, _ = run_together(
                [name],
                lambda _: [frameworks.parse(f) for f in labels],
                plan,
                log,
                status.update,
            )
            found += cells
            console.print(_steps_table(name, {c.framework: c for c in cells}))
    if any(c.error for c in found):
        console.print(f"[red]some failed[/red]: {log.name}")
    for warning in tables.warnings(found):
        console.print(f"[yellow]note:[/yellow] {warning}", highlight=False)
    return [c.as_json() for c in found]


def _steps_table(name: str, cells: dict[str, Measurement]) -> Table:
    table = Table(title=NETS[name].TITLE, title_justify="left")
    columns = "framework", "steady", "±", "÷ jax", "÷ torch.compile", "÷ unchecked", "loss Δ"
    for column in columns:
        table.add_column(column, justify="left" if column == "framework" else "right")
    good = {k: c.rounds for k, c in cells.items() if c.error is None}
    for label, cell in cells.items():
        if cell.error is not None:
            table.add_row(label, "failed", "", "", "", "", cell.error)
            continue
        to = []
        for over, limit in ((REFERENCE, STEP), ("torch.compile", COMPILED[name])):
            if over not in good:
                to.append("")
                continue
            found = ratio(cell.rounds, good[over])
            to.append(verdict(found, limit) if label in (OURS, CLEARED) else f"{found:.2f}")
        of_checks = ""
        if label == OURS and UNCHECKED in good:
            of_checks = verdict(ratio(cell.rounds, good[UNCHECKED]), CHECKS)
        losses = ""
        if REFERENCE in good:
            losses = f"{tables.disagreement(cell.losses, cells[REFERENCE].losses):.0e}"
        table.add_row(
            label,
            tables.duration(median(cell.rounds)),
            f"{spread(cell.rounds):.0%}",
            *to,
            of_checks,
            losses,
        )
    return table


# -- calls -----------------------------------------------------------------------------------------


def hidden_cells(torch: Any, jax: Any, n: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Make a jitted function that adds its argument to n tensors from outside, and the same with n
    arrays handed in and out."""
    cells = [torch.zeros(4) for _ in range(n)]
    x, arrays, one = torch.ones(4), [jax.numpy.zeros(4) for _ in range(n)], jax.numpy.ones(4)

    @torch.jit(warmup=0)
    def ours(x: Any) -> Any:
        for cell in cells:
            cell.add_(x)
        return x * 2

    def plain(x: Any, *arrays: Any) -> Any:
        return x * 2, *[a + x for a in arrays]

    compiled = jax.jit(plain, donate_argnums=tuple(range(1, n + 1)))

    def theirs() -> Any:
        nonlocal arrays
        result, *arrays = compiled(one, *arrays)
        return result

    return lambda: ours(x).jax(), theirs


def time_calls(n: int, quick: bool) -> tuple[list[float], list[float]]:
    """Measure a call in seconds, the best block of each round, the two in turn."""
    from benchmarks.build import import_library

    torch, _ = import_library(frameworks.parse(OURS))
    import jax

    both = hidden_cells(torch, jax, n)
    repeats = max(2, 2000 // n)
    rounds: tuple[list[float], list[float]] = ([], [])
    for _ in range(4 if quick else 40):
        for call, times in zip(both, rounds, strict=True):
            best = float("inf")
            for _ in range(3):
                begin = time.perf_counter()
                for _ in itertools.repeat(None, repeats):
                    result = call()
                result.block_until_ready()
                best = min(best, (time.perf_counter() - begin) / repeats)
            times.append(best)
    return rounds[0][1:], rounds[1][1:]


def calls(quick: bool, console: Console) -> list[dict[str, Any]]:
    table = Table(title="a call with hidden cells", title_justify="left")
    for column in ("cells", "torchlike.jit", "jax.jit", "÷"):
        table.add_column(column, justify="right")
    found = []
    for n in CELLS:
        ours, theirs = _child("--calls", str(n), *["--quick"] * quick)
        measured = ratio(ours, theirs)
        table.add_row(
            str(n),
            tables.duration(median(ours)),
            tables.duration(median(theirs)),
            verdict(measured, CALL),
        )
        found.append({"cells": n, "torchlike.jit": ours, "jax": theirs, "ratio": measured})
    console.print(table)
    return found


# -- compile ---------------------------------------------------------------------------------------


def first_step(label: str, name: str) -> float:
    """Measure the first step in a fresh process with an empty cache, in seconds."""
    command = [sys.executable, str(ROOT / "benchmarks" / "first_step.py"), label, name]
    with tempfile.TemporaryDirectory(prefix="benchmark-cache-") as cache:
        environment = os.environ | environments.variables(frameworks.parse(label), cache)
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
    if done.returncode:
        raise RuntimeError(done.stderr)
    times = [start.reported_first_step(line) for line in done.stdout.splitlines()]
    return next(t for t in times if t is not None)


def compiling(names: Sequence[str], quick: bool, console: Console) -> list[dict[str, Any]]:
    table = Table(title="first step, nothing cached", title_justify="left")
    for column in ("net", "torchlike.jit", "jax", "÷"):
        table.add_column(column, justify="left" if column == "net" else "right")
    found = []
    for name in names:
        times: dict[str, list[float]] = {OURS: [], REFERENCE: []}
        for _ in range(1 if quick else 5):
            for label, seconds in times.items():
                quiet.wait_until_quiet(0.1, 0.0 if quick else 10.0)
                seconds.append(first_step(label, name))
        measured = ratio(times[OURS], times[REFERENCE])
        table.add_row(
            name, *(tables.duration(median(t)) for t in times.values()), verdict(measured, COMPILE)
        )
        found.append({"net": name, **times, "ratio": measured})
    console.print(table)
    return found


# -- memory ----------------------------------------------------------------------------------------


def _resident(field: str) -> float:
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1000


def _trim() -> None:
    """Give freed memory back to the system, so that what is resident is what is held."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def peak_of_steps(label: str, name: str) -> tuple[float, float]:
    """Measure (MB that later steps take beyond the libraries, MB that XLA says its program
    needs)."""
    from benchmarks import build

    framework = frameworks.parse(label)
    library, _ = build.import_library(framework)
    import jax

    jax.block_until_ready(jax.jit(lambda x: x + 1)(1.0))
    _trim()
    before = _resident("VmRSS")
    module = NETS[name]
    problem = module.problem()
    if framework.library == "jax":
        net = module.in_jax(problem)
        state: Any = (net.params, net.opt_state)

        def step() -> Any:
            nonlocal state
            *state, loss = net.step(*state, net.x, net.y)
            return loss

        def lower() -> Any:
            return net.step.lower(*state, net.x, net.y)
    else:
        net = module.in_torch(library, problem)
        compiled = build.torch_step(framework, library, net)

        def step() -> Any:
            return compiled(net.x, net.y)

        def lower() -> Any:
            program = compiled.latest
            return program.forward.lower(*program.inputs.avals)

    del problem
    for _ in range(2):
        step().item()
    _trim()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew (proc(5))
    for _ in range(MEMORY_STEPS):
        step().item()
    peak = _resident("VmHWM") - before
    # Only now: it compiles once more, and what that leaves in the heap (50 MB) is not the step's.
    needs = lower().compile().memory_analysis()
    total = (
        needs.argument_size_in_bytes
        + needs.output_size_in_bytes
        + needs.temp_size_in_bytes
        - needs.alias_size_in_bytes
    )
    return peak, total / 1e6


def memory(names: Sequence[str], quick: bool, console: Console) -> list[dict[str, Any]]:
    table = Table(title="memory of a step, MB", title_justify="left")
    names_of_columns = (
        "net",
        "torchlike.jit",
        "jax",
        "÷",
        "XLA: torchlike.jit",
        "jax",
        "÷",
        ".grad kept",
    )
    for column in names_of_columns:
        table.add_column(column, justify="left" if column == "net" else "right")
    found = []
    for name in names:
        samples: dict[str, list[list[float]]] = {CLEARED: [], REFERENCE: [], OURS: []}
        for _ in range(1 if quick else 3):
            for label, taken in samples.items():
                taken.append(_child("--memory", label, name, framework=label))
        (ours, our_need), (theirs, their_need), (kept, _) = (
            [median(column) for column in zip(*taken, strict=True)] for taken in samples.values()
        )
        table.add_row(
            name,
            f"{ours:.0f}",
            f"{theirs:.0f}",
            verdict(ours / theirs, MEMORY),
            f"{our_need:.1f}",
            f"{their_need:.1f}",
            verdict(our_need / their_need, MEMORY),
            f"{kept:.0f}",
        )
        found.append({"net": name, **samples, "ratio": ours / theirs})
    console.print(table)
    return found


# -- the command -----------------------------------------------------------------------------------


def _child(*words: str, framework: str = OURS) -> Any:
    """Run this module in a process of its own; gives the JSON of its last line."""
    with tempfile.TemporaryDirectory(prefix="benchmark-cache-") as cache:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.jit", *words],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=os.environ | environments.variables(frameworks.parse(framework), cache),
        )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="short rounds: numbers, not results")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--workloads", nargs="+", choices=list(NETS), default=list(NETS))
    parser.add_argument(
        "--frameworks",
        nargs="+",
        metavar="NAME",
        default=FRAMEWORKS,
        help="in the part `steps`: " + ", ".join(FRAMEWORKS),
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every round here")
    parser.add_argument("--calls", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.calls:
        print(json.dumps(time_calls(options.calls, options.quick)))
        return 0
    if options.memory:
        print(json.dumps(peak_of_steps(*options.memory)))
        return 0
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    plan = Plan(3, 0.1, 0.1, 0.0) if options.quick else Plan(9, 0.6, 0.1, 10.0)
    names, quick = options.workloads, options.quick
    run = {
        "steps": lambda: steps(names, options.frameworks, plan, console),
        "calls": lambda: calls(quick, console),
        "compile": lambda: compiling(names, quick, console),
        "memory": lambda: memory(names, quick, console),
    }
    found = {part: run[part]() for part in options.parts}
    console.print(quiet.describe_machine(), highlight=False)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    failed = any(cell.get("error") for cell in found.get("steps", ()))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
