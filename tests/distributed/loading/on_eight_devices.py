"""A loader's batches on eight devices of one process."""

import pytest

import torchlike as torch
from torchlike.distributed import ShardedLoader
from torchlike.distributed.device_mesh import init_device_mesh
from torchlike.distributed.tensor import DTensor, Replicate, Shard
from torchlike.utils.data import DataLoader, TensorDataset

LINE = init_device_mesh("cpu", (8,))
MESH = init_device_mesh("cpu", (4, 2), mesh_dim_names=("dp", "tp"))
X, Y = torch.arange(48.0).reshape(24, 2), torch.arange(24)


def rows(t):
    return [s.data.shape[0] for s in t.jax().addressable_shards]


def test_rows_are_cut_over_the_devices():
    loader = ShardedLoader(DataLoader(TensorDataset(X, Y), batch_size=8), LINE)
    assert len(loader) == 3
    for _ in range(2):  # each loop is an epoch
        batches = list(loader)
        assert [type(b) for b in batches] == [list] * 3
        for i, (x, y) in enumerate(batches):
            assert isinstance(x, DTensor)
            assert x.placements == y.placements == (Shard(0),)
            assert rows(x) == rows(y) == [1] * 8
            assert x.full_tensor().equal(X[8 * i : 8 * i + 8])
            assert y.full_tensor().equal(Y[8 * i : 8 * i + 8])


def test_on_a_mesh_of_two_dimensions_rows_are_cut_along_the_first():
    (x,) = next(iter(ShardedLoader(DataLoader(TensorDataset(X), batch_size=8), MESH)))
    assert x.placements == (Shard(0), Replicate())
    assert rows(x) == [2] * 8
    loader = DataLoader(TensorDataset(X), batch_size=8)
    (x,) = next(iter(ShardedLoader(loader, MESH, [Shard(0), Shard(1)])))
    assert {s.data.shape for s in x.jax().addressable_shards} == {(2, 1)}


def test_only_tensors_with_rows_are_placed():
    given = [{"x": X[:8], "names": ["a"] * 8, "scale": torch.tensor(2.0), "more": (Y[:8], 3)}]
    (found,) = ShardedLoader(given, LINE)
    assert isinstance(found["x"], DTensor)
    assert isinstance(found["more"][0], DTensor)
    assert found["names"] == ["a"] * 8
    assert found["more"][1] == 3
    assert not isinstance(found["scale"], DTensor)


@pytest.mark.parametrize("prefetch", [0, 1, 3])
def test_batches_are_placed_ahead(prefetch):
    asked = []

    def loader():
        for i in range(5):
            asked.append(i)
            yield torch.full((8,), float(i))

    for i, x in enumerate(ShardedLoader(loader(), LINE, prefetch=prefetch)):
        assert asked == list(range(min(i + prefetch, 4) + 1))
        assert x.full_tensor().tolist() == [float(i)] * 8


def test_rows_that_do_not_divide():
    batches = iter(ShardedLoader(DataLoader(TensorDataset(X[:10]), batch_size=8), LINE, prefetch=0))
    next(batches)
    with pytest.raises(ValueError, match="cannot be cut into 8 equal parts") as found:
        next(batches)
    assert "drop_last=True" in found.value.__notes__[0]
    with pytest.raises(ValueError, match="prefetch=-1"):
        ShardedLoader([], LINE, prefetch=-1)


def test_a_compiled_step_takes_them_as_one_program():
    model = torch.nn.Linear(2, 3)

    @torch.jit
    def step(x):
        model.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss.detach()

    loader = ShardedLoader(DataLoader(TensorDataset(X), batch_size=8), LINE)
    losses = [step(x) for (x,) in loader]
    assert step.compiles == 1
    whole = [model(X[8 * i : 8 * i + 8]).square().mean() for i in range(3)]
    for own, one in zip(losses, whole, strict=True):
        torch.testing.assert_close(own.full_tensor(), one.detach(), rtol=1e-5, atol=1e-6)
