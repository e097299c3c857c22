"""Writes of DTensors into ordinary tensors, on eight devices of one process: PyTorch's errors for
DTensors that were asked for; what a program has put on the mesh is written."""

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.distributed.device_mesh import init_device_mesh
from torchlike.distributed.fsdp import fully_shard
from torchlike.distributed.tensor import DTensor, Shard, distribute_tensor
from torchlike.distributed.tensor.experimental import implicit_replication

LINE = init_device_mesh("cpu", (8,))
W = torch.arange(16.0).reshape(8, 2)
D = distribute_tensor(W, LINE, [Shard(0)])
WRITES = {
    "copy_": lambda t, d: t.copy_(d),
    "add_": lambda t, d: t.add_(d),
    "mul_": lambda t, d: t.mul_(d),
    "lerp_": lambda t, d: t.lerp_(d, 0.5),
    "all of it": lambda t, d: t.__setitem__(slice(None), d),
    "a row": lambda t, d: t.__setitem__(3, d[3]),
    "a view": lambda t, d: t.view(-1).view(8, 2).add_(d),
    "rows": lambda t, d: t.__setitem__(torch.arange(8), d),
    "many": lambda t, d: torch._foreach_add_([t, t.clone()], [d, d]),
}


def plain():
    return torch.ones(8, 2)


def mixed(op=""):
    return pytest.raises(RuntimeError, match=f"{op}.*got mixed torch.Tensor and DTensor")


@pytest.mark.parametrize("way", [lambda f: f, torch.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", WRITES)
def test_dtensors_are_refused(name, way):
    t = plain()
    with mixed():
        way(WRITES[name])(t, D)
    assert not isinstance(t, DTensor)
    assert t.equal(plain())


def test_in_pytorchs_words():
    for op, name in {"aten.copy_.default": "copy_", "aten.add_.Tensor": "add_"}.items():
        with mixed(op):
            WRITES[name](plain(), D)


@pytest.mark.parametrize("name", WRITES)
def test_results_are_written_and_plain_tensors_stay_plain(name):
    """Across processes they are refused as well: here nobody knows whose results they are."""
    t, expected = plain(), plain()
    WRITES[name](t, D * 1)
    WRITES[name](expected, W)
    assert not isinstance(t, DTensor)
    assert len(t.jax().sharding.device_set) == 1
    assert torch.allclose(t, expected)


def test_recorded_writes():
    d = D.detach().requires_grad_() * 2
    t = plain()
    t.copy_(d)
    assert t.requires_grad
    assert not isinstance(t, DTensor)
    (t * W).sum().backward()
    with mixed("aten.copy_.default"):
        plain().copy_(D.detach().requires_grad_())


def test_one_element_takes_the_value():
    one = distribute_tensor(torch.tensor(3.0), LINE)
    for target in (torch.tensor(1.0), torch.ones(1)):
        target.add_(one)
        assert not isinstance(target, DTensor)
        assert target.tolist() in (4.0, [4.0])
        target.copy_(one)
        assert target.item() == 3


def test_what_is_allowed():
    with implicit_replication():
        t = plain().add_(D)
    assert t.equal(W + 1)
    assert not isinstance(t, DTensor)
    d = distribute_tensor(W, LINE, [Shard(0)])
    d.add_(plain()).add_(D)  # beside a DTensor plain tensors count as replicated
    assert d.placements == (Shard(0),)


def test_state_dicts():
    model = nn.Linear(2, 8)
    cut = nn.Linear(2, 8)
    for name, p in [*cut.named_parameters()]:
        cut.register_parameter(name, nn.Parameter(distribute_tensor(p.detach(), LINE, [Shard(0)])))
    before = [p.tolist() for p in model.parameters()]
    with pytest.raises(RuntimeError, match=r"(?s)loading state_dict for Linear.*got mixed torch"):
        model.load_state_dict(cut.state_dict())
    assert [p.tolist() for p in model.parameters()] == before
    assert not any(isinstance(p, DTensor) for p in model.parameters())
    model.load_state_dict(cut.state_dict(), assign=True)
    assert isinstance(model.weight, DTensor)


# -- programs --------------------------------------------------------------------------------------


def test_out_in_programs():
    @torch.jit
    def into(a, b, out):
        torch.add(a, b, out=out)
        return out * 2

    t = plain()
    with mixed("aten.add.out"):
        into(D, D, t)
    with pytest.raises(ValueError, match="find device mesh"):
        into(W, W, distribute_tensor(W, LINE, [Shard(0)]))
    assert t.equal(plain())
    assert into(W, W, t).equal(4 * W)  # the same function of ordinary tensors


def test_plain_tensors_made_in_programs():
    def filled(d):
        return torch.zeros(8, 2).copy_(d)

    with mixed("aten.copy_.default"):
        torch.jit(filled)(D)
    with mixed("aten.copy_.default"):
        filled(D)


def test_what_a_program_writes_stays_plain():
    t, total = plain(), torch.zeros(())
    scale = torch.tensor(2.0)

    @torch.jit
    def step(d, plain_too):
        t.add_(d * 2)
        total.add_(d.sum())
        plain_too.mul_(scale)
        return d + 1

    other = plain()
    for turn in range(3):
        step(D, other)
        for x in (t, total, other):
            assert not isinstance(x, DTensor)
        assert t.equal(1 + 2 * (turn + 1) * W)
        assert other.equal(plain() * 2 ** (turn + 1))
        assert total.item() == (turn + 1) * W.sum().item()
    assert step.compiles == 1


def test_arguments_that_a_program_wrote_stay_plain():
    @torch.jit
    def step(t, d):
        assert not isinstance(t, DTensor)
        t.add_(d * 2)

    t = plain()
    for turn in range(4):
        step(t, D)
        assert t.equal(1 + 2 * (turn + 1) * W)
    assert step.compiles == 1
    with mixed("aten.copy_.default"):
        t.copy_(D)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_optimizers_leave_plain_parameters_plain(kind):
    p, expected = nn.Parameter(plain()), nn.Parameter(plain())
    cut = nn.Parameter(distribute_tensor(W, LINE, [Shard(0)]))
    optimizer, other = kind([p, cut], lr=0.1), kind([expected], lr=0.1)
    for _ in range(2):
        for o, leaf, factor in ((optimizer, p, D + cut * 0), (other, expected, W)):
            o.zero_grad()
            (leaf * factor).sum().backward()
            o.step()
    assert not isinstance(p, DTensor)
    assert not any(isinstance(s, DTensor) for s in optimizer.state[p].values())
    assert isinstance(cut, DTensor)
    assert torch.allclose(p, expected)


def test_a_fully_sharded_modules_buffers_stay_plain():
    torch.manual_seed(0)
    expected = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8))
    torch.manual_seed(0)
    model = fully_shard(nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8)), mesh=LINE)
    losses, own = torch.zeros(3), torch.zeros(3)
    for i in range(3):
        losses[i] = expected(W).pow(2).sum().detach()
        own[i] = model(W).pow(2).sum().detach()
    assert torch.allclose(losses, own, rtol=1e-5)
    assert not isinstance(own, DTensor)
    for a, b in zip(model.buffers(), expected.buffers(), strict=True):
        assert not isinstance(a, DTensor)
        assert torch.allclose(a.float(), b.float(), rtol=1e-5)
