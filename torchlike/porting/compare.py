"""``torchlike compare``: one script, eager and compiled, side by side.

Each run has a process of its own, started afresh: a process forked after JAX has started hangs.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from torchlike.porting import plot, report
from torchlike.porting.recording import MODULE_FLAG
from torchlike.porting.report import Run


@dataclass(frozen=True)
class Setup:
    """One way to run the script: a label, the recording command, changes to the environment."""

    label: str
    command: tuple[str, ...]
    environment: dict[str, str]


_ON_TORCHLIKE = ("-m", "torchlike.porting.record_torchlike")
EAGER = Setup("torchlike eager", _ON_TORCHLIKE, {"TORCHLIKE_COMPILE": "off"})
COMPILED = Setup("torchlike compiled", _ON_TORCHLIKE, {"TORCHLIKE_COMPILE": "modules"})
TORCH = Setup(
    "torch eager",
    (str(Path(__file__).with_name("record_torch.py")),),
    {"TORCHDYNAMO_DISABLE": "1"},  # torch.compile gives back what it was given
)


class RunFailedError(Exception):
    """A run of the script ended with an exit code other than 0."""

    def __init__(self, label: str, exit_code: int) -> None:
        super().__init__(f"{label}: the script ended with exit code {exit_code}")
        self.exit_code = exit_code


def compare(
    argv: Sequence[str],
    *,
    as_module: bool = False,
    with_torch: bool = False,
    output: Path = Path(),
    console: Console | None = None,
) -> int:
    """Run a script eager and compiled, print the table, write the plot and the numbers.

    Args:
        argv: the script's path (or the module's name) and its arguments.
        as_module: whether ``argv[0]`` is a module's name.
        with_torch: whether to run it with real PyTorch, too.
        output: the folder for ``compare-NAME.png`` and ``compare-NAME.json``.

    Returns:
        The exit code: 0, or that of the first run that failed.
    """
    console = console or Console()
    setups = [EAGER, COMPILED]
    if with_torch:
        if importlib.util.find_spec("torch") is None:
            console.print("--torch needs real PyTorch: pip install 'torchlike\\[parity]'")
            return 2
        setups.append(TORCH)

    script = [MODULE_FLAG, *argv] if as_module else list(argv)
    runs = []
    for setup in setups:
        console.rule(setup.label)
        try:
            runs.append(run(setup, script))
        except RunFailedError as error:
            console.print(str(error), style="red", markup=False)
            return error.exit_code

    console.rule()
    name = argv[0] if as_module else Path(argv[0]).stem
    console.print(report.table(name, runs))
    for note in report.notes(runs):
        console.print(note, markup=False, soft_wrap=True)
    output.mkdir(parents=True, exist_ok=True)
    numbers = output / f"compare-{name}.json"
    numbers.write_text(json.dumps(report.as_json(name, runs), indent=1), encoding="utf-8")
    console.print(f"Numbers: {numbers}", markup=False, soft_wrap=True)
    if plot.available():
        picture = output / f"compare-{name}.png"
        plot.write(picture, name, runs)
        console.print(f"Plot: {picture}", markup=False, soft_wrap=True)
    else:
        console.print(plot.MISSING, markup=False)
    return 0


def run(setup: Setup, script: Sequence[str]) -> Run:
    """Run the script in a process of its own; what it prints passes through unchanged.

    Raises:
        RunFailedError: its exit code was not 0.
    """
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.json"
        process = subprocess.Popen(
            [sys.executable, *setup.command, str(record), *script],
            stdout=subprocess.PIPE,
            env={**os.environ, **setup.environment, "PYTHONUNBUFFERED": "1"},
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        assert process.stdout is not None
        last_line = ""
        with process:
            for line in process.stdout:
                sys.stdout.write(line)
                last_line = line.strip() or last_line
        if process.returncode != 0:
            raise RunFailedError(setup.label, process.returncode)
        return Run(label=setup.label, last_line=last_line, **json.loads(record.read_text("utf-8")))
