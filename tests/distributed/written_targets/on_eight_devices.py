"""Writes of DTensors into ordinary tensors, on eight devices of one process: PyTorch's errors for
DTensors and results of them; where activations may lie on the mesh, results are written."""

import copy
import functools

import pytest

import torchlike as torch
from torchlike import nn
from torchlike.distributed.device_mesh import init_device_mesh
from torchlike.distributed.fsdp import fully_shard
from torchlike.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torchlike.distributed.tensor.experimental import implicit_replication

#: Meshes of these names are of this file alone: on one there are activations.
LINE = init_device_mesh("cpu", (8,), mesh_dim_names=("written",))
LENT = init_device_mesh("cpu", (8,), mesh_dim_names=("lent",))
fully_shard(nn.Linear(8, 8), mesh=LENT)
W = torch.arange(16.0).reshape(8, 2)
D = distribute_tensor(W, LINE, [Shard(0)])
ACTIVATION = distribute_tensor(W, LENT, [Shard(0)])
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
OTHER_WRITES = {
    "addcmul_": lambda t, d: t.addcmul_(d, torch.ones(8, 2)),
    "addmm_": lambda t, d: t.addmm_(d, torch.eye(2)),
    "clamp_": lambda t, d: t.clamp_(min=d),
    "masked_scatter_": lambda t, d: t.masked_scatter_(torch.ones(8, 2, dtype=torch.bool), d),
    "index_add_": lambda t, d: t.index_add_(0, torch.arange(8), d),
    "index_copy_": lambda t, d: t.index_copy_(0, torch.arange(8), d),
    "scatter_": lambda t, d: t.scatter_(0, torch.zeros(8, 2, dtype=torch.int64), d),
    "where": lambda t, d: t.__setitem__(torch.ones(8, dtype=torch.bool), d),
    "copies": lambda t, d: torch._foreach_copy_([t], [d]),
    "add, out": lambda t, d: torch.add(d, 1, out=t),
    "cat, out": lambda t, d: torch.cat([d], out=t),
    "mm, out": lambda t, d: torch.mm(d, torch.eye(2), out=t),
}
#: What comes of a DTensor.
RESULTS = {
    "itself": lambda d: d,
    "a product": lambda d: d * 1,
    "a view of one": lambda d: (d * 1).view(8, 2),
    "detached": lambda d: (d * 1).detach(),
    "a sum over rows": lambda d: torch.ones(8, 8) @ d,
    "laid out anew": lambda d: d.redistribute(placements=[Replicate()]) * 1,
}


def plain():
    return torch.ones(8, 2)


def mixed(op=""):
    return pytest.raises(RuntimeError, match=f"{op}.*got mixed torch.Tensor and DTensor")


@pytest.mark.parametrize("name", {**WRITES, **OTHER_WRITES})
def test_dtensors_are_refused(name):
    write = {**WRITES, **OTHER_WRITES}[name]
    for made in RESULTS.values():
        t = plain()
        with mixed():
            write(t, made(D))
        assert not isinstance(t, DTensor)
        assert t.equal(plain())


@pytest.mark.parametrize(
    "name", [*WRITES, *(pytest.param(name, marks=pytest.mark.full) for name in OTHER_WRITES)]
)
def test_dtensors_are_refused_in_programs(name):
    write = {**WRITES, **OTHER_WRITES}[name]
    if name == "where":  # there by a mask whose ones are not counted
        write = lambda t, d: t.copy_(torch.where(torch.ones(8, 1, dtype=torch.bool), d, t))  # noqa: E731
    for made in (RESULTS["itself"], RESULTS["a sum over rows"]):
        t = plain()
        with mixed():
            torch.jit(lambda t, d, made=made: write(t, made(d)))(t, D)
        assert not isinstance(t, DTensor)
        assert t.equal(plain())


@pytest.mark.parametrize("way", [lambda f: f, torch.jit], ids=["eager", "jit"])
def test_what_to_local_gives_is_ordinary(way):
    name = "local" if way is torch.jit else "local, eager"
    mesh = init_device_mesh("cpu", (8,), mesh_dim_names=(name,))
    d = distribute_tensor(W, mesh, [Shard(0)])
    with mixed():
        plain().copy_(d * 1)
    t = plain()

    def write(t, d):
        t.copy_(d.to_local())
        t.add_(d.to_local()[0] * 2)

    way(write)(t, d)
    assert t.equal(W + 2 * W[0])
    assert not isinstance(t, DTensor)
    part = d.to_local()
    assert not isinstance(part, DTensor)
    with mixed("aten.copy_.default"):
        part.copy_(d)
    part.mul_(2)
    assert d.equal(2 * W)
    assert d.placements == (Shard(0),)


def test_in_pytorchs_words():
    for op, name in {"aten.copy_.default": "copy_", "aten.add_.Tensor": "add_"}.items():
        with mixed(op):
            WRITES[name](plain(), D)


@pytest.mark.parametrize("name", WRITES)
def test_results_are_written_and_plain_tensors_stay_plain(name):
    """Where a fully sharded module's may lie on the mesh, nobody knows whose results they are."""
    t, expected = plain(), plain()
    WRITES[name](t, ACTIVATION * 1)
    WRITES[name](expected, W)
    assert not isinstance(t, DTensor)
    assert len(t.jax().sharding.device_set) == 1
    assert torch.allclose(t, expected)


def test_recorded_writes():
    d = ACTIVATION.detach().requires_grad_() * 2
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
        step(ACTIVATION, other)
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
        step(t, ACTIVATION)
        assert t.equal(1 + 2 * (turn + 1) * W)
    assert step.compiles == 1
    with mixed("aten.copy_.default"):
        t.copy_(D)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_optimizers_leave_plain_parameters_plain(kind):
    # On a mesh of its own: once the optimizer's program has written p from it, nobody knows any
    # more what lies there.
    mesh = init_device_mesh("cpu", (8,), mesh_dim_names=(f"optimized by {kind.__name__}",))
    d = distribute_tensor(W, mesh, [Shard(0)])
    p, expected = nn.Parameter(plain()), nn.Parameter(plain())
    cut = nn.Parameter(distribute_tensor(W, mesh, [Shard(0)]))
    optimizer, other = kind([p, cut], lr=0.1), kind([expected], lr=0.1)
    for _ in range(2):
        for o, leaf, factor in ((optimizer, p, d + cut * 0), (other, expected, W)):
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
    model = fully_shard(nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8)), mesh=LENT)
    losses, own = torch.zeros(3), torch.zeros(3)
    for i in range(3):
        losses[i] = expected(W).pow(2).sum().detach()
        own[i] = model(W).pow(2).sum().detach()
    assert torch.allclose(losses, own, rtol=1e-5)
    assert not isinstance(own, DTensor)
    for a, b in zip(model.buffers(), expected.buffers(), strict=True):
        assert not isinstance(a, DTensor)
        assert torch.allclose(a.float(), b.float(), rtol=1e-5)


# -- gradients -------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [lambda f: f, torch.jit], ids=["eager", "jit"])
def test_gradients_of_plain_parameters_are_plain(way):
    """Of a model of which a part is sharded: the rest has ordinary gradients, also added up."""
    torch.manual_seed(0)
    whole = nn.Sequential(nn.Linear(2, 8), nn.Linear(8, 8), nn.Linear(8, 1))
    cut = copy.deepcopy(whole)
    fully_shard(cut[1], mesh=LENT)

    def step(model, x):
        for _ in range(2):
            model(x).pow(2).mean().backward()
        return x * 2

    found = [way(functools.partial(step, model))(W) for model in (whole, cut)]
    assert not isinstance(found[1], DTensor)
    assert torch.equal(*found)
    for (name, p), q in zip(cut.named_parameters(), whole.parameters(), strict=True):
        assert torch.allclose(p.grad, q.grad, rtol=1e-5, atol=1e-6), name
        assert isinstance(p.grad, DTensor) is name.startswith("1.")
        assert isinstance(p.grad * 2, DTensor) is name.startswith("1.")


def test_results_of_plain_tensors_in_programs_are_plain():
    @torch.jit
    def step(d, x):
        return d * 2, x * 2

    mesh = init_device_mesh("cpu", (8,), mesh_dim_names=("results",))
    d = distribute_tensor(W, mesh, [Shard(0)])
    for _ in range(2):
        doubled, own = step(d, plain())
        assert isinstance(doubled, DTensor)
        assert not isinstance(own, DTensor)
        assert plain().copy_(own).equal(2 * plain())
        with mixed():
            plain().copy_(doubled)
    assert step.compiles == 1
