"""The benchmark of first calls: its models train, its table shows what was measured."""

import math

import pytest
from rich.console import Console

import torchlike as torch
from benchmarks import first_steps
from benchmarks.workloads import long_graphs

SMALL = {
    "gpt2": {"layers": 1, "width": 8, "length": 8},
    "resnet50": {"width": 1},
    "lstm": {"steps": 3, "width": 4},
    "xlstm": {"layers": 2, "width": 4, "steps": 4},
    "mamba": {"layers": 1, "width": 4, "state": 2, "steps": 4},
    "pinn": {"layers": 2, "width": 4},
}


@pytest.mark.parametrize("name", [n for n in SMALL if n != "resnet50"])
def test_a_model_trains(name):
    torch.manual_seed(0)
    step, batch = getattr(long_graphs, name)(torch, **SMALL[name])
    losses = [step(*batch).item() for _ in range(5)]
    assert math.isfinite(losses[-1])
    assert losses[-1] < losses[0]


def test_each_model_is_among_those_of_the_table():
    assert {f.__name__ for f in long_graphs.MODELS.values()} == SMALL.keys()


def test_the_table_compares_with_the_first_eager_step():
    eager = {"first": 0.5, "longest": 0.2, "later": 0.1, "first, own": 0.4, "longest, own": 0.1}
    compiled = {**eager, "longest, own": 1.0, "at": 148, "until": 9.0, "compiling": 8.0}
    results = {"GPT-2": {"eager": eager, "meanwhile": {**compiled, "waited": 0.0}}}
    console = Console(width=160)
    with console.capture() as captured:
        console.print(first_steps.table(results))
    line = next(x for x in captured.get().splitlines() if "meanwhile" in x)
    assert [x.strip() for x in line.strip("│ ").split("│")][1:8] == [
        *("500", "200", "400", "1000"),
        *("2.5", "148", "9.0"),
    ]
