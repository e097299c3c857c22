"""Writers that are killed (SIGKILL) at random moments: no file is lost, and what they left goes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike

SCRIPT = Path(__file__).with_name("killed_writers.py")
WRITERS = {
    "torch.save",
    "torch.save, legacy",
    "torch.jit.save",
    "torch.export.save",
    "distributed checkpoint",
    "safetensors",
    "Hugging Face folder",
    "StableHLO",
    "ONNX",
    "a page",
}
NOTHING_LOST = {"lost": 0, "left after the next save": 0}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("count", [3, pytest.param(30, marks=pytest.mark.exhaustive)])
def test_nothing_is_lost(tmp_path, count):
    """The former file or the new one is there, whole. One process starts for all of the kills."""
    command = [sys.executable, "-W", "ignore", str(SCRIPT), "torchlike", str(tmp_path), str(count)]
    root = str(Path(torchlike.__file__).parent.parent)
    done = subprocess.run(
        [*command, "47"],
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    table = json.loads(done.stdout)
    assert set(table) == WRITERS
    for name, told in table.items():
        assert {key: told[key] for key in NOTHING_LOST} == NOTHING_LOST, (name, told)
        assert told["former"] + told["new"] == count
        if count > 3:  # the moments were before the end, and after
            assert 0 < told["new"] < count, (name, told)
