"""Placements, parts and errors of DTensors, styles and ``fully_shard`` against PyTorch's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

SCRIPT = Path(__file__).parent / "placements_of_torch.py"


def said_by(library):
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=8"}
    command = [sys.executable, "-W", "ignore", str(SCRIPT), library]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_what_is_said_of_placements_is_what_pytorch_says():
    ours, theirs = said_by("torchlike"), said_by("torch")
    assert ours.keys() == theirs.keys()
    assert len(ours) > 80
    assert {k: (v, theirs[k]) for k, v in ours.items() if v != theirs[k]} == {}
