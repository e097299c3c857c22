"""`torchlike compare --torch`: recording a script that runs on real PyTorch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

RUNNER = Path(__file__).parents[3] / "torchlike" / "porting" / "record_torch.py"

SCRIPT = """
import sys
import torch
from torch.optim.lr_scheduler import StepLR

torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.{optimizer}
scheduler = StepLR(optimizer, step_size=2)

def train_step(x):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss

{compile}
x = torch.ones(8, 4)
for _ in range(5):
    print(train_step(x).item())
    scheduler.step()
print("jax" in sys.modules, "torchlike" in sys.modules)
"""


def record(tmp_path, **fill):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(**{"optimizer": "SGD(model.parameters(), lr=0.1)", **fill}))
    result = tmp_path / "result.json"
    process = subprocess.run(
        [sys.executable, str(RUNNER), str(result), str(script)],
        capture_output=True,
        text=True,
        check=True,
        env={"TORCHDYNAMO_DISABLE": "1"},
    )
    assert process.stderr == ""
    *losses, last = process.stdout.splitlines()
    assert last == "False False"
    return json.loads(result.read_text()), [float(loss) for loss in losses]


SGD, ADAMW = "SGD(model.parameters(), lr=0.1)", "AdamW(model.parameters(), lr=0.1)"
COMPILED = "train_step = torch.compile(train_step)"


@pytest.mark.parametrize(
    ("optimizer", "compile_"),
    [
        (SGD, COMPILED),
        pytest.param(ADAMW, "", marks=pytest.mark.exhaustive),
        pytest.param(SGD, "", marks=pytest.mark.full),
        pytest.param(ADAMW, COMPILED, marks=pytest.mark.full),
    ],
)
def test_steps_and_losses(tmp_path, optimizer, compile_):
    entries, losses = record(tmp_path, optimizer=optimizer, compile=compile_)
    assert entries["losses"] == losses
    assert len(losses) == 5
    assert len(entries["steps"]) == 4
    assert entries["first_step"] > 0
    assert (entries["framework"], entries["version"]) == ("torch", torch.__version__)
    assert entries["device"] == "cpu"


@pytest.mark.exhaustive
def test_failing_script_is_not_recorded(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import torch\ntorch.ones(2) @ torch.ones(3)\n")
    process = subprocess.run(
        [sys.executable, str(RUNNER), str(tmp_path / "result.json"), str(script)],
        capture_output=True,
        text=True,
    )
    assert process.returncode == 1
    assert "record_torch.py" not in process.stderr
    assert process.stderr.startswith(f'Traceback (most recent call last):\n  File "{script}"')
    assert not (tmp_path / "result.json").exists()
