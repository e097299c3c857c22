"""Checkpoints in Hugging Face's layout: safetensors reads what was written, and the reverse."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest
from safetensors.numpy import load_file, save_file

import torchlike as torch
from torchlike import nn
from torchlike.distributed import checkpoint as dcp


def test_written_and_read(tmp_path):
    model = nn.Linear(3, 2)
    state = {**model.state_dict(), "half": torch.ones(3, dtype=torch.bfloat16)}
    files = {"weight": 1, "bias": 2, "half": 2}
    dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path, files))
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["metadata"]["total_size"] == 6 * 4 + 2 * 4 + 3 * 2
    assert index["weight_map"]["bias"] == "model-00002-of-00002.safetensors"
    assert (
        load_file(tmp_path / index["weight_map"]["weight"])["weight"]
        == model.weight.detach().numpy()
    ).all()
    found = {name: torch.zeros_like(t) for name, t in state.items()}
    dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(tmp_path))
    assert all(found[name].equal(state[name]) for name in state)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        {*index["weight_map"].values(), "model.safetensors.index.json"}
    )


KILLED = """
import os, sys
import torchlike as torch
from torchlike.distributed import checkpoint as dcp

folder, at, place = sys.argv[1], int(sys.argv[2]), os.replace


def replace(source, target):
    replace.calls += os.path.dirname(target) == folder
    if replace.calls == at:
        os.kill(os.getpid(), 9)
    return place(source, target)


replace.calls, os.replace = 0, replace
state = {"a": torch.full((3,), 2.0), "b": torch.full((2,), 2.0)}
dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(folder, {"a": 1, "b": 2}))
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "at", [2, pytest.param(1, marks=pytest.mark.full), pytest.param(3, marks=pytest.mark.full)]
)
def test_killed_while_saving(tmp_path, at):
    """Between any two of the steps that make files appear, the former tensors are there, all."""

    def held():
        found = {"a": torch.zeros(3), "b": torch.zeros(2)}
        dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(tmp_path))
        return {v for t in found.values() for v in t.tolist()}

    files = {"a": 1, "b": 2}
    for n in range(2):
        state = {"a": torch.full((3,), float(n)), "b": torch.full((2,), float(n))}
        dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path, files))
        assert held() == {n}
        assert len(list(tmp_path.iterdir())) == 3
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(at)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert held() == {1}
    state = {"a": torch.full((3,), 3.0), "b": torch.full((2,), 3.0)}
    dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path, files))
    assert held() == {3}
    assert not [p for p in tmp_path.iterdir() if p.is_dir()]


def test_files_of_others_are_read(tmp_path):
    save_file({"w": torch.arange(6.0).reshape(2, 3).numpy()}, tmp_path / "model.safetensors")
    found = {"w": torch.zeros(2, 3)}
    dcp.load(found, checkpoint_id=tmp_path, storage_reader=dcp.HuggingFaceStorageReader(tmp_path))
    assert found["w"].equal(torch.arange(6.0).reshape(2, 3))


def test_refused(tmp_path):
    writer = dcp.HuggingFaceStorageWriter(tmp_path)
    with pytest.raises(ValueError, match="tensors alone, not epoch"):
        dcp.save({"w": torch.zeros(2), "epoch": 3}, storage_writer=writer)
    with pytest.raises(NotImplementedError, match="use save"):
        dcp.async_save({"w": torch.zeros(2)}, storage_writer=writer)
    with pytest.raises(NotImplementedError, match="save_distributed"):
        dcp.HuggingFaceStorageWriter(tmp_path, save_distributed=True)
    with pytest.raises(FileNotFoundError, match="no safetensors"):
        dcp.load({}, storage_reader=dcp.HuggingFaceStorageReader(tmp_path))


def test_what_killed_saves_left_goes(tmp_path):
    """Folders of processes that have ended; of none that runs, and of nobody else."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    own = f".torchlike-saving-{socket.gethostname()}"
    for name in (
        f"{own}-{ended.pid}-abc",
        f"{own}-{os.getppid()}-abc",
        ".saving-abc",
        f".torchlike-saving-elsewhere-{ended.pid}-abc",
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model-00001-of-00001.safetensors").touch()
    dcp.save({"w": torch.ones(2)}, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path))
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_dir()) == sorted(
        (
            f"{own}-{os.getppid()}-abc",
            ".saving-abc",
            f".torchlike-saving-elsewhere-{ended.pid}-abc",
        )
    )
