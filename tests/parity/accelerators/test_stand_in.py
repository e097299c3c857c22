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
    "test_devices_there.py": "",
    "test_training_there.py": "mlp or scaler or checkpoint or loader",
    "test_op_table_there.py": "add-0 or matmul-0 or sum-0 or index_put-0 or sort-0 or BatchNorm1d",
}


def _run(file: str, *options: str) -> None:
    flags = "--xla_force_host_platform_device_count=2"
    environment = {**os.environ, "TORCHLIKE_STAND_IN": "1", "XLA_FLAGS": flags}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header"]
    done = subprocess.run([*command, str(HERE / file), *options], capture_output=True, text=True,
                          env=environment, cwd=HERE.parents[2])  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:]


@pytest.mark.skipif("TORCHLIKE_STAND_IN" in os.environ, reason="this is the stand-in")
@pytest.mark.parametrize("file", QUICK)
def test_as_on_an_accelerator(file):
    _run(file, *(("-k", QUICK[file]) if QUICK[file] else ()))


@pytest.mark.full
@pytest.mark.parametrize("file", QUICK)
def test_all_as_on_an_accelerator(file):
    _run(file)
