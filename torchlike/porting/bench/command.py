"""``torchlike bench``: times a function in text or in a file, each framework in its own process."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from torchlike._runtime import whole_files
from torchlike.porting import plot
from torchlike.porting.bench.report import BenchReport, notes, tables
from torchlike.porting.bench.targets import BenchTarget, TargetError, shapes_of, sizes_of
from torchlike.porting.bench.turns import measure
from torchlike.porting.bench.workbench import RemoteWorkbench, WorkerError
from torchlike.porting.children import without_alias
from torchlike.porting.shim.environment import has_pytorch

_ON_TORCHLIKE = ("-m", "torchlike.porting.bench.on_torchlike")
_ON_TORCH = str(Path(__file__).with_name("on_torch.py"))


@dataclass(frozen=True)
class BenchOptions:
    """What the command was asked for.

    Attributes:
      function: an expression, or ``model.py::name``.
      shapes: ``x=64,1000`` each.
      arguments: instead, an expression of all arguments.
      jax: the same by hand in JAX.
      sweep: ``n=64..65536``.
      gradients, rounds: as of `torchlike.bench`.
      torch_python: the Python that has PyTorch; this one by default, where it has.
      peak: operations a second by unit.
      output: the folder for the plot of a sweep.
      json_path, html_path: files to write.
    """

    function: str
    shapes: Sequence[str] = ()
    arguments: str | None = None
    jax: str | None = None
    sweep: str | None = None
    gradients: bool = True
    rounds: int = 7
    torch_python: str | None = None
    peak: dict[str, float] | None = None
    output: Path = field(default_factory=Path)
    json_path: Path | None = None
    html_path: Path | None = None


def run(options: BenchOptions, console: Console | None = None) -> int:
    """Time the rows, print the table, write what was asked for; return the exit code: 2 where there
    is nothing to time."""
    console = console or Console()
    benches: list[RemoteWorkbench] = []
    try:
        if options.arguments is not None and options.shapes:
            raise TargetError("--args has all arguments: no --shape beside it")
        target = BenchTarget(
            options.function,
            shapes_of(options.shapes),
            options.arguments,
            options.jax,
            options.gradients,
        )
        sweep: list[dict[str, int]] = [{}]
        if options.sweep is not None:
            name, sizes = sizes_of(options.sweep)
            sweep = [{name: size} for size in sizes]
        for command in _commands(options.torch_python):
            words = [*command, json.dumps(target.as_json())]
            benches.append(RemoteWorkbench(words, without_alias(os.environ)))
        found = measure(
            benches,
            sweep,
            options.rounds,
            lambda line: console.print(line, style="dim", markup=False),
        )
    except (TargetError, WorkerError) as error:
        console.print(f"torchlike bench: {error}", style="red", markup=False, soft_wrap=True)
        return 2
    finally:
        for bench in benches:
            bench.close()
    report = BenchReport(_title(target), *found, options.peak)
    for one in tables(report):
        console.print(one)
    for line in notes(report):
        console.print(line, markup=False, soft_wrap=True, highlight=False)
    _write(report, options, console)
    return 0 if report.rows else 2


def _title(target: BenchTarget) -> str:
    shapes = ", ".join(f"{name}: {shape}" for name, shape in target.shapes.items())
    given = target.arguments or shapes
    return f"{target.function} of {given}" if given else target.function


def _commands(torch_python: str | None) -> list[list[str]]:
    commands = [[sys.executable, *_ON_TORCHLIKE]]
    if torch_python is not None or has_pytorch():
        commands.append([torch_python or sys.executable, _ON_TORCH])
    return commands


def _write(report: BenchReport, options: BenchOptions, console: Console) -> None:
    written: dict[str, Path] = {}
    if options.json_path is not None:
        written["Numbers"] = options.json_path
        whole_files.write_text(options.json_path, json.dumps(report.as_json(), indent=1))
    if options.html_path is not None:
        written["Page"] = options.html_path
        report.write_html(options.html_path)
    if options.sweep is not None and report.rows:
        if plot.available():
            options.output.mkdir(parents=True, exist_ok=True)
            name = re.sub(r"\W+", "-", options.function).strip("-")[:60]
            written["Plot"] = options.output / f"bench-{name}.png"
            report.write_plot(written["Plot"])
        else:
            console.print(plot.MISSING, markup=False)
    for kind, path in written.items():
        console.print(f"{kind}: {path}", markup=False, soft_wrap=True)
