"""The benchmark of first calls: its cases are JAX's too, its worker reports, its table adds up."""

import json
import subprocess
import sys

import jax
import pytest
from rich.console import Console

import torchlike
from benchmarks import cold, pool
from benchmarks.workloads import cold_ops


def test_jax_has_every_case():
    ours, theirs = cold_ops.in_torch(torchlike), cold_ops.in_jax(jax)
    assert list(ours) == list(theirs)
    assert len(ours) >= 40


@pytest.mark.full
def test_a_worker_reports_each_size():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cold", "--worker", "ops", "torchlike", ""],
        cwd=pool.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert list(found) == list(cold_ops.in_torch(torchlike))
    assert all(len(seconds) == len(cold.SIZES) and min(seconds) > 0 for seconds in found.values())


def test_the_table_has_milliseconds_and_ratios():
    found = {"x[0]": {"torchlike": [[0.2], [0.004], [0.006]], "torch": [[0.001], [0.002], [0.002]]}}
    for by_label in found.values():
        for rounds in by_label.values():
            for seconds in rounds:
                seconds.append(seconds[0])
    console = Console(width=120)
    with console.capture() as shown:
        console.print(cold.table("growing", found))
    text = shown.get()
    assert "x[0]" in text
    assert "6.00 (3.0)" in text
