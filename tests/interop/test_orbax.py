"""Orbax's checkpoints of modules, optimizers and trees; what JAX's programs read of them."""

import signal
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
import pytest

import torchlike as torch
from torchlike.interop.orbax import Checkpoints


def model(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)
    )


def train(m, optimizer, n):
    x = torch.linspace(-1, 1, 15).reshape(5, 3)
    for _ in range(n):
        optimizer.zero_grad()
        loss = m(x).square().mean()
        loss.backward()
        optimizer.step()
    return loss.item()


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("kind", ["AdamW", "Optax"])
def test_training_goes_on_from_a_checkpoint(kind, tmp_path):
    def make(m):
        if kind == "Optax":
            return torch.optim.Optax(m.parameters(), optax.adamw, lr=1e-2)
        return torch.optim.AdamW(m.parameters(), lr=1e-2, betas=(0.8, 0.9))

    m = model()
    optimizer = make(m)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    tree = {"mean": torch.arange(3.0), "rest": [torch.ones(2, dtype=torch.bfloat16)]}
    with Checkpoints(tmp_path / "run", keep=2) as checkpoints:
        for step in (1, 2, 3):
            train(m, optimizer, 1)
            checkpoints.save(step, model=m, optimizer=optimizer, schedule=schedule, tree=tree)
        assert checkpoints.steps() == [2, 3]
    expected = train(m, optimizer, 2)
    other = model(1)
    optimizer = make(other)
    empty = {"mean": torch.zeros(3), "rest": [torch.zeros(2, dtype=torch.bfloat16)]}
    with Checkpoints(tmp_path / "run") as checkpoints:
        step = checkpoints.restore(model=other, optimizer=optimizer, schedule=schedule, tree=empty)
    assert step == 3
    assert empty["mean"].tolist() == [0, 1, 2]
    assert empty["rest"][0].tolist() == [1, 1]
    assert train(other, optimizer, 2) == pytest.approx(expected, rel=1e-6)


def test_programs_of_jax_read_and_write_them(tmp_path):
    m = model()
    with Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(5, model=m)
    with ocp.StandardCheckpointer() as checkpointer:
        found = checkpointer.restore(tmp_path / "5" / "model")
    np.testing.assert_array_equal(found["0"]["weight"], m[0].weight.detach())
    assert found["1"]["num_batches_tracked"] == 0
    found["0"]["weight"] = jnp.zeros((4, 3), jnp.float32)
    with ocp.CheckpointManager(tmp_path) as manager:
        manager.save(6, args=ocp.args.Composite(model=ocp.args.StandardSave(found)))
        manager.wait_until_finished()
    with Checkpoints(tmp_path) as checkpoints:
        assert checkpoints.restore(model=m) == 6
    assert not m[0].weight.any()


def test_bad_input(tmp_path):
    m = model()
    with Checkpoints(tmp_path) as checkpoints:
        with pytest.raises(FileNotFoundError, match="no checkpoint"):
            checkpoints.restore(model=m)
        with pytest.raises(ValueError, match="nothing to save"):
            checkpoints.save(1)
        checkpoints.save(1, model=m)
        with pytest.raises(ValueError, match="already"):
            checkpoints.save(1, model=m)
        with pytest.raises(FileNotFoundError, match="of step 7"):
            checkpoints.restore(7, model=m)
        with pytest.raises(KeyError, match="has no 'optimizer'; it has \\['model'\\]"):
            checkpoints.restore(optimizer=torch.optim.SGD(m.parameters()))
        with pytest.raises(RuntimeError, match="size mismatch"):
            checkpoints.restore(model=torch.nn.Sequential(torch.nn.Linear(9, 4)))
    with pytest.raises(ValueError, match="at least 1"):
        Checkpoints(tmp_path, keep=0)


KILLED = """
import os, signal, sys
import torchlike as torch
from torchlike.interop.orbax import Checkpoints

folder = sys.argv[1]
checkpoints = Checkpoints(folder, keep=1)
m = torch.nn.Linear(3, 3)
torch.nn.init.ones_(m.weight)
checkpoints.save(1, model=m)
rename = os.rename

def killed(a, b, *args, **kwargs):
    if os.path.basename(str(b)) == "2":
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(a, b, *args, **kwargs)

os.rename = os.replace = killed
torch.nn.init.zeros_(m.weight)
checkpoints.save(2, model=m)
print("saved")
"""


@pytest.mark.full
def test_a_kill_while_saving_leaves_the_former_whole(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr
    m = torch.nn.Linear(3, 3)
    with Checkpoints(tmp_path) as checkpoints:
        assert checkpoints.restore(model=m) == 1
        assert bool((m.weight == 1).all())
        checkpoints.save(2, model=m)
        assert checkpoints.steps() == [1, 2]
