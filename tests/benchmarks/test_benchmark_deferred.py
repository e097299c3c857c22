"""The benchmark of deferred calls runs, and what it times are the same losses."""

import pytest

from benchmarks import deferred
from torchlike._extensions.deferred import policy


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(policy, "current", policy.AtOnce())


def test_a_line_a_workload_and_two_of_operations(capsys):
    deferred.main(["--rounds", "1", "--only", "mlp"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "mlp",
        "an operation",
        "with its backward",
    ]


def test_the_ways_give_the_same_losses():
    runs = deferred.ways("mlp")
    losses = {way: [run() for _ in range(3)] for way, run in runs.items()}
    for found in losses.values():
        assert found == pytest.approx(losses["at once"], rel=1e-5)
