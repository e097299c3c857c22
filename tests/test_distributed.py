"""A world of one process."""

from __future__ import annotations

import datetime
import json
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import torchlike as torch
import torchlike.distributed.nn
from torchlike import distributed as dist
from torchlike.distributed.elastic.multiprocessing.errors import record

X = torch.tensor([1.0, 2.0])


@pytest.fixture
def world(tmp_path: Any) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/s", rank=0, world_size=1)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def test_before_and_after() -> None:
    assert dist.is_available()
    assert not dist.is_initialized()
    for call in (dist.get_rank, dist.get_world_size, dist.barrier, lambda: dist.all_reduce(X)):
        with pytest.raises(ValueError, match="has not been initialized, please make sure"):
            call()
    with pytest.raises(AssertionError, match="Process group cannot be None"):
        dist.destroy_process_group()


def test_from_the_environment(monkeypatch: Any) -> None:
    with pytest.raises(ValueError, match="environment variable RANK expected, but not set"):
        dist.init_process_group("gloo")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ValueError, match="environment variable MASTER_ADDR expected"):
        dist.init_process_group()
    with pytest.raises(ValueError, match="rank 2 is out of range: the world has 2 processes"):
        dist.init_process_group(rank=2)
    monkeypatch.setenv("WORLD_SIZE", "1")
    with pytest.raises(ValueError, match="environment variable MASTER_ADDR expected"):
        dist.init_process_group()
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", "0")
    dist.init_process_group()
    assert dist.is_initialized()
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group()
    dist.destroy_process_group()
    with pytest.raises(RuntimeError, match="doesn't have UCC built in"):
        dist.init_process_group("ucc")
    with pytest.raises(AssertionError, match="Unknown backend type foo"):
        dist.init_process_group("foo")


@pytest.mark.usefixtures("world")
def test_collectives() -> None:
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    x = X.clone()
    assert dist.all_reduce(x, op=dist.ReduceOp.AVG) is None
    work = dist.all_reduce(x, async_op=True)
    assert work is not None
    assert work.wait()
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    dist.barrier()
    assert x.equal(X)
    for receive in (
        lambda out: dist.all_gather([out], x),
        lambda out: dist.all_gather_into_tensor(out, x),
        lambda out: dist.gather(x, [out], dst=0),
        lambda out: dist.scatter(out, [x], src=0),
        lambda out: dist.reduce_scatter(out, [x]),
        lambda out: dist.reduce_scatter_tensor(out, x),
        lambda out: dist.all_to_all([out], [x]),
        lambda out: dist.all_to_all_single(out, x),
    ):
        out = torch.zeros(2)
        receive(out)
        assert out.equal(X)
        assert not out.requires_grad
    objects: list[Any] = [None]
    dist.all_gather_object(objects, {"a": 1})
    assert objects == [{"a": 1}]
    dist.broadcast_object_list(objects, src=0)


@pytest.mark.usefixtures("world")
def test_objects_as_checkpoints() -> None:
    """With weights_only objects go as checkpoints, and what these may not name is refused."""
    found: list[Any] = [None]
    dist.all_gather_object(found, {"a": [X, 1]}, weights_only=True)
    assert found[0]["a"][0].equal(X)
    assert found[0]["a"][1] == 1
    dist.scatter_object_list(found, [X], weights_only=True)
    assert found[0].equal(X)
    assert found[0] is not X
    dist.gather_object((1, "b"), found, weights_only=True)
    assert found == [(1, "b")]
    dist.gather_object(ValueError("b"), found)
    with pytest.raises(pickle.UnpicklingError, match=r"ValueError"):
        dist.all_gather_object(found, ValueError("b"), weights_only=True)


@pytest.mark.usefixtures("world")
def test_refusals() -> None:
    with pytest.raises(RuntimeError, match=r"expected length 1, got 2"):
        dist.all_gather([X.clone(), X.clone()], X)
    with pytest.raises(
        RuntimeError, match=r"Gloo::\w+: invalid tensor size at index 0 \(expected \(2\), got"
    ):
        dist.all_gather([torch.zeros(3)], X)
    with pytest.raises(RuntimeError, match="ProcessGroupGloo::broadcast: invalid root rank: 1"):
        dist.broadcast(X, 1)
    with pytest.raises(ValueError, match="Invalid destination rank"):
        dist.send(X, 0)
    with pytest.raises(TypeError, match=r"parameter `tensor` of type torch\.Tensor"):
        dist.all_reduce([1, 2])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="less or equal to the world size"):
        dist.new_group([0, 1])
    with pytest.raises(ValueError, match=r"must not contain duplicate entries, got \[0, 0\]"):
        dist.new_group([0, 0])
    with pytest.raises(RuntimeError, match="BAND with non-integral dtype"):
        dist.all_reduce(X, op=dist.ReduceOp.BAND)
    with pytest.raises(ValueError, match="MAX on complex tensors"):
        dist.all_reduce(X * 1j, op=dist.ReduceOp.MAX)


@pytest.mark.usefixtures("world")
def test_groups_and_meshes() -> None:
    group = dist.new_group([0])
    assert dist.get_world_size(group) == 1
    assert dist.get_process_group_ranks(group) == [0]
    assert dist.get_global_rank(group, 0) == 0
    mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
    assert (mesh.ndim, mesh.size(), mesh["data"].ndim) == (2, 1, 1)
    with pytest.raises(RuntimeError, match="bigger than default world size 1"):
        dist.init_device_mesh("cpu", (2,))
    assert mesh.get_coordinate() == (0, 0)
    made = dist.DeviceMesh.from_group(group, "cpu", mesh_dim_names=("data",))
    assert made["data"].get_group() is group
    both = dist.DeviceMesh.from_group([group, group], "cpu", [[0]], mesh_dim_names=("a", "b"))
    assert both.shape == (1, 1)
    with pytest.raises(ValueError, match="Must pass mesh if passing multiple"):
        dist.DeviceMesh.from_group([group, group], "cpu")
    with pytest.raises(KeyError, match="Invalid mesh_dim_name"):
        mesh["pipe"]


@pytest.mark.usefixtures("world")
def test_data_parallel_module() -> None:
    inner = torch.nn.Linear(2, 1)
    model = torch.nn.parallel.DistributedDataParallel(inner)
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    with model.no_sync():
        model(X).sum().backward()
    assert inner.weight.grad is not None
    assert inner.weight.grad.flatten().equal(X)
    with pytest.raises(RuntimeError, match="is not needed"):
        torch.nn.parallel.DistributedDataParallel(torch.nn.ReLU())


@pytest.mark.usefixtures("world")
def test_inside_a_compiled_step() -> None:
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.jit
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        return total

    first = step(X).item()
    for _ in range(3):
        last = step(X).item()
    assert last < first
    assert step.compiles == 1


def test_collectives_with_gradients_in_a_world_of_one(world):
    x = torch.ones(2, requires_grad=True)
    (gathered,) = dist.nn.functional.all_gather(x)
    (gathered * 3 + dist.nn.functional.all_reduce(x)).sum().backward()
    assert x.grad.tolist() == [4, 4]
    assert gathered is not x


def test_recorded_errors(tmp_path, monkeypatch):
    @record
    def main(value):
        if value is None:
            raise ValueError("none given")
        return value

    path = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))
    assert main(3) == 3
    assert not path.exists()
    with pytest.raises(ValueError, match="none given"):
        main(None)
    assert json.loads(path.read_text())["message"]["message"] == "ValueError: none given"


def test_groups_and_stores_of_one_process():
    dist.init_process_group("gloo", init_method="tcp://localhost:1", rank=0, world_size=1)
    try:
        own, groups = dist.new_subgroups(1)
        assert own.size() == 1
        assert len(groups) == 1
        assert dist.get_pg_count() == 2
        with pytest.raises(ValueError, match="exceed"):
            dist.new_subgroups(2)
        with pytest.raises(ValueError, match="isend"):
            dist.P2POp(dist.send if dist.send is not dist.isend else len, torch.ones(1), 0)
        with pytest.raises(IndexError, match="no P2POp"):
            dist.batch_isend_irecv([])
    finally:
        dist.destroy_process_group()
    assert dist.Backend("GLOO") == dist.Backend.GLOO
    soon = datetime.timedelta(milliseconds=20)
    with pytest.raises(dist.DistNetworkError, match=r"timed out after 20ms.*rank 0 running"):
        dist.TCPStore("localhost", 1, 2, False, soon)
    store = dist.HashStore()
    store.set_timeout(soon)
    with pytest.raises(dist.DistStoreError, match="zz"):
        store.get("zz")
    assert dist.get_debug_level() is dist.DebugLevel.OFF
