"""Nothing run before, nothing cached: what a first call takes, and what each new size.

    python -m benchmarks.cold                          everything, some fifteen minutes
    python -m benchmarks.cold --parts ops --rounds 1   does it run?

Four parts, each measurement in a process of its own with empty caches, frameworks in turn:

ops      forty operations and modules: the first call, and the call with the third size.
growing  whole programs whose sizes change: a growing cache of keys and values, fifty lengths of a
         sequence, episodes of random length. The first run, and the second, when all is known.
steps    a training step of each net: the first, and the sum of the first twenty.
settling eager steps until all that pays is compiled: their sum, and the median of the last tenth.
"""

from __future__ import annotations

import argparse
import json
import os
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
from rich.markup import escape
from rich.table import Table

from benchmarks import build, clock, environments, frameworks
from benchmarks.pool import ROOT
from benchmarks.workloads import LONG, TRAINING, cold_ops
from benchmarks.workloads.growing import GROWING

PARTS = ("ops", "growing", "steps", "settling")
#: Frameworks of each part; the last is what ratios are to.
COMPARED = {
    "ops": ("torchlike", "jax", "torch"),
    "growing": ("torchlike", "torch"),
    "steps": ("torchlike", "torchlike.jit", "jax", "torch"),
    "settling": ("torchlike", "torch"),
}
NETS = {name: (TRAINING | LONG)[name] for name in ("mlp", "gpt", "resnet", "lstm")}
SIZES = (33, 34, 37)
STEPS = 20
#: Eager steps of each net that are enough to settle.
SETTLED = {"mlp": 1000, "cnn": 300, "gpt": 100, "lstm": 150}


# -- in the process of one framework ---------------------------------------------------------------


def timed(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def measure_ops(library: Any, name: str) -> dict[str, list[float]]:
    """Measure the seconds of the call with each size, by operation."""
    cases = cold_ops.in_jax(library) if name == "jax" else cold_ops.in_torch(library)
    return {case: [timed(make(n)) for n in SIZES] for case, make in cases.items()}


def measure_growing(library: Any, name: str) -> dict[str, list[float]]:
    """Measure the seconds of the first and the second run, by program."""
    found = {}
    for program, make in GROWING.items():
        run = make(library)
        found[program] = [timed(run), timed(run)]
    return found


def measure_steps(library: Any, name: str, net: str, framework: Any) -> dict[str, list[float]]:
    """Measure the seconds of the first step, and of the first twenty."""
    runner = build.runner(framework, library, net)
    seconds = [clock.timed_call(runner)[0] for _ in range(STEPS)]
    return {net: [seconds[0], sum(seconds)]}


def measure_settling(library: Any, net: str, framework: Any) -> dict[str, list[float]]:
    """Measure the seconds of all steps, and of a step in the end."""
    runner = build.runner(framework, library, net)
    seconds = [clock.timed_call(runner)[0] for _ in range(SETTLED[net])]
    return {net: [sum(seconds), median(seconds[-len(seconds) // 10 :])]}


def worker(part: str, label: str, net: str) -> None:
    framework = frameworks.parse(label)
    library, _ = build.import_library(framework)
    if part == "steps":
        found = measure_steps(library, framework.name, net, framework)
    elif part == "settling":
        found = measure_settling(library, net, framework)
    else:
        measure = measure_ops if part == "ops" else measure_growing
        found = measure(library, framework.name)
    print(json.dumps(found))


# -- all of them -----------------------------------------------------------------------------------


def run(part: str, label: str, net: str = "") -> dict[str, list[float]]:
    """Run a part in a fresh process of the framework, its caches empty, and return what it
    measures."""
    framework = frameworks.parse(label)
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.cold", "--worker", part, label, net],
            cwd=ROOT,
            env=os.environ | environments.variables(framework, cache),
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"{part} in {label} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def gather(part: str, rounds: int, console: Console) -> dict[str, dict[str, list[list[float]]]]:
    """Gather case -> framework -> one list of seconds a round."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    nets = {"steps": list(NETS), "settling": list(SETTLED)}.get(part, [""])
    for number in range(rounds):
        for net in nets:
            for label in COMPARED[part]:
                with console.status(f"{part} {net} in {label}, round {number + 1} of {rounds}"):
                    measured = run(part, label, net)
                for case, seconds in measured.items():
                    found.setdefault(case, {}).setdefault(label, []).append(seconds)
    return found


def table(part: str, found: dict[str, dict[str, list[list[float]]]]) -> Table:
    """Return a table of milliseconds, and ratios to the last framework, of each column's median
    over the rounds."""
    columns = {
        "ops": {"first call": 0, "third size": 2},
        "growing": {"first run": 0, "second run": 1},
        "steps": {"first step": 0, f"{STEPS} steps": 1},
        "settling": {"all steps": 0, "a late step": 1},
    }[part]
    labels = COMPARED[part]
    made = Table(title=f"{part}, nothing cached: ms (ratio to {labels[-1]})", title_justify="left")
    made.add_column("")
    for column in columns:
        for label in labels:
            made.add_column(f"{column}\n{label}", justify="right", no_wrap=True)
    every: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for case, by_label in found.items():
        row = [escape(case)]
        for column, place in columns.items():
            times = {k: median(s[place] for s in by_label[k]) for k in labels}
            for label in labels:
                every.setdefault((column, label), []).append(
                    (times[label], times[label] / times[labels[-1]])
                )
                row.append(f"{1e3 * times[label]:.2f} ({times[label] / times[labels[-1]]:.1f})")
        made.add_row(*row)
    made.add_section()
    middle = ["median"]
    for column in columns:
        for label in labels:
            seconds, ratios = zip(*every[column, label], strict=True)
            middle.append(f"{1e3 * median(seconds):.2f} ({median(ratios):.1f})")
    made.add_row(*middle)
    return made


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write every measurement there")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.worker:
        worker(*arguments.worker)
        return
    console = Console(width=None if sys.stdout.isatty() else 140)
    everything = {}
    for part in arguments.parts:
        everything[part] = gather(part, arguments.rounds, console)
        console.print(table(part, everything[part]))
    if arguments.json:
        arguments.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
