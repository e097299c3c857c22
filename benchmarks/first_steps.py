"""How long the first calls of six long training steps take, eager and compiled while they run.

    python -m benchmarks.first_steps                   six models, in fresh processes: ten minutes
    python -m benchmarks.first_steps --models GPT-2 PINN --json out.json
    python -m benchmarks.first_steps --calls 6         where the machine is busy: processor time

For each: the first eager step and a later one; the first call under ``torch.compile`` and the
longest of all until the program is used, from which call on that is, what compiling took and how
long the call waited for it; a step by the program. Then the same in a second process, which finds
XLA's executables on disk, and what the first call takes where it waits (``warmup=0``). Beside the
wall's seconds stand those of the calling thread's processor time. With ``--calls`` nobody waits
until the program is used.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

if not __package__:
    # Run as a script: the package is found from the repository's root, not from this folder.
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from rich.console import Console
from rich.table import Table

from benchmarks import environments, frameworks
from benchmarks.workloads.long_graphs import MODELS

ROOT = Path(__file__).resolve().parents[1]
#: Eager, compiled while calls run eagerly, and compiled at the first call.
MODES = ("eager", "meanwhile", "waiting")
EAGER_STEPS, LATER_STEPS, MOST_STEPS = 12, 10, 1500


def measure(model: str, mode: str, most: int) -> dict[str, Any]:
    """Time the calls of one step in this process, nothing run before; seconds. ``most`` eager calls
    are made of what is compiled meanwhile."""
    from torchlike.porting.allocator import tune_allocator

    tune_allocator()
    import torchlike

    torchlike.manual_seed(0)
    step, batch = MODELS[model](torchlike)
    if mode != "eager":
        options = {"warmup": 0} if mode == "waiting" else None
        step = torchlike.compile(step, options=options)
    seconds: list[float] = []
    own: list[float] = []

    def call() -> None:
        began, busy = time.perf_counter(), time.thread_time()
        step(*batch).item()
        own.append(time.thread_time() - busy)
        seconds.append(time.perf_counter() - began)

    began = time.perf_counter()
    call()
    if mode == "eager":
        for _ in range(EAGER_STEPS):
            call()
        return {
            "first": seconds[0],
            "longest": max(seconds[1:]),
            "later": median(seconds[1:]),
            "first, own": own[0],
            "longest, own": max(own[1:]),
        }
    while step.ran_eagerly and len(seconds) < most:
        call()
    took, first_program = time.perf_counter() - began, len(seconds)
    for _ in range(LATER_STEPS):
        call()
    programs = torchlike.compiler.report().programs
    return {
        "first": seconds[0],
        "longest": max(seconds),
        "first, own": own[0],
        "longest, own": max(own),
        "until": took,
        "at": programs[-1].eager_calls + 1 if programs else first_program,
        "equations": programs[-1].equations if programs else None,
        "compiling": programs[-1].seconds if programs else None,
        "waited": programs[-1].waited if programs else None,
        "later": median(seconds[-LATER_STEPS:]),
        "programs": step.compiles,
        "fell_back": list(step.fell_back.values()),
    }


def measured(model: str, mode: str, cache: str, most: int) -> dict[str, Any]:
    """Run `measure` in a fresh process whose compilation cache is in the folder `cache`."""
    environment = os.environ | environments.variables(frameworks.parse("torchlike"), cache)
    command = [sys.executable, "-m", "benchmarks.first_steps", "--one", model, mode]
    command += ["--calls", str(most)]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def rows(model: str, most: int) -> dict[str, dict[str, Any]]:
    """Measure a model in each mode; compiled, with an empty cache and with a full one."""
    found = {}
    for mode in MODES if most == MOST_STEPS else MODES[:2]:
        with tempfile.TemporaryDirectory(prefix="benchmark-first-") as cache:
            found[mode] = measured(model, mode, cache, most)
            if mode != "eager" and most == MOST_STEPS:
                found[f"{mode}, second process"] = measured(model, mode, cache, most)
    return found


def table(results: dict[str, dict[str, dict[str, Any]]]) -> Table:
    """Return a table of what `rows` found for each model."""
    shown = Table(title="first calls of long steps", title_justify="left", header_style="bold")
    shown.add_column("")
    columns = (
        "first, ms",
        "longest",
        "own: first",
        "longest",
        "÷ first eager",
        "from call",
        "after, s",
    )
    for column in (*columns, "compiling, s", "waited, s", "later, ms"):
        shown.add_column(column, justify="right")
    for model, found in results.items():
        shown.add_section()
        shown.add_row(f"[bold]{model}")
        eager = found["eager"]["first, own"]
        for mode, row in found.items():
            cells = [f"{1e3 * row['first']:.0f}", f"{1e3 * row['longest']:.0f}"]
            cells += [f"{1e3 * row[k]:.0f}" for k in ("first, own", "longest, own")]
            cells.append(f"{row['longest, own'] / eager:.1f}")
            if mode == "eager":
                cells += ["", "", "", ""]
            else:
                cells += [str(row["at"]), f"{row['until']:.1f}"]
                cells += [f"{row[k]:.1f}" if row[k] else "" for k in ("compiling", "waited")]
            shown.add_row(mode, *cells, f"{1e3 * row['later']:.1f}")
    return shown


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", nargs="+", default=[""], help="words of their names")
    parser.add_argument("--calls", type=int, default=MOST_STEPS, help="eager calls at most")
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--one", nargs=2, metavar=("MODEL", "MODE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    console = Console(width=160)
    if arguments.one:
        model, mode = arguments.one
        print(json.dumps(measure(model, mode, arguments.calls)), flush=True)
        if arguments.calls != MOST_STEPS:
            os._exit(0)  # nobody waits for the compiler
        return 0
    results = {}
    for model in MODELS:
        if any(word.lower() in model.lower() for word in arguments.models):
            results[model] = rows(model, arguments.calls)
            console.print(table({model: results[model]}))
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
