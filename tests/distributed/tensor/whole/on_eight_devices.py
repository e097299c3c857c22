"""``full_tensor()`` on eight devices of one process: an ordinary tensor, with a gradient."""

import pytest

import torchlike as torch
from torchlike.distributed.device_mesh import init_device_mesh
from torchlike.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

LINE = init_device_mesh("cpu", (8,))
MESH = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
W = torch.arange(32.0).reshape(8, 4) / 8
PLAIN = torch.arange(32.0).reshape(8, 4).flip(0)


ROWS = (Shard(0),)


def leaf(placements=ROWS, mesh=LINE):
    return distribute_tensor(W, mesh, placements).requires_grad_()


@pytest.mark.parametrize("given", [None, [Replicate()], [Partial()]])
@pytest.mark.parametrize("placement", [Shard(0), Replicate()])
def test_what_is_found_of_results_is_ordinary(placement, given):
    d = leaf([placement])
    for t in (d, d * 2, (d * 2)[1:3], d.t()):
        whole = t.full_tensor(grad_placements=given)
        assert not isinstance(whole, DTensor)
        assert whole.requires_grad
        assert len(whole.jax().sharding.device_set) == 1
        assert whole.equal(t)
    ((d * 2).full_tensor(grad_placements=given) * PLAIN).sum().backward()
    assert d.grad.placements == (placement,)
    assert d.grad.equal(2 * PLAIN)


def test_on_a_slice_of_a_mesh():
    d = leaf([Shard(1)], MESH["tp"])
    (d.full_tensor(grad_placements=[Partial()]) * PLAIN).sum().backward()
    assert d.grad.equal(PLAIN)


def test_gradients_of_gradients():
    d = leaf()
    (g,) = torch.autograd.grad((d.full_tensor() ** 3 * PLAIN).sum(), d, create_graph=True)
    assert isinstance(g, DTensor)
    assert torch.allclose(g, 3 * W**2 * PLAIN)
    (g.full_tensor() * PLAIN).sum().backward()
    assert torch.allclose(d.grad, 6 * W * PLAIN**2)


def test_transforms():
    d = leaf()
    found = torch.func.grad(lambda t: (t.full_tensor() ** 2).sum())(d.detach())
    assert torch.allclose(found, 2 * W)


def test_refused():
    d = leaf()
    with pytest.raises(NotImplementedError, match=r"whole in each process\. Use Replicate"):
        d.full_tensor(grad_placements=[Shard(0)])
    with pytest.raises(ValueError, match="placements length: 2"):
        d.full_tensor(grad_placements=[Replicate(), Replicate()])


# -- programs --------------------------------------------------------------------------------------


def test_in_a_program():
    @torch.jit
    def f(d, plain):
        whole = d.full_tensor()
        assert not isinstance(whole, DTensor)
        return whole, (whole * plain).sum()

    d = leaf()
    for turn in range(3):
        whole, loss = f(d, PLAIN)
        assert not isinstance(whole, DTensor)
        assert len(whole.jax().sharding.device_set) == 1
        assert whole.equal(W)
        d.grad = None
        (loss + (whole * whole).sum()).backward()
        assert torch.allclose(d.grad, PLAIN + 2 * W), turn
    assert f.compiles == 1


def test_of_results_in_a_program():
    @torch.jit
    def f(d, plain):
        assert not hasattr(plain * 2, "full_tensor")
        assert not hasattr((d * 2).full_tensor(), "full_tensor")
        moved = (d * 2).redistribute(placements=[Shard(1)] if d.shape[1] % 8 == 0 else [Shard(0)])
        return (d * 2).full_tensor(), d[1:3].full_tensor(), (d.sum() * d).full_tensor(), moved

    for _ in range(2):
        *found, moved = f(leaf().detach(), PLAIN)
        for whole, expected in zip(found, (2 * W, W[1:3], W.sum() * W), strict=True):
            assert not isinstance(whole, DTensor)
            assert torch.allclose(whole, expected)
        assert moved.placements == (Shard(0),)


def test_in_a_program_of_a_whole_step():
    d, total = leaf(), torch.zeros(8, 4)

    @torch.jit
    def step(plain):
        d.grad = None
        loss = ((d.full_tensor() - plain) ** 2).sum()
        loss.backward()
        total.add_(d.detach().full_tensor())
        return loss.detach()

    for turn in range(3):
        step(PLAIN)
        assert d.grad.placements == (Shard(0),)
        assert torch.allclose(d.grad, 2 * (W - PLAIN))
        assert not isinstance(total, DTensor)
        assert torch.allclose(total, (turn + 1) * W)
    assert step.compiles == 1
