"""What was recorded of PyTorch's releases is what the installed one gives."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
GOLDEN = Path(__file__).parents[2] / "golden"


def test_the_recording_is_the_releases():
    release = ".".join(torch.__version__.split(".")[:2])
    command = [sys.executable, "-W", "ignore", str(GOLDEN / "make_releases.py"), "torch"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    recorded = json.loads((GOLDEN / "releases.json").read_text())[release]
    assert repr(json.loads(made.stdout)) == repr(recorded)
