"""Loops whose steps differ: of accumulated gradients, the step that updates is planned."""

import json
import os
import subprocess
import sys

import pytest

from torchlike.porting.plan.topologies import missing

needs_tpu = pytest.mark.skipif(missing("tpu") is not None, reason="needs the extra plan (libtpu)")

SCRIPT = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 10))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 100)
data = torch.utils.data.TensorDataset(torch.randn(STEPS * 16, 64), torch.randint(10, (STEPS * 16,)))
total = 0.0
for i, (x, y) in enumerate(torch.utils.data.DataLoader(data, batch_size=16)):
    loss = nn.functional.cross_entropy(model(x), y)
    (loss / ACC).backward()
    total += loss.item()
    if (i + 1) % ACC == 0:
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        last = norm.item()
        opt.step()
        sched.step()
        opt.zero_grad()
"""
PARAMETERS = 4 * (64 * 512 + 512 + 512 * 10 + 10)


def planned(tmp_path, accumulated, steps=12):
    text = SCRIPT.replace("ACC", str(accumulated)).replace("STEPS", str(steps))
    (tmp_path / "train.py").write_text(text)
    command = [sys.executable, "-m", "torchlike", "plan", "train.py", "--topology", "v5e:1x1"]
    done = subprocess.run(
        [*command, "--json", "plan.json", "--html", "plan.html"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads((tmp_path / "plan.json").read_text()), done


@needs_tpu
def test_the_update_of_accumulated_gradients_is_planned(tmp_path):
    plain, _ = planned(tmp_path, 1)
    assert "phases" not in plain
    plan, done = planned(tmp_path, 4)
    assert [(p["phase"], p["steps"]) for p in plan["phases"]] == [
        ("makes gradients", 1),
        ("adds gradients", 2),
        ("updates", 1),
    ]
    first, adding, updating = plan["phases"]
    assert "gradients" not in first["inputs"]
    assert adding["inputs"]["gradients"] == updating["inputs"]["gradients"] == PARAMETERS
    assert plan["inputs"]["optimizer state"] == plain["inputs"]["optimizer state"]
    assert plan["needed"] == updating["needed"] >= plain["needed"] + PARAMETERS * 0.9
    assert "step 4 updates parameters" in done.stderr
    assert "An update takes 4 steps" in done.stdout
    assert "The steps of an update" in (tmp_path / "plan.html").read_text()


@needs_tpu
def test_a_loop_that_ends_before_its_update_says_so(tmp_path):
    plan, done = planned(tmp_path, 4, steps=2)
    assert "no update of parameters in the loop's 2 steps" in done.stderr
    assert "optimizer state" not in plan["inputs"]
