"""Is compiled code ever slower than eager code, or than JAX by hand?

    python -m benchmarks.never_slower                    every function, about an hour
    python -m benchmarks.never_slower --quick            does it run?
    python -m benchmarks.never_slower 'image.*conv.*'    those whose name a pattern matches
    python -m benchmarks.never_slower --work             counts alone: what compiled code computes
    python -m benchmarks.never_slower --json out.json --frameworks eager compiled jax
    python -m benchmarks.never_slower --json out.json --resume     go on where a run was stopped

The functions are data: a line each in workloads/compiled_functions.py, of pieces in
workloads/pieces.py. All run in one process, by turns: torchlike eager and compiled, ``jax.jit`` of
the same written by hand, PyTorch eager and compiled. A round is the best block of calls, a result
is the median of the rounds. ``--clock processor`` counts processor time of the whole process, which
a busy machine changes less.

A line is over its limit where compiled code takes more than `LIMITS` times as long as eager code or
as JAX (and `CALL` seconds), beyond how far the rounds lie apart, and `REASONS` has no reason for
it. The exit code is 1 where one is, or where one fails.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import build, clock, quiet, tables
from benchmarks.clock import Runner
from benchmarks.hlo_work import work
from benchmarks.stats import ratio, spread
from benchmarks.workloads.compiled_functions import Function, functions

#: Eager and compiled torchlike first: they are what is judged.
FRAMEWORKS = ("eager", "compiled", "jax", "torch", "torch.compile")
#: How many times as long compiled code may take.
LIMITS = {"eager": 1.15, "jax": 1.1}
#: What a call may take longer than `jax.jit`'s, in seconds, whatever it computes: to find the
#: program by its key and guards, and to wrap the result (a sum of 4 × 4: 12 µs for 7).
CALL = {"eager": 0.0, "jax": 8e-6}
#: Lines that may be over, by a pattern of their whole name, and why. The limit is XLA's own.
REASONS: Mapping[str, str] = {
    r"rows small: (exp · cumsum_down|cumprod · divide)": (
        "a loop over rows, which XLA hands to another thread; NumPy has functions for both"
    ),
}


@dataclass
class Line:
    """One function's rounds in each framework, in seconds, and what failed."""

    name: str
    rounds: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def ratio(self, over: str) -> float | None:
        """Return compiled code's time by that of a framework; None where either is missing."""
        both = self.rounds.get("compiled"), self.rounds.get(over)
        return ratio(*both) if both[0] and both[1] else None  # type: ignore[arg-type]

    def over(self) -> list[str]:
        """Return what compiled code is slower than, beyond the limit and the rounds' distances."""
        found = []
        for framework, limit in LIMITS.items():
            times = self.ratio(framework)
            if times is None:
                continue
            both = median(self.rounds["compiled"]), median(self.rounds[framework])
            if both[0] - both[1] <= CALL[framework]:
                continue
            noise = spread(self.rounds["compiled"]) + spread(self.rounds[framework])
            if times > limit * (1 + noise):
                found.append(f"{times:.2f} × {framework}")
        return found

    def reason(self) -> str | None:
        """Return why this line may be over its limit; None where nobody said so."""
        return next((why for name, why in REASONS.items() if re.fullmatch(name, self.name)), None)


def of_gradient(torch: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the gradient of the mean square of what a function gives, for its first argument."""

    def gradient(x: Any, *rest: Any) -> Any:
        return torch.autograd.grad(function(x, *rest).square().mean(), x)[0]

    return gradient


def runner(framework: str, function: Function, library: Any) -> Runner | None:
    """Return what is timed; None where the function is not written for the framework."""
    if framework == "jax":
        written = function.jax(library)
        return written and _in_jax(library, function, written)
    call = function.torch(library)
    tensors = [library.tensor(a) for a in function.arrays()]
    if function.gradient:
        tensors[0].requires_grad_()
        call = of_gradient(library, call)
    if framework == "compiled":  # measured is the program, from its first call on
        call = library.jit(call, fallback="eager", warmup=0)
    elif framework == "torch.compile":
        call = library.compile(call)
    wait = build.ready_torchlike if framework in ("eager", "compiled") else _at_once
    return Runner(lambda: call(*tensors), wait)


def _at_once(result: Any) -> object:
    return result


def _in_jax(jax: Any, function: Function, written: Callable[..., Any]) -> Runner:
    arrays = [jax.numpy.asarray(a) for a in function.arrays()]
    whole = jax.grad(lambda *a: (written(*a) ** 2).mean()) if function.gradient else written
    compiled = jax.jit(whole)
    return Runner(lambda: compiled(*arrays), jax.block_until_ready)


def libraries(frameworks: Sequence[str]) -> dict[str, Any]:
    """Import what the frameworks need: by name, without those that are not installed."""
    import jax

    import torchlike

    found = {"eager": torchlike, "compiled": torchlike, "jax": jax}
    if {"torch", "torch.compile"} & set(frameworks):
        try:
            import torch
        except ImportError:
            pass
        else:
            found |= {"torch": torch, "torch.compile": torch}
    return {name: found[name] for name in frameworks if name in found}


def measure(
    function: Function, found: Mapping[str, Any], rounds: int, seconds: float
) -> tuple[Line, dict[str, Runner]]:
    """Measure a function in all frameworks by turns, each time another one first."""
    line, runners, steps = Line(function.name), dict[str, Runner](), dict[str, int]()
    for framework, library in found.items():
        try:
            made = runner(framework, function, library)
            if made is None:
                continue
            for _ in range(4):  # first calls: by NumPy, traced, compiled
                clock.timed_call(made)
            steps[framework] = clock.steps_per_block(made, seconds / 4)
        except Exception as error:  # a framework's own error: it is the line's result
            line.failed[framework] = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            continue
        runners[framework] = made
    names = list(runners)
    for number in range(rounds):
        turn = number % len(names) if names else 0
        for framework in (*names[turn:], *names[:turn]):
            best, _ = clock.best_of_round(runners[framework], steps[framework], seconds)
            line.rounds.setdefault(framework, []).append(best)
    return line, runners


def table(lines: Sequence[Line], frameworks: Sequence[str]) -> Table:
    """Return a row for each line, those that are furthest over eager code first."""
    made = Table(title="compiled code beside eager code", title_justify="left")
    for column in ("function", *frameworks, "÷ eager", "÷ jax", "÷ torch"):
        made.add_column(column, justify="left" if column == "function" else "right")
    for line in sorted(lines, key=lambda line: -(line.ratio("eager") or float("inf"))):
        times = [
            tables.duration(median(line.rounds[f]) if f in line.rounds else None)
            for f in frameworks
        ]
        ratios = [line.ratio(over) for over in ("eager", "jax", "torch")]
        shown = ["" if r is None else f"{r:.2f}" for r in ratios]
        made.add_row(line.name, *times, *shown)
    return made


def verdicts(lines: Sequence[Line]) -> tuple[list[str], list[str]]:
    """Return the lines that are over their limit without a reason, and those that have one."""
    without, known = [], []
    for line in lines:
        if over := ", ".join(line.over()):
            why = line.reason()
            (known if why else without).append(
                f"{line.name}: {over}" + (f" ({why})" if why else "")
            )
    return without, known


def counted(function: Function, torchlike: Any) -> float:
    """Return what the compiled form computes in a call, in additions (`hlo_work`)."""
    call = function.torch(torchlike)
    tensors = [torchlike.tensor(a) for a in function.arrays()]
    if function.gradient:
        tensors[0].requires_grad_()
        call = of_gradient(torchlike, call)
    compiled = torchlike.jit(call, warmup=0)
    compiled(*tensors)
    program = compiled.latest
    return work(program.forward.lower(*program.inputs.avals).compile().as_text())


def select(patterns: Sequence[str]) -> list[Function]:
    """Return the functions whose name a pattern matches; all of them without patterns.

    Raises:
        ValueError: for a pattern that matches none.
    """
    known = list(functions())
    for pattern in patterns:
        if not any(re.fullmatch(pattern, f.name) for f in known):
            raise ValueError(f"no function matches {pattern!r}")
    return [f for f in known if not patterns or any(re.fullmatch(p, f.name) for p in patterns)]


def measured_before(file: Path) -> dict[str, Line]:
    """Return the lines that a JSON file of ``--json`` has, by name; none where there is no file."""
    lines = json.loads(file.read_text()) if file.exists() else []
    return {fields["name"]: Line(**fields) for fields in lines}


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="functions, regular expressions")
    parser.add_argument("--frameworks", nargs="+", choices=FRAMEWORKS, default=FRAMEWORKS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.06, help="length of a round")
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall")
    parser.add_argument("--quick", action="store_true", help="1 round of 5 ms: does it run?")
    parser.add_argument("--work", action="store_true", help="count what is computed, time nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all rounds")
    parser.add_argument("--resume", action="store_true", help="keep what the JSON file has")
    options = parser.parse_args(argv)
    if options.resume and not options.json:
        parser.error("--resume goes on with the file of --json")
    try:
        options.functions = select(options.names)
    except ValueError as error:
        parser.error(str(error))
    if options.quick:
        options.rounds, options.seconds = 1, 0.005
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, write."""
    options = parse(argv)
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    found = libraries(options.frameworks)
    if options.work:
        import torchlike

        for function in options.functions:
            console.print(f"{counted(function, torchlike):16,.0f}  {function.name}", markup=False)
        return 0
    if options.clock == "processor":
        clock.counter = "process_time"
    before = measured_before(options.json) if options.resume else {}
    lines: list[Line] = []
    for number, function in enumerate(options.functions):
        line = before.pop(function.name, None)
        if line is None:
            line, _ = measure(function, found, options.rounds, options.seconds)
            parts = ", ".join(f"{k} {tables.duration(median(r))}" for k, r in line.rounds.items())
            of = f"{number + 1}/{len(options.functions)}"
            console.print(f"{of} {line.name}: {parts}", markup=False)
        lines.append(line)
        if options.json:
            told = json.dumps([asdict(line) for line in (*lines, *before.values())], indent=1)
            options.json.write_text(told + "\n")
    console.print(table(lines, list(found)))
    console.print(f"{quiet.describe_machine()}; {options.clock} time; compare within one run.")
    without, known = verdicts(lines)
    failed = [f"{line.name}, {k}: {why}" for line in lines for k, why in line.failed.items()]
    for title, texts in (("over", without), ("over, known", known), ("failed", failed)):
        for text in texts:
            console.print(f"{title}: {text}", markup=False)
    return 1 if without or any(line.failed.keys() & LIMITS.keys() for line in lines) else 0


if __name__ == "__main__":
    from torchlike.porting.allocator import tune_allocator

    tune_allocator()  # as the launcher does
    sys.exit(main())
