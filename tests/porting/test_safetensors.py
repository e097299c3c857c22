"""safetensors as a script sees it: it reads tensors at their addresses and maps files."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import torchlike

ROOT = str(Path(torchlike.__file__).parent.parent)
SCRIPT = """
import sys, torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file, save, load, save_model, load_model
w = torch.arange(12.0).view(3, 4) * 1
tensors = {"w": w, "copy": w.clone(), "half": w.bfloat16(), "ids": torch.arange(5),
           "mask": w > 3, "one": torch.tensor(2.5), "none": torch.zeros(0, 3)}
save_file(tensors, "a.safetensors", {"k": "v"})
back = load_file("a.safetensors")
for name, t in tensors.items():
    assert back[name].dtype is t.dtype and torch.equal(back[name], t), name
    assert torch.equal(load(save(tensors))[name], t), name
for backend in ("mmap", "pread"):
    with safe_open("a.safetensors", framework="pt", backend=backend) as f:
        part = f.get_slice("w")
        assert torch.equal(part[1:], w[1:]) and torch.equal(part[:, 2:3], w[:, 2:3])
        assert torch.equal(part[...], w) and f.metadata() == {"k": "v"}
try:
    save_file({"a": w, "b": w}, "b.safetensors")
except RuntimeError as error:
    assert "share memory" in str(error)
try:
    save_file({"a": w.t()}, "b.safetensors")
except ValueError as error:
    assert "non contiguous" in str(error)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
model[1].weight = model[0].weight
save_model(model, "m.safetensors")
other = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
other[1].weight = other[0].weight
load_model(other, "m.safetensors")
assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters()))
theirs = load_file("n.safetensors")
theirs["x"].add_(1)
print(theirs["x"].tolist())
"""


def test_files_both_ways(tmp_path):
    pytest.importorskip("safetensors")
    (tmp_path / "script.py").write_text(SCRIPT)
    save_file({"x": np.arange(3, dtype=np.float32)}, tmp_path / "n.safetensors")
    ran = subprocess.run(
        [sys.executable, "-m", "torchlike", "run", "script.py"],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
    assert (ran.returncode, ran.stdout) == (0, "[1.0, 2.0, 3.0]\n"), ran.stderr
    found = load_file(tmp_path / "a.safetensors")
    np.testing.assert_array_equal(found["w"], np.arange(12).reshape(3, 4))
    np.testing.assert_array_equal(found["ids"], np.arange(5))
