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
from dataclasses import dataclass, field, replace
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
    """One way to run the script: a label, the recording command, changes to the environment, and
    which Python runs it (this one by default)."""

    label: str
    command: tuple[str, ...]
    environment: dict[str, str]
    python: str | None = None


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
_HOW_ACCUMULATED = (
    "An update follows {passes} backward passes here. To compile them, write two functions under "
    "@torch.compile, one that ends with backward() and one with step() and zero_grad(), and "
    "compare again (docs/compile.md)."
)
_OWN_OPTIONS = ("--output", "--torch", "--torch-python", "--rounds", "--html", "--find-divergence")
NEEDS_PYTORCH = (
    "--torch needs real PyTorch: pip install 'torchlike\\[parity]', or --torch-python PATH of an "
    "environment that has it"
)
NOTHING_TIMED = (
    "Nothing was timed: no run called optimizer.step() or backward(). Is the training behind an "
    "option or a test of __name__, or are its gradients written by hand?"
)


class RunFailedError(Exception):
    """A run of the script ended with an exit code other than 0."""

    def __init__(self, label: str, exit_code: int) -> None:
        super().__init__(f"{label}: the script ended with exit code {exit_code}")
        self.exit_code = exit_code


@dataclass
class CompareOptions:
    """How a script is compared.

    Attributes:
        as_module: whether the script's path is a module's name.
        with_torch: whether to run it with real PyTorch, too.
        torch_python: the Python that has PyTorch; this one by default.
        rounds: how often each row is run, by turns.
        output: the folder for ``compare-NAME.png`` and ``compare-NAME.json``.
        html_path: where a page with all of it is written, too.
        peak: operations a second by unit; by default those of the device that is here.
        shows: which lines of the script's output are shown, of its first round.
    """

    as_module: bool = False
    with_torch: bool = False
    torch_python: str | None = None
    rounds: int = 1
    output: Path = field(default_factory=Path)
    html_path: Path | None = None
    peak: dict[str, float] | None = None
    shows: Callable[[str], bool] = lambda line: True


class _Rows:
    """The runs of a script, in rows: each is run once, and again by turns."""

    def __init__(self, script: Sequence[str], shows: Callable[[str], bool], console: Console):
        self._script, self._shows, self._console = script, shows, console
        self._setups: list[Setup] = []
        self.runs: list[RecordedRun] = []

    def add(self, setup: Setup) -> RecordedRun:
        """Run the script in another way, for a row more. RunFailedError where it fails."""
        self._console.rule(setup.label)
        found = run(setup, self._script, self._shows)
        self._setups.append(setup)
        self.runs.append(found)
        return found

    def remove_last(self) -> None:
        """Take the last row away."""
        del self.runs[-1], self._setups[-1]

    def repeat(self, rounds: int) -> None:
        """Run each row once more in each round."""
        for number in range(2, rounds + 1):
            self._console.rule(f"round {number}")
            for i, setup in enumerate(self._setups):
                again = run(setup, self._script, lambda line: False)
                self.runs[i] = self.runs[i].with_round(again)


def compare(
    argv: Sequence[str], options: CompareOptions | None = None, console: Console | None = None
) -> int:
    """Run a script eager, deferred and compiled, print the table, write the plot and the numbers.

    What is compiled: of a script that marks nothing by ``torch.compile``, the function that is a
    whole training step, where there is one and it can be compiled. Of another, what it marks.

    Args:
        argv: the script's path (or the module's name) and its arguments.

    Returns:
        The exit code: 0, that of the first run that failed, or 1 if there was nothing to time.

    Raises:
        KeyboardInterrupt: once the script that was running has ended.
    """
    options, console = options or CompareOptions(), console or Console()
    if options.with_torch and options.torch_python is None and not has_pytorch():
        console.print(NEEDS_PYTORCH)
        return 2
    script = [MODULE_FLAG, *argv] if options.as_module else list(argv)
    rows = _Rows(script, options.shows, console)
    misplaced = _misplaced(argv)
    try:
        remarks = [*_add_rows(rows, options), *misplaced]
        rows.repeat(options.rounds)
    except RunFailedError as error:
        console.print(str(error), style="red", markup=False)
        for note in misplaced:
            console.print(note, markup=False, soft_wrap=True)
        return error.exit_code
    console.rule()
    name = argv[0] if options.as_module else Path(argv[0]).stem
    said = [*report.notes(rows.runs, options.peak), *remarks]
    console.print(report.table(name, rows.runs))
    for note in said:
        console.print(note, markup=False, soft_wrap=True)
    if all(one.first_step is None for one in rows.runs):
        console.print(NOTHING_TIMED, style="red", markup=False, soft_wrap=True)
        return 1
    for kind, path in _write(name, rows.runs, said, options).items():
        console.print(f"{kind}: {path}", markup=False, soft_wrap=True)
    if not plot.available():
        console.print(plot.MISSING, markup=False)
    return 0


def _misplaced(argv: Sequence[str]) -> list[str]:
    return [
        f"{option} was given to the script: options of compare stand before its name."
        for option in _OWN_OPTIONS
        if any(word == option or word.startswith(f"{option}=") for word in argv[1:])
    ]


def _add_rows(rows: _Rows, options: CompareOptions) -> list[str]:
    """Run each row once, and return what there is to say of rows that are missing."""
    remarks: list[str] = []
    eager = rows.add(EAGER)
    rows.add(DEFERRED)
    if eager.marked:
        rows.add(WHOLE_STEP if eager.whole_steps else MARKED)
    else:
        remarks += _whole_step(eager, rows)
    if options.with_torch:
        rows.add(replace(TORCH, python=options.torch_python))
        if eager.marked:
            remarks += _compiled_by_torch(rows, options.torch_python)
    return remarks


def _write(
    name: str, runs: list[RecordedRun], said: Sequence[str], options: CompareOptions
) -> dict[str, Path]:
    """Write the numbers, the page and the plot, and return where they are."""
    folder = options.output
    folder.mkdir(parents=True, exist_ok=True)
    written = {"Numbers": folder / f"compare-{name}.json"}
    text = json.dumps(report.as_json(name, runs), indent=1)
    whole_files.write_text(written["Numbers"], text)
    if options.html_path is not None:
        written["Page"] = options.html_path
        whole_files.write_text(options.html_path, page.html(name, runs, said))
    if plot.available():
        written["Plot"] = folder / f"compare-{name}.png"
        plot.write(written["Plot"], name, runs)
    return written


def _whole_step(eager: RecordedRun, rows: _Rows) -> list[str]:
    """Add the run in which the script's step is one program, or say how to get one."""
    step = eager.step_function
    if eager.first_step is None:
        return []
    if step is None:
        return [_HOW if eager.passes < 2 else _HOW_ACCUMULATED.format(passes=eager.passes)]
    where = f"{step['name']} ({Path(step['file']).name}, line {step['line']})"
    if step["file"] != eager.script_file:
        return [f"{where} is a whole step: @torch.compile on it makes it one program."]
    marked = f"--whole-step={step['line']}"
    try:
        found = rows.add(replace(WHOLE_STEP, command=(*WHOLE_STEP.command, marked)))
    except RunFailedError as error:
        return [f"{where} is a whole step, but under @torch.compile {error}."]
    if found.fell_back:
        rows.remove_last()
        why = next(iter(found.fell_back.values()))
        return [f"{where} is a whole step, but cannot be compiled: {why}"]
    return [f"{where} was compiled for this comparison: @torch.compile on it does the same."]


def _compiled_by_torch(rows: _Rows, python: str | None) -> list[str]:
    """Add PyTorch's run of what the script marks, or say why there is none: its compiler needs one
    of C++."""
    try:
        rows.add(replace(TORCH_COMPILED, python=python))
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
        command = [setup.python or sys.executable, *setup.command, str(path), *script]
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
