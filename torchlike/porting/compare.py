"""``torchlike compare``: one script, eager and compiled, side by side.

Each run has a process of its own, started afresh: a process forked after JAX has started hangs.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from torchlike._runtime import interrupts, whole_files
from torchlike.porting import page, plot, report
from torchlike.porting.children import without_alias
from torchlike.porting.recording import BEGUN, MODULE_FLAG
from torchlike.porting.report import RecordedRun
from torchlike.porting.shim.environment import has_pytorch


@dataclass(frozen=True)
class Setup:
    """One way to run the script: a label, the recording command, changes to the environment."""

    label: str
    command: tuple[str, ...]
    environment: dict[str, str]


_ON_TORCHLIKE = ("-m", "torchlike.porting.record_torchlike")
_OFF = {"TORCHLIKE_COMPILE": "off", "TORCHLIKE_EAGER": "immediate"}
_DEFERRED = {"TORCHLIKE_COMPILE": "off", "TORCHLIKE_EAGER": "deferred"}
_AS_MARKED = {"TORCHLIKE_COMPILE": "regions"}
EAGER = Setup("eager", (*_ON_TORCHLIKE, "--find-step"), _OFF)
DEFERRED = Setup("as it is, deferred", _ON_TORCHLIKE, _DEFERRED)
MARKED = Setup("compiled as marked", _ON_TORCHLIKE, _AS_MARKED)
WHOLE_STEP = Setup("whole step compiled", _ON_TORCHLIKE, _AS_MARKED)
_ON_TORCH = (str(Path(__file__).with_name("record_torch.py")),)
#: ``torch.compile`` gives back what it was given.
TORCH = Setup("PyTorch, eager", _ON_TORCH, {"TORCHDYNAMO_DISABLE": "1"})
TORCH_COMPILED = Setup("PyTorch, compiled", _ON_TORCH, {})

#: Why there is no row in which a whole step is one program, and how to get one.
_HOW = (
    "No function here is one step: forward, backward and one optimizer.step(). To compile a whole "
    "step, write it as a function under @torch.compile, and compare again."
)
_OWN_OPTIONS = ("--output", "--torch", "--html", "--find-divergence")
NOTHING_TIMED = (
    "Nothing was timed: no run called optimizer.step() or backward(). Is the training behind an "
    "option or a test of __name__, or are its gradients written by hand?"
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
    html_path: Path | None = None,
    peak: dict[str, float] | None = None,
    console: Console | None = None,
    shows: Callable[[str], bool] = lambda line: True,
) -> int:
    """Run a script eager, deferred and compiled, print the table, write the plot and the numbers.

    What is compiled: of a script that marks nothing by ``torch.compile``, the function that is a
    whole training step, where there is one and it can be compiled. Of another, what it marks.

    Args:
        argv: the script's path (or the module's name) and its arguments.
        as_module: whether ``argv[0]`` is a module's name.
        with_torch: whether to run it with real PyTorch, too.
        output: the folder for ``compare-NAME.png`` and ``compare-NAME.json``.
        html_path: where a page with all of it is written, too.
        peak: operations a second by unit; by default those of the device that is here.
        shows: which lines of the script's output are shown.

    Returns:
        The exit code: 0, that of the first run that failed, or 1 if there was nothing to time.

    Raises:
        KeyboardInterrupt: once the script that was running has ended.
    """
    console = console or Console()
    if with_torch and not has_pytorch():
        console.print("--torch needs real PyTorch: pip install 'torchlike\\[parity]'")
        return 2

    script = [MODULE_FLAG, *argv] if as_module else list(argv)
    runs: list[RecordedRun] = []
    remarks: list[str] = []
    misplaced = [
        f"{option} was given to the script: options of compare stand before its name."
        for option in _OWN_OPTIONS
        if any(word == option or word.startswith(f"{option}=") for word in argv[1:])
    ]

    def add(setup: Setup) -> RecordedRun:
        console.rule(setup.label)
        runs.append(run(setup, script, shows))
        return runs[-1]

    try:
        eager = add(EAGER)
        add(DEFERRED)
        if eager.marked:
            add(WHOLE_STEP if eager.whole_steps else MARKED)
        else:
            remarks += _whole_step(eager, add, runs)
        if with_torch:
            add(TORCH)
            if eager.marked:
                remarks += _compiled_by_torch(add)
    except RunFailedError as error:
        console.print(str(error), style="red", markup=False)
        for note in misplaced:
            console.print(note, markup=False, soft_wrap=True)
        return error.exit_code

    console.rule()
    name = argv[0] if as_module else Path(argv[0]).stem
    console.print(report.table(name, runs))
    for note in [*report.notes(runs, peak), *remarks, *misplaced]:
        console.print(note, markup=False, soft_wrap=True)
    if all(one.first_step is None for one in runs):
        console.print(NOTHING_TIMED, style="red", markup=False, soft_wrap=True)
        return 1
    output.mkdir(parents=True, exist_ok=True)
    numbers = output / f"compare-{name}.json"
    whole_files.write_text(numbers, json.dumps(report.as_json(name, runs), indent=1))
    console.print(f"Numbers: {numbers}", markup=False, soft_wrap=True)
    if html_path is not None:
        said = [*report.notes(runs, peak), *remarks]
        whole_files.write_text(html_path, page.html(name, runs, said))
        console.print(f"Page: {html_path}", markup=False, soft_wrap=True)
    if plot.available():
        picture = output / f"compare-{name}.png"
        plot.write(picture, name, runs)
        console.print(f"Plot: {picture}", markup=False, soft_wrap=True)
    else:
        console.print(plot.MISSING, markup=False)
    return 0


def _whole_step(
    eager: RecordedRun, add: Callable[[Setup], RecordedRun], runs: list[RecordedRun]
) -> list[str]:
    """Add the run in which the script's step is one program, or say how to get one."""
    step = eager.step_function
    if eager.first_step is None:
        return []
    if step is None:
        return [_HOW]
    where = f"{step['name']} ({Path(step['file']).name}, line {step['line']})"
    if step["file"] != eager.script_file:
        return [f"{where} is a whole step: @torch.compile on it makes it one program."]
    marked = f"--whole-step={step['line']}"
    try:
        found = add(replace(WHOLE_STEP, command=(*WHOLE_STEP.command, marked)))
    except RunFailedError as error:
        return [f"{where} is a whole step, but under @torch.compile {error}."]
    if found.fell_back:
        runs.remove(found)
        why = next(iter(found.fell_back.values()))
        return [f"{where} is a whole step, but cannot be compiled: {why}"]
    return [f"{where} was compiled for this comparison: @torch.compile on it does the same."]


def _compiled_by_torch(add: Callable[[Setup], RecordedRun]) -> list[str]:
    """Add PyTorch's run of what the script marks, or say why there is none: its compiler needs one
    of C++."""
    try:
        add(TORCH_COMPILED)
    except RunFailedError as error:
        return [f"{error}; what it printed stands above."]
    return []


def run(setup: Setup, script: Sequence[str], shows: Callable[[str], bool]) -> RecordedRun:
    """Run the script in a process of its own; what it prints passes through if ``shows`` says so.

    Raises:
        RunFailedError: its exit code was not 0.
        KeyboardInterrupt: the script was interrupted, and has ended.
    """
    entries, last_line = record(setup, script, shows)
    return RecordedRun(label=setup.label, last_line=last_line, **entries)


def record(
    setup: Setup, script: Sequence[str], shows: Callable[[str], bool]
) -> tuple[dict[str, Any], str]:
    """Run a script as ``run`` does, and return the entries of the record and the last line that the
    script printed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.json"
        begun = Path(f"{path}{BEGUN}")
        command = [sys.executable, *setup.command, str(path), *script]
        environment = {**without_alias(os.environ), **setup.environment, "PYTHONUNBUFFERED": "1"}
        last_line = ""
        with interruptible(command, environment, begun.exists) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if shows(line):
                    sys.stdout.write(line)
                last_line = line.strip() or last_line
        if process.returncode != 0:
            raise RunFailedError(setup.label, process.returncode)
        return json.loads(path.read_text("utf-8")), last_line


@contextlib.contextmanager
def interruptible(
    command: Sequence[str], environment: dict[str, str], begun: Callable[[], bool]
) -> Iterator[subprocess.Popen[str]]:
    """Start a process that takes no notice of interruptions until its script has begun.

    An interruption is the script's affair then, which may have something to save and to say: it is
    waited for. A second one, or one before the script has begun, ends the process. Where the signal
    is ignored here, it stays so in both.

    Raises:
        KeyboardInterrupt: afterwards, if there was an interruption.
    """
    interruptions = 0

    def interrupted(number: int, frame: object) -> None:
        # No exception: it could come between reading a line of the script's and showing it.
        nonlocal interruptions
        interruptions += 1
        if process is not None and (interruptions > 1 or not begun()):
            process.kill()

    process: subprocess.Popen[str] | None = None
    with contextlib.ExitStack() as afterwards:
        with interrupts.deferred():  # as the process will be, until its script begins
            if not interrupts.ignored():
                ours = signal.signal(signal.SIGINT, interrupted)
                afterwards.callback(signal.signal, signal.SIGINT, ours)
            process = afterwards.enter_context(
                subprocess.Popen(
                    command,
                    stdout=subprocess.PIPE,
                    env=environment,
                    text=True,
                    encoding="utf-8",
                    errors="replace",
                )
            )
        if interruptions:
            process.kill()
        yield process
    if interruptions:
        raise KeyboardInterrupt
