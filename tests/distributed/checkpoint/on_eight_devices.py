"""Distributed checkpoints, from and to meshes of eight devices of one process."""

import json
import os
import signal
import subprocess
import sys

import pytest
from safetensors import safe_open

import torchlike as torch
import torchlike.distributed.checkpoint as dcp
from torchlike import nn
from torchlike.distributed.checkpoint import format_utils
from torchlike.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from torchlike.distributed.device_mesh import init_device_mesh
from torchlike.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torchlike.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

LINE = init_device_mesh("cpu", (8,))
MESH = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
X, Y = torch.arange(8 * 16.0).reshape(8, 16) / 128, torch.arange(8)


def build(mesh):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 10))
    if mesh is not None:
        fully_shard(net[0], mesh=mesh)
        fully_shard(net, mesh=mesh)
    return net, torch.optim.AdamW(net.parameters(), lr=1e-2)


def step(net, optimizer):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(X), Y)
    loss.backward()
    optimizer.step()
    return loss.item()


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """(folder, losses of the steps after it was saved)."""
    folder = tmp_path_factory.mktemp("saved")
    net, optimizer = build(LINE)
    for _ in range(3):
        step(net, optimizer)
    model, state = get_state_dict(net, optimizer)
    future = dcp.async_save(
        {"model": model, "optim": state, "step": 3, "name": "run"}, checkpoint_id=folder
    )
    losses = [step(net, optimizer) for _ in range(3)]
    future.result()
    return folder, losses


@pytest.mark.parametrize("mesh", [MESH, None, LINE], ids=["2 x 4", "one device", "8"])
def test_read_onto_another_mesh_training_goes_on(saved, mesh):
    folder, losses = saved
    net, optimizer = build(mesh)
    with torch.no_grad():
        for p in net.parameters():
            p.fill_(7.0)
    model, state = get_state_dict(net, optimizer)
    read = {"model": model, "optim": state, "step": 0, "name": ""}
    dcp.load(read, checkpoint_id=folder)
    set_state_dict(net, optimizer, model_state_dict=read["model"], optim_state_dict=read["optim"])
    assert (read["step"], read["name"]) == (3, "run")
    found = [step(net, optimizer) for _ in range(3)]
    assert found == pytest.approx(losses, rel=1e-5)
    if mesh is not None:
        p = net[0].weight
        assert p.placements == optimizer.state[p]["exp_avg"].placements
        assert Shard(0) in p.placements


def test_parts_are_plain_safetensors(saved):
    folder, _ = saved
    (file,) = folder.glob("*.safetensors")
    with safe_open(file, "np") as f:
        part = f.get_tensor("model.0.weight@4,0")
    assert part.shape == (4, 16)
    index = json.loads((folder / "torchlike.index.json").read_text())
    assert len(index["tensors"]["model.0.weight"]["pieces"]) == 8
    assert len(index["tensors"]["model.2.bias"]["pieces"]) == 1


def test_dtypes_and_values_of_all_kinds(tmp_path):
    tensors = {
        str(d): torch.arange(16).to(d).reshape(8, 2)
        for d in (
            torch.float64,
            torch.float32,
            torch.bfloat16,
            torch.float16,
            torch.int8,
            torch.int64,
            torch.bool,
            torch.complex64,
            torch.uint8,
        )
    }
    state = {
        "t": tensors,
        "cut": {k: distribute_tensor(t, LINE, [Shard(0)]) for k, t in tensors.items()},
        "scalar": torch.tensor(3.0),
        "empty": torch.zeros(0, 4),
        "list": [torch.ones(2), {"a": 1}],
        "values": {"f": float("inf"), "none": None, "s": "x", "l": [1, 2], "t": (1, "a"), "d": {}},
    }
    dcp.save(state, checkpoint_id=tmp_path)
    blank = {
        "t": {k: torch.zeros_like(t) for k, t in tensors.items()},
        "cut": {
            k: distribute_tensor(torch.zeros_like(t), MESH, [Shard(1), Replicate()])
            for k, t in tensors.items()
        },
        "scalar": torch.tensor(0.0),
        "empty": torch.zeros(0, 4),
        "list": [torch.zeros(2), {"a": 0}],
        "values": dict.fromkeys(("f", "none", "s", "l", "t")) | {"d": {}},
    }
    kept = blank["cut"]["torch.float32"]
    dcp.load(blank, checkpoint_id=str(tmp_path))
    for k, t in tensors.items():
        assert blank["t"][k].equal(t)
        assert blank["cut"][k].equal(t)
    assert blank["cut"]["torch.float32"] is kept
    assert kept.placements == (Shard(1), Replicate())
    assert blank["scalar"] == 3
    assert blank["list"][0].equal(torch.ones(2))
    assert blank["list"][1] == {"a": 1}
    assert blank["values"] == state["values"]


class Counter:
    def __init__(self, n):
        self.n = n

    def state_dict(self):
        return {"n": self.n, "t": torch.full((2,), float(self.n))}

    def load_state_dict(self, state):
        self.n = state["n"] + state["t"][0].item()


def test_stateful_objects(tmp_path):
    dcp.save({"counter": Counter(3)}, storage_writer=dcp.FileSystemWriter(tmp_path))
    counter = Counter(0)
    dcp.load({"counter": counter}, storage_reader=dcp.FileSystemReader(tmp_path))
    assert counter.n == 6


def test_options_of_state_dicts():
    net, optimizer = build(LINE)
    step(net, optimizer)
    whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
    model = get_model_state_dict(net, options=whole)
    state = get_optimizer_state_dict(net, optimizer, options=whole)
    assert not any(isinstance(t, DTensor) for t in model.values())
    assert set(state["state"]) == set(model) == set(state["param_groups"][0]["params"])
    assert not isinstance(state["state"]["0.weight"]["exp_avg"], DTensor)
    other, its = build(MESH)
    set_model_state_dict(other, model)
    set_optimizer_state_dict(other, its, state)
    flat = StateDictOptions(flatten_optimizer_state_dict=True)
    third, thirds = build(LINE)
    set_model_state_dict(third, model)
    flattened = get_optimizer_state_dict(net, optimizer, options=flat)
    assert "state.0.weight.exp_avg" in flattened
    assert flattened["param_groups.0.weight.lr"] == 1e-2
    set_optimizer_state_dict(third, thirds, flattened)
    loss = step(net, optimizer)
    assert step(other, its) == pytest.approx(loss, rel=1e-5)
    assert step(third, thirds) == pytest.approx(loss, rel=1e-5)
    assert loss != pytest.approx(step(net, optimizer))


def test_an_optimizer_that_made_no_step_gets_state_and_the_model_stays():
    net, optimizer = build(LINE)
    before = {k: v.full_tensor() for k, v in net.state_dict().items()}
    state = get_optimizer_state_dict(net, optimizer)
    assert state["state"]["0.weight"]["exp_avg"].placements == (Shard(0),)
    assert all(v.equal(before[k]) for k, v in net.state_dict().items())
    assert optimizer.param_groups[0]["lr"] == 1e-2
    assert net[0].weight.grad is None


def test_names_without_wrappers():
    plain = nn.Sequential(nn.Linear(16, 8))
    wrapped = FullyShardedDataParallel(nn.Sequential(FullyShardedDataParallel(nn.Linear(16, 8))))
    assert list(get_model_state_dict(wrapped)) == list(plain.state_dict())
    set_model_state_dict(wrapped, plain.state_dict())
    assert wrapped.module[0].module.weight.equal(plain[0].weight)
    plain[0].bias.requires_grad_(False)
    found = get_model_state_dict(plain, options=StateDictOptions(ignore_frozen_params=True))
    assert list(found) == ["0.weight"]


def test_other_formats(tmp_path, saved):
    folder, _ = saved
    format_utils.dcp_to_torch_save(folder, tmp_path / "all.pt")
    whole = torch.load(tmp_path / "all.pt")
    assert whole["model.0.weight"].shape == (32, 16)
    assert whole["step"] == 3
    format_utils.torch_save_to_dcp(tmp_path / "all.pt", tmp_path / "again")
    blank = {"model.0.weight": torch.zeros(32, 16)}
    dcp.load(blank, checkpoint_id=tmp_path / "again")
    assert blank["model.0.weight"].equal(whole["model.0.weight"])


def test_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no checkpoint"):
        dcp.load({"a": torch.zeros(2)}, checkpoint_id=tmp_path)
    dcp.save({"a": torch.zeros(2)}, checkpoint_id=tmp_path)
    with pytest.raises(RuntimeError, match=r"Missing key in checkpoint state_dict: b\."):
        dcp.load({"b": torch.zeros(2)}, checkpoint_id=tmp_path)
    with pytest.raises(RuntimeError, match="Missing key"):
        dcp.load({"b": 3}, checkpoint_id=tmp_path)
    with pytest.raises(RuntimeError, match=r"saved \[2\] and current: \[3\] for a"):
        dcp.load({"a": torch.zeros(3)}, checkpoint_id=tmp_path)
    with pytest.raises(RuntimeError, match="must be specified"):
        dcp.save({"a": torch.zeros(2)})
    with pytest.raises(NotImplementedError, match="one layout"):
        dcp.save({}, checkpoint_id=tmp_path, planner=object())
    with pytest.raises(ValueError, match="meta"):
        dcp.save({"a": torch.zeros(2, device="meta")}, checkpoint_id=tmp_path)
    with pytest.raises(RuntimeError, match="not the model's"):
        get_optimizer_state_dict(nn.Linear(2, 2), torch.optim.SGD([torch.zeros(2)], lr=0.1))


# -- interrupted saves -----------------------------------------------------------------------------


def held(folder):
    found = {"a": torch.zeros(64), "n": 0}
    dcp.load(found, checkpoint_id=folder)
    assert found["a"].equal(torch.full((64,), float(found["n"])))
    return found["n"]


def state_of(n):
    return {"a": distribute_tensor(torch.full((64,), float(n)), LINE, [Shard(0)]), "n": n}


@pytest.mark.parametrize("at", range(18))
def test_a_save_that_ends_anywhere_leaves_a_whole_checkpoint(tmp_path, monkeypatch, at):
    """Each wait for the disk, and each step that makes a file appear, in turn is the last."""
    dcp.save(state_of(1), checkpoint_id=tmp_path)
    calls = []

    def ending(function):
        def call(*args):
            calls.append(function.__name__)
            if len(calls) - 1 == at:
                raise KeyboardInterrupt
            return function(*args)

        return call

    with monkeypatch.context() as m:
        m.setattr(os, "fsync", ending(os.fsync))
        m.setattr(os, "replace", ending(os.replace))
        with pytest.raises(KeyboardInterrupt):
            dcp.save(state_of(2), checkpoint_id=tmp_path)
    assert held(tmp_path) == (2 if at == 17 else 1)
    assert len(list(tmp_path.iterdir())) in (3, 5)  # the former's files go with the next save
    dcp.save(state_of(3), checkpoint_id=tmp_path)
    assert held(tmp_path) == 3


KILLED = """
import os, sys, time
import torchlike as torch, torchlike.distributed.checkpoint as dcp
folder = sys.argv[1]
dcp.save({"a": torch.full((64,), 1.0), "n": 1}, checkpoint_id=folder)
fsync, calls = os.fsync, []
def slow(handle):
    calls.append(handle)
    if len(calls) == int(sys.argv[2]):
        print("saving", flush=True)
        time.sleep(60)
    fsync(handle)
os.fsync = slow
dcp.save({"a": torch.full((64,), 2.0), "n": 2}, checkpoint_id=folder)
"""


@pytest.mark.parametrize(
    "at", [pytest.param(n, marks=[] if n == 7 else [pytest.mark.full]) for n in range(1, 11)]
)
def test_killed_while_saving(tmp_path, at):
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(at)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "saving\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert held(tmp_path) == 1
    assert len(list(tmp_path.iterdir())) > 3
    dcp.save(state_of(3), checkpoint_id=tmp_path)
    assert held(tmp_path) == 3
    assert len(list(tmp_path.iterdir())) == 3


def test_a_new_save_removes_what_the_former_one_wrote(tmp_path):
    for n in range(3):
        dcp.save(state_of(n), checkpoint_id=tmp_path)
        assert len(list(tmp_path.iterdir())) == 3
