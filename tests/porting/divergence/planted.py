"""What tests of planted faults share: the lines of their scripts, the command, what it found."""

import os
import subprocess
import sys
from pathlib import Path

import torchlike

ROOT = str(Path(torchlike.__file__).parent.parent)
TOLERANCE = 1e-4

IMPORTS = """\
import torch
from torch import nn
import torch.nn.functional as F
"""
#: A function whose backward pass is the script's own.
HALVED = """

class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2

    @staticmethod
    def backward(ctx, g):
        return g / 2
"""
#: Eleven modules: a list, one with a buffer that it writes, one that draws random numbers.
NET = """

class Mix(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8) / 3)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen += 1
        return x @ self.weight


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(4, 8)
        self.norms = nn.ModuleList([nn.LayerNorm(8), nn.LayerNorm(8)])
        self.mix = Mix()
        self.act = nn.ReLU()
        self.drop = nn.Dropout(0.5)
        self.left = nn.Linear(8, 8)
        self.right = nn.Linear(8, 8)
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        x = self.norms[0](self.embed(x))
        x = self.drop(self.act(self.mix(x)))
        x = self.norms[1](self.left(x) + self.right(Halved.apply(x)))
        return self.head(x)
"""


def begun(ours: str) -> str:
    """The first lines of a script, whose faults ask for ``ours``: that expression."""
    return f"{IMPORTS}\nours = {ours}\ntorch.manual_seed(0)\n"


def check(found, expected):
    """What was found against (step, kind, module or optimizer, operation, a text that is told)."""
    step, kind, where, operation, says = expected
    assert found is not None
    assert (found["step"], found["kind"]) == (step, kind), found
    module = (found["module"] or "").removeprefix("_orig_mod").removeprefix(".")
    assert where == (found["of"] if kind == "optimizer" else module), found
    assert operation == (found["operation"] and found["operation"]["name"]), found
    told = [found["says"], *found["details"], (found["operation"] or {}).get("says", "")]
    assert any(says in text for text in told), told


def command(folder, source, *options):
    """The command, run on the script as ``train.py``; what it finds is in ``found.json``."""
    (folder / "train.py").write_text(source)
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "torchlike",
            "compare",
            "--find-divergence",
            *options,
            "--json",
            "found.json",
            "train.py",
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": ROOT},
    )
