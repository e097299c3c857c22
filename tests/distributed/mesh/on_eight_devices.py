"""Meshes of eight devices of one process."""

import pickle

import pytest

import torchlike as torch
from torchlike import distributed as dist
from torchlike.distributed.device_mesh import DeviceMesh, init_device_mesh
from torchlike.distributed.tensor import Shard, distribute_tensor


@pytest.fixture(scope="module")
def mesh():
    return init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))


def test_a_world_of_one_process_begins(mesh):
    assert (dist.get_world_size(), dist.get_rank(), mesh.get_rank()) == (1, 0, 0)


def test_shapes_and_slices(mesh):
    assert (mesh.ndim, mesh.shape, mesh.size(), mesh.size(1)) == (2, (2, 4), 8, 4)
    assert mesh["tp"].mesh.tolist() == [0, 1, 2, 3]
    assert mesh["dp"].mesh.tolist() == [0, 4]
    assert mesh["dp", "tp"] is mesh
    with pytest.raises(KeyError, match="in ascending order"):
        mesh["tp", "dp"]
    assert mesh["tp"] == mesh["tp"]
    assert len({mesh["tp"], mesh["tp"], mesh["dp"]}) == 2
    assert repr(mesh) == "DeviceMesh((dp=2, tp=4), 'cpu', stride=(4, 1))"
    assert repr(mesh["dp"]) == "DeviceMesh((dp=2), 'cpu', stride=(4,))"


def test_coordinates_and_groups_are_those_of_the_process(mesh):
    assert mesh.get_coordinate() == (0, 0)
    assert mesh["tp"].get_local_rank() == mesh.get_local_rank("dp") == 0
    assert mesh["tp"].get_group().size() == 1
    assert [g.size() for g in mesh.get_all_groups()] == [1, 1]
    with pytest.raises(RuntimeError, match="Optional kwarg `mesh_dim` needs to be specified"):
        mesh.get_group()
    with pytest.raises(RuntimeError, match="Optional kwarg `mesh_dim` needs to be specified"):
        mesh.get_local_rank()


def test_flattened():
    mesh = init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("a", "b", "c"))
    flat = mesh["a", "b"]._flatten("ab")
    assert (flat.shape, flat.mesh.tolist()) == ((4,), [0, 2, 4, 6])
    assert mesh["ab"] == flat
    assert mesh["ab", "c"].shape == (4, 2)


def test_pickled(mesh):
    for m in (mesh, mesh["tp"]):
        assert pickle.loads(pickle.dumps(m)) == m


def test_as_a_context(mesh):
    with mesh:
        assert dist.tensor.zeros(4).device_mesh is mesh
    with pytest.raises(RuntimeError, match="No device mesh is currently active"):
        dist.tensor.zeros(4)


def test_some_of_the_devices():
    mesh = DeviceMesh("cpu", [6, 3])
    assert [d.id for d in mesh.jax_mesh.devices] == [6, 3]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: init_device_mesh("cpu", (4, 4)), RuntimeError, "world size 8, but found 16 ranks"),
        (lambda: DeviceMesh("cpu", [0, 8]), RuntimeError, "world size 8, but found 9 ranks"),
        (lambda: DeviceMesh("cpu", [0, 0]), RuntimeError, "each rank once"),
        (lambda: DeviceMesh("cpu", [0.5]), TypeError, "integers"),
        (
            lambda: init_device_mesh("cpu", (8,), mesh_dim_names=("a", "b")),
            RuntimeError,
            "same len",
        ),
        (
            lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "a")),
            RuntimeError,
            "unique",
        ),
        (lambda: init_device_mesh("cpu:0", (2,)), RuntimeError, "Device type with index"),
        (lambda: init_device_mesh("cuda", (2,)), RuntimeError, "No CUDA device"),
        (lambda: init_device_mesh("cpu", (0,)), RuntimeError, "positive"),
        (lambda: init_device_mesh("cpu", (8,))["a"], RuntimeError, "without mesh_dim_names"),
    ],
)
def test_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_a_name_that_is_not_there(mesh):
    with pytest.raises(KeyError, match="Invalid mesh_dim_name"):
        mesh["pp"]
    with pytest.raises(KeyError, match="does not exist"):
        mesh.get_group("pp")


def test_one_tensor_of_ranks():
    assert DeviceMesh("cpu", torch.arange(8).reshape(4, 2)).shape == (4, 2)


def test_more_programs_than_a_device_takes_at_once(mesh):
    """With as many threads as devices, XLA ended the process after 40 s: each held one that a
    collective needed (xla_flags.py)."""
    line = init_device_mesh("cpu", (8,))
    x = distribute_tensor(torch.ones(64, 64), line, [Shard(0)])
    for _ in range(3):
        totals = [torch.tanh(x @ x.t()).sum() for _ in range(200)]  # nobody waits for them
        assert {t.item() for t in totals} == {64.0 * 64}
