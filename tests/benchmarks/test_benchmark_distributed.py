"""The benchmark of two processes: its table, and a run of its small form."""

import re
import subprocess
import sys

import pytest

from benchmarks import distributed, pool


def test_captured_steps_stand_beside_eager_ones_of_pytorch():
    steps = {
        f"{m} {way}": 0.001 * (i + 1)
        for m in distributed.MODELS
        for i, (way, *_) in enumerate(distributed.WAYS)
    }
    eager = {name: 0.002 for name in steps if "captured" not in name}
    lines = distributed.table({"torchlike": steps, "torch": eager}).splitlines()
    assert re.split(r"  +", lines[0]) == ["ms", "torchlike", "PyTorch", "ratio"]
    assert re.split(r"  +", lines[4]) == ["MLP step, DDP, captured", "4.000", "2.000", "2.00"]
    assert re.split(r"  +", lines[10]) == ["MLP DDP over alone", "2.00", "1.00"]
    assert re.split(r"  +", lines[11]) == ["MLP the same, captured", "1.33"]
    assert re.split(r"  +", lines[15]) == ["GPT DDP captured over eager", "2.00"]
    assert re.split(r"  +", distributed.table({"torchlike": steps}).splitlines()[1])[2:] == [
        "-",
        "-",
    ]


@pytest.mark.full
def test_the_small_form_runs():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.distributed", "--quick", "--only", "torchlike"],
        cwd=pool.ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for row in ("all_reduce 4 KB", "MLP step, DDP, captured", "GPT step, DDP, captured"):
        assert re.search(rf"^{row} +\d+\.\d{{3}} +- +-$", done.stdout, re.MULTILINE), done.stdout
