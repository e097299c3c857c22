"""Checkpoints by Orbax: programs of JAX's read what was written, and the reverse."""

import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest

import torchlike as torch
from tests.distributed.launching import HERE, launch
from torchlike import nn
from torchlike.distributed import checkpoint as dcp
from torchlike.distributed.checkpoint.state_dict import get_state_dict, set_state_dict


def trained(n):
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1, betas=(0.8, 0.9))
    more(net, optimizer, n)
    return net, optimizer


def more(net, optimizer, n):
    for _ in range(n):
        optimizer.zero_grad()
        net(torch.ones(4, 3)).pow(2).mean().backward()
        optimizer.step()


def test_training_goes_on(tmp_path):
    net, optimizer = trained(3)
    model, optim = get_state_dict(net, optimizer)
    state = {
        "model": model,
        "optim": optim,
        "step": 3,
        "half": torch.ones(3, dtype=torch.bfloat16),
        "plain": {"rates": (0.1, 0.2), "name": None},
    }
    for _ in range(2):
        dcp.save(state, storage_writer=dcp.OrbaxStorageWriter(tmp_path))
    assert [p.name for p in tmp_path.iterdir()] == ["1"]  # of two saves the last is kept
    more(net, optimizer, 2)
    other, its = trained(1)
    model, optim = get_state_dict(other, its)
    found = {
        "model": model,
        "optim": optim,
        "step": 0,
        "half": torch.zeros_like(state["half"]),
        "plain": {"rates": (), "name": ""},
    }
    dcp.load(found, checkpoint_id=tmp_path, storage_reader=dcp.OrbaxStorageReader(tmp_path))
    assert (found["step"], found["plain"]) == (3, {"rates": (0.1, 0.2), "name": None})
    assert found["half"].tolist() == [1, 1, 1]
    set_state_dict(other, its, model_state_dict=found["model"], optim_state_dict=found["optim"])
    more(other, its, 2)
    assert other.weight.equal(net.weight)


def test_programs_of_jax_read_and_write_them(tmp_path):
    dcp.save(
        {"model": nn.Linear(3, 2).state_dict()}, storage_writer=dcp.OrbaxStorageWriter(tmp_path)
    )
    with ocp.StandardCheckpointer() as checkpointer:
        found = checkpointer.restore(tmp_path / "0" / "state")
    assert found["model.weight"].shape == (2, 3)
    nested = {"model": {"weight": jnp.ones((2, 3)), "bias": jnp.zeros(2)}}
    with ocp.CheckpointManager(tmp_path) as manager:
        manager.save(7, args=ocp.args.Composite(state=ocp.args.StandardSave(nested)))
        manager.wait_until_finished()
    state = {"model": {"weight": torch.zeros(2, 3)}}  # a part of it
    dcp.load(state, storage_reader=dcp.OrbaxStorageReader(tmp_path))
    np.testing.assert_array_equal(state["model"]["weight"], np.ones((2, 3)))
    dcp.load(state, storage_reader=dcp.OrbaxStorageReader(tmp_path, step=0))
    np.testing.assert_array_equal(state["model"]["weight"], found["model.weight"])


def test_bad_input(tmp_path):
    reader = dcp.OrbaxStorageReader(tmp_path)
    with pytest.raises(FileNotFoundError, match="no checkpoint of Orbax's"):
        dcp.load({}, storage_reader=reader)
    with pytest.raises(FileNotFoundError, match="not there"):
        dcp.load({}, storage_reader=dcp.OrbaxStorageReader(tmp_path / "none"))
    writer = dcp.OrbaxStorageWriter(tmp_path)
    with pytest.raises(TypeError, match="no place for a object"):
        dcp.save({"x": object()}, storage_writer=writer)
    dcp.save({"x": torch.ones(2)}, storage_writer=writer)
    with pytest.raises(dcp.CheckpointException, match=r"Missing key.*y"):
        dcp.load({"y": torch.ones(2)}, storage_reader=reader)
    with pytest.raises(dcp.CheckpointException, match=r"Size mismatch.*\[2\].*\[3\]"):
        dcp.load({"x": torch.ones(3)}, storage_reader=reader)
    with pytest.raises(FileNotFoundError, match="of step 5"):
        dcp.load({}, storage_reader=dcp.OrbaxStorageReader(tmp_path, step=5))
    with pytest.raises(ValueError, match="at least 1"):
        dcp.OrbaxStorageWriter(tmp_path, keep=0)


def test_without_orbax(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'torchlike\[orbax\]'"):
        dcp.OrbaxStorageWriter(tmp_path)


def said(*args):
    done = launch("--nproc-per-node", args[0], HERE / "scripts" / "orbax_checkpoint.py", *args[1:])
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.full
def test_between_worlds_and_killed(tmp_path):
    """Saved by two processes, read by one and four; a rank that is killed while the next save is
    all but there leaves the former."""
    saved = said(2, "save", tmp_path / "a")
    for n in (1, 4):
        assert said(n, "load", tmp_path / "a") == saved
    script = HERE / "scripts" / "orbax_checkpoint.py"
    done = launch("--nproc-per-node", 2, script, "killed", tmp_path / "b")
    assert done.returncode != 0
    assert said(2, "load", tmp_path / "b") == saved
