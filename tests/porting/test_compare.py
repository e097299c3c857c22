"""Which rows `torchlike compare` has."""

import dataclasses
import io

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

    def of(failing="", **entries):
        labels = []

        def run(setup, script, shows):
            if setup.label == failing:
                raise compare.RunFailedError(setup.label, 7)
            labels.append(setup.label)
            return dataclasses.replace(RUN, label=setup.label, **entries)

        monkeypatch.setattr(compare, "run", run)
        monkeypatch.setattr(compare, "has_pytorch", lambda: True)
        console = Console(width=120, file=io.StringIO())
        code = compare.compare(["train.py"], with_torch=True, output=tmp_path, console=console)
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
