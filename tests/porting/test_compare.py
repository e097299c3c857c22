"""Which rows `torchlike compare` has."""

import dataclasses
import io
import sys

import pytest
from rich.console import Console

from torchlike.porting import compare
from torchlike.porting.report import RecordedRun

RUN = RecordedRun(
    label="",
    framework="torchlike",
    version="1",
    device="cpu",
    first_step=0.5,
    steps=[0.1],
    losses=[1.0],
    seconds=1.0,
    last_line="",
)


@pytest.fixture
def rows(monkeypatch, tmp_path):
    """Compares with runs that are made up; gives exit code, labels and what was printed."""

    def of(failing="", rounds=1, **entries):
        labels = []

        def run(setup, script, shows):
            if setup.label == failing:
                raise compare.RunFailedError(setup.label, 7)
            labels.append(setup.label)
            return dataclasses.replace(RUN, label=setup.label, **entries)

        monkeypatch.setattr(compare, "run", run)
        monkeypatch.setattr(compare, "has_pytorch", lambda: True)
        console = Console(width=120, file=io.StringIO())
        options = compare.CompareOptions(with_torch=True, output=tmp_path, rounds=rounds)
        code = compare.compare(["train.py"], options, console)
        return code, labels, console.file.getvalue()

    return of


def test_pytorch_compiles_what_is_marked(rows):
    code, labels, _ = rows(marked=["step"], whole_steps=["step"])
    assert (code, labels[-2:]) == (0, ["PyTorch, eager", "PyTorch, compiled"])


def test_pytorch_compiles_nothing_where_nothing_is_marked(rows):
    assert rows()[1][-1] == "PyTorch, eager"


def test_a_compiler_that_fails_costs_its_row_alone(rows):
    code, labels, said = rows("PyTorch, compiled", marked=["step"])
    assert (code, labels[-1]) == (0, "PyTorch, eager")
    assert "PyTorch, compiled: the script ended with exit code 7" in said


def test_rows_have_their_turns_again(rows):
    code, labels, said = rows(rounds=3)
    assert code == 0
    assert labels == labels[:3] * 3
    assert "round 3" in said


def test_times_of_rounds_and_their_spread():
    run = RUN.with_round(dataclasses.replace(RUN, steps=[0.2], seconds=3.0))
    run = run.with_round(dataclasses.replace(RUN, steps=[0.3, 0.3], seconds=2.0))
    assert (run.steady_step, run.whole) == (0.2, 2.0)
    assert run.spread == pytest.approx(0.5)
    alone = dataclasses.replace(RUN, steps=[0.1, 0.2, 0.3])
    assert alone.spread == pytest.approx(0.5)
    assert dataclasses.replace(RUN, steps=[]).spread is None


def test_another_python_runs_pytorch(monkeypatch, tmp_path):
    commands = []

    def refuse(command, environment, begun):
        commands.append(command[0])
        raise compare.RunFailedError("", 1)

    monkeypatch.setattr(compare, "interruptible", refuse)
    for python in (None, "/other/python"):
        setup = dataclasses.replace(compare.TORCH, python=python)
        with pytest.raises(compare.RunFailedError):
            compare.record(setup, ["train.py"], lambda line: True)
    assert commands == [sys.executable, "/other/python"]
