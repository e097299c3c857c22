"""Runs the files ``on_eight_devices.py`` beside it in one process that has eight devices."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FLAG = "--xla_force_host_platform_device_count=8"


def run(selection):
    files = [str(p) for p in sorted(HERE.rglob("on_eight_devices.py"))]
    assert len(files) == 9
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", selection]
    env = {**os.environ, "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {FLAG}"}
    done = subprocess.run(
        [*command, *files],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE.parents[1],
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[:8000]


@pytest.mark.exhaustive
def test_on_eight_devices():
    run("not full")


@pytest.mark.full
def test_the_long_forms_on_eight_devices():
    run("full")
