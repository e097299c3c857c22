"""``local_map`` and ``register_sharding`` on eight devices of one process, which holds all."""

import pytest

import torchlike as torch
from torchlike.distributed.device_mesh import init_device_mesh
from torchlike.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torchlike.distributed.tensor.experimental import local_map, register_sharding

LINE = init_device_mesh("cpu", (8,))
MESH = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
ROWS, COLUMNS = [Shard(0)], [Shard(1)]
X, Y = torch.arange(64.0).reshape(8, 8) / 8, torch.arange(64.0).reshape(8, 8).flip(1)


def test_local_map():
    x = distribute_tensor(X, LINE, COLUMNS).requires_grad_()
    y = distribute_tensor(Y, LINE, ROWS)
    product = local_map(torch.mm, out_placements=[Partial()], in_placements=(COLUMNS, ROWS))
    found = product(x, y)
    assert found.placements == (Replicate(),)
    assert torch.allclose(found, X @ Y)
    (found.full_tensor() * Y).sum().backward()
    assert torch.allclose(x.grad, Y @ Y.t())
    assert not isinstance(product(X, Y), DTensor)


def test_local_map_of_several_results():
    @local_map(
        out_placements=(ROWS, None, [Replicate()]),
        redistribute_inputs=True,
        in_placements=(ROWS, None),
    )
    def scaled(t, factor):
        """Scales."""
        return t * factor, t.shape[0], t.new_ones(2)

    assert scaled.__doc__ == "Scales."
    part, n, ones = scaled(distribute_tensor(X, LINE, COLUMNS), 3)
    assert (part.placements, n, ones.placements) == ((Shard(0),), 8, (Replicate(),))
    assert part.equal(3 * X)


def test_local_map_refuses():
    x = distribute_tensor(X, LINE, COLUMNS)
    wrong = local_map(torch.neg, out_placements=ROWS, in_placements=(ROWS,))
    with pytest.raises(ValueError, match=r"(?s)arg DTensor\(.* has a mismatched placements"):
        wrong(x)
    assert wrong(x * 1).equal(-X)  # how that lies was XLA's choice
    with pytest.raises(AssertionError, match="does not match the number of input args 2"):
        wrong(x, x)
    with pytest.raises(AssertionError, match="received 2 out_placements but 1 is expected"):
        local_map(torch.neg, out_placements=(ROWS, ROWS))(x)
    with pytest.raises(AssertionError, match="Non-tensor output 3 expects None"):
        local_map(lambda t: 3, out_placements=ROWS)(x)
    with pytest.raises(AssertionError, match="expects placements but received None"):
        local_map(torch.neg, out_placements=ROWS, in_placements=(None,))(x)


@torch.library.custom_op("on_eight_devices::scaled", mutates_args=())
def scaled(x: torch.Tensor, w: torch.Tensor, factor: float) -> torch.Tensor:
    return x * w * factor


asked = []


@register_sharding(torch.ops.on_eight_devices.scaled.default)
def _(x, w, factor):
    asked.append((x.shape, x.ndim, x.placements, w.ndim, factor))
    by_rows = [[Shard(0)], [Shard(0), Replicate(), None]]
    return [[[Replicate()], [Replicate(), Replicate(), None]], by_rows]


def test_an_operators_rule_is_asked():
    w = torch.arange(8.0)
    for call in (scaled, torch.ops.on_eight_devices.scaled):
        cut = call(distribute_tensor(X, LINE, ROWS), w, 2.0)
        assert cut.placements == (Shard(0),)
        assert cut.equal(X * w * 2)
        assert asked[-1] == ((8, 8), 2, (Shard(0),), 1, 2.0)
    # To cut by columns is not among the rule's: gathering by rows moves as much, and comes first.
    assert call(distribute_tensor(X, MESH, [Shard(0), Replicate()]), w, 2.0).placements == (
        Shard(0),
        Replicate(),
    )
    n = len(asked)
    assert not isinstance(scaled(X, w, 2.0), DTensor)
    assert len(asked) == n


def test_what_is_no_rule():
    with pytest.raises(TypeError, match="expects an overload"):
        register_sharding(torch.mm)
    with pytest.warns(UserWarning, match="asked where the overload is called"):
        register_sharding(torch.ops.aten.logaddexp.default)(
            lambda x, y: [([Shard(0)], [Shard(0), Shard(0)])]
        )
    x = distribute_tensor(X[:2], LINE, [Replicate()])
    with pytest.raises(ValueError, match=r"cuts tensors of the sizes \[\[2, 8\], \[2, 8\]\]"):
        torch.ops.aten.logaddexp.default(x, x)
    y = distribute_tensor(X, LINE, [Replicate()])
    found = torch.ops.aten.logaddexp.default(y, y)
    assert found.placements == (Shard(0),)
    assert torch.allclose(found, torch.logaddexp(X, X))
