"""A part of these tests on a device of the CPU's that stands for a GPU: where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
#: Files, and tests of them by pytest's ``-k``; of the op table one of each kind of op.
QUICK = {
    "test_devices_there.py": "test",
    "test_training_there.py": "mlp or checkpoint or loader and 0",
    "test_op_table_there.py": "add-0 or matmul-0 or sum-0 or index_put-0 or sort-0 or BatchNorm1d",
}


def _run(*files: str, only: str = "", least: int = 20) -> None:
    flags = "--xla_force_host_platform_device_count=2"
    environment = {**os.environ, "TORCHLIKE_STAND_IN": "1", "XLA_FLAGS": flags}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header"]
    paths = [str(HERE / file) for file in files]
    done = subprocess.run(
        [*command, "-k", only, *paths],
        capture_output=True,
        text=True,
        env=environment,
        cwd=HERE.parents[2],
    )
    assert done.returncode == 0, done.stdout[-6000:]
    ran = "".join(line.split(" ")[0] for line in done.stdout.splitlines() if "%]" in line)
    assert len(ran) >= least, done.stdout


@pytest.mark.skipif("TORCHLIKE_STAND_IN" in os.environ, reason="this is the stand-in")
def test_as_on_an_accelerator():
    """In one process: each would start two frameworks and collect their tables."""
    parts = (f"({file} and ({names}))" for file, names in QUICK.items())
    _run(*QUICK, only=" or ".join(parts))


@pytest.mark.exhaustive
@pytest.mark.skipif("TORCHLIKE_STAND_IN" in os.environ, reason="this is the stand-in")
def test_mixed_precision_and_workers_as_on_an_accelerator():
    _run("test_training_there.py", only="scaler or loader", least=3)


@pytest.mark.full
@pytest.mark.parametrize("file", QUICK)
def test_all_as_on_an_accelerator(file):
    _run(file)
