"""DTensors and tensor-parallel styles on eight devices of one process."""

import copy
import pickle
import re

import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike import nn
from torchlike.distributed import tensor as dt
from torchlike.distributed.device_mesh import init_device_mesh
from torchlike.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_module,
    distribute_tensor,
)
from torchlike.distributed.tensor import parallel as tp
from torchlike.distributed.tensor._storage import PlacedStorage
from torchlike.distributed.tensor._utils import compute_local_shape_and_global_offset
from torchlike.distributed.tensor.experimental import context_parallel
from torchlike.distributed.tensor.experimental._attention import context_parallel_unshard
from torchlike.distributed.tensor.placement_types import _StridedShard

MESH = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
LINE = init_device_mesh("cpu", (8,))
ROWS = (Shard(0), Replicate())
W = torch.arange(16.0 * 8).reshape(16, 8) / 64
EVERY = [
    (Replicate(), Replicate()),
    (Shard(0), Replicate()),
    (Replicate(), Shard(1)),
    (Shard(1), Shard(0)),
    (Shard(0), Shard(0)),
    (_StridedShard(0, split_factor=4), Shard(0)),
]


def parts(t):
    return {s.data.shape for s in t.jax().addressable_shards}


# -- what one is -----------------------------------------------------------------------------------


@pytest.mark.parametrize("placements", EVERY, ids=str)
def test_placements_are_read_back(placements):
    d = distribute_tensor(W, MESH, placements)
    assert d.placements == placements
    assert d.device_mesh is MESH
    assert d.full_tensor().equal(W)
    fraction = 1
    for p, n in zip(placements, MESH.shape, strict=True):
        fraction *= 1 if p.is_replicate() else n
    assert {a * b for a, b in parts(d)} == {W.numel() // fraction}


def test_of_which_tensors_it_is_said():
    d = distribute_tensor(W, MESH, ROWS)
    p = nn.Parameter(d)
    for t in (d, p, p.data, d + 1, d.t(), d[:, 0], d.sum(), W * d, torch.zeros(2) + d[0, 0]):
        assert isinstance(t, DTensor)
        assert hasattr(t, "placements")
    for t in (W, W + 1, nn.Parameter(W), d.full_tensor()):
        assert not isinstance(t, DTensor)
        assert not hasattr(t, "placements")
    assert isinstance(p, nn.Parameter)
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'full_tensor'"):
        W.full_tensor()
    with pytest.raises(TypeError, match="distribute_tensor"):
        DTensor(W)


def test_a_slice_of_the_mesh():
    d = distribute_tensor(W, MESH["tp"], [Shard(-1)])
    assert (d.placements, d.device_mesh) == ((Shard(1),), MESH["tp"])
    assert parts(d) == {(16, 2)}
    assert (d + 1).placements == (Replicate(), Shard(1))


def test_redistribute_both_ways_and_its_gradient():
    for before, after in zip(EVERY, (*EVERY[1:], EVERY[0]), strict=True):
        d = distribute_tensor(W, MESH, before).requires_grad_()
        moved = d.redistribute(placements=after)
        assert moved.placements == after
        assert moved.equal(W)
        (moved * W).sum().backward()
        assert d.grad.placements == before
        assert d.grad.equal(W)


def test_from_local_and_to_local_hold_all_that_the_process_holds():
    x = W.clone().requires_grad_()
    d = DTensor.from_local(x, MESH, ROWS)
    assert d.placements == ROWS
    assert d.shape == x.shape
    d.pow(2).sum().backward()
    assert torch.allclose(x.grad, 2 * W)
    assert DTensor.from_local(W, MESH, (Partial(), Shard(0))).placements == (Replicate(), Shard(0))
    with torch.no_grad():
        d.to_local().zero_()
    assert d.count_nonzero() == 0


def test_factories_give_the_numbers_of_one_device():
    for name in ("rand", "randn"):
        torch.manual_seed(3)
        plain = getattr(torch, name)(8, 4)
        torch.manual_seed(3)
        made = getattr(dt, name)(8, 4, device_mesh=MESH, placements=ROWS)
        assert made.equal(plain)
        assert made.placements == ROWS
    assert dt.zeros((8, 4), device_mesh=MESH, placements=ROWS).equal(torch.zeros(8, 4))
    assert dt.ones(8, 4, dtype=torch.int32, device_mesh=MESH).dtype is torch.int32
    assert dt.full((8,), 2.5, device_mesh=LINE, placements=[Shard(0)]).sum() == 20
    assert parts(dt.empty(8, device_mesh=LINE, placements=[Shard(0)])) == {(1,)}


def test_writes_leave_it_where_it_is():
    d = distribute_tensor(W, MESH, ROWS)
    d.copy_(torch.ones(16, 8))
    d.add_(distribute_tensor(W, MESH, (Replicate(), Shard(0))))
    d[2] = 5.0
    d.data = W.half().float()
    assert d.placements == ROWS
    d.data = W.double()
    assert (d.placements, d.dtype) == (ROWS, torch.float64)


def test_an_update_in_place_spares_what_it_was_made_of():
    plain = torch.ones(8, 8)
    plain = plain + torch.randn(8, 8)
    before = torch.tensor(plain.tolist())
    assert plain.jax().devices()  # on the device, not a value of NumPy's
    for placements in EVERY[:3]:
        d = distribute_tensor(plain, MESH, placements)
        d.mul_(2)
        assert plain.equal(before)
        d.mul_(0.5)
        whole = d.full_tensor()
        d.mul_(1)
        assert whole.equal(before)
        same = d.redistribute(placements=(Replicate(), Replicate()))
        for _ in range(3):
            d.mul_(2)
        assert plain.equal(before)
        assert whole.equal(before)
        assert same.equal(before)


def test_copies_pickles_and_prints():
    p = nn.Parameter(distribute_tensor(torch.ones(8), MESH, ROWS))
    copied = copy.deepcopy(p)
    assert copied.placements == ROWS
    assert type(copied._storage) is PlacedStorage
    assert copy.deepcopy(p.data).placements == ROWS
    assert pickle.loads(pickle.dumps(p)).equal(torch.ones(8))
    assert repr(p).startswith("Parameter containing:\nDTensor(local_tensor=tensor([1., 1., 1.")
    assert f"device_mesh={MESH}, placements=(Shard(dim=0), Replicate())" in repr(p)


def test_on_the_meta_device():
    p = nn.Parameter(torch.empty(16, 8, device="meta"))
    d = nn.Parameter(distribute_tensor(p, MESH, ROWS))
    assert d.is_meta
    d.data = torch.empty_like(d, device="cpu")
    assert (d.placements, parts(d)) == (ROWS, {(8, 8)})


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: distribute_tensor(W, MESH, [Shard(0)]), ValueError, "placements length: 1"),
        (lambda: distribute_tensor(W, LINE, [Shard(2)]), IndexError, "of 2 dimensions"),
        (
            lambda: distribute_tensor(W.requires_grad_(False).clone().requires_grad_() * 2, LINE),
            RuntimeError,
            "should be used to distribute leaf tensors",
        ),
        (lambda: distribute_tensor(W, LINE, [Partial()]), NotImplementedError, "Replicate"),
        (lambda: distribute_tensor(distribute_tensor(W, MESH), LINE), ValueError, "different d"),
        (lambda: distribute_tensor(distribute_tensor(W, MESH), MESH, ROWS), ValueError, "redistr"),
        (lambda: distribute_tensor(W, MESH).redistribute(), RuntimeError, "placements is needed"),
        (
            lambda: distribute_tensor(W, LINE).redistribute(placements=[Partial()]),
            RuntimeError,
            "Can not redistribute to",
        ),
        (lambda: DTensor.from_local(distribute_tensor(W, LINE), LINE), RuntimeError, "only acc"),
        (
            lambda: distribute_tensor(W, LINE).add_(distribute_tensor(W, DMESH)),
            RuntimeError,
            "same device",
        ),
    ],
)
def test_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


DMESH = dt.DeviceMesh("cpu", [0, 1])


# -- programs --------------------------------------------------------------------------------------


def test_a_program_is_for_the_places_that_its_code_asked_for():
    @torch.jit
    def f(x):
        return x + 1 if isinstance(x, DTensor) else x - 1

    cut, whole = (distribute_tensor(torch.zeros(8), LINE, [p]) for p in (Shard(0), Replicate()))
    found = [f(x)[0].item() for x in (torch.zeros(8), cut, torch.zeros(8), cut, whole)]
    assert found == [-1, 1, -1, 1, 1]
    assert f.compiles == 3


def test_state_keeps_its_place_where_its_old_value_is_held():
    buffer = distribute_tensor(torch.zeros(8), LINE, [Shard(0)]) + 0
    assert type(buffer._storage) is not PlacedStorage

    @torch.jit
    def count(x):
        buffer.copy_(buffer[0] + x.sum() * torch.ones(8))  # XLA would leave it replicated
        return buffer * 2

    for turn in range(3):
        held = buffer.jax()
        out = count(torch.ones(4))
        assert buffer.placements == out.placements == (Shard(0),)
        assert buffer.equal(torch.full((8,), 4.0 * (turn + 1)))
        assert held[0] == 4 * turn


def test_in_a_program_what_was_redistributed_says_where_it_lies():
    @torch.jit
    def f(x):
        y = x.redistribute(placements=[Replicate()])
        assert y.placements == (Replicate(),)
        with pytest.raises(AttributeError, match="is being captured has no 'placements'"):
            (y + 1).placements  # noqa: B018
        return y * 2

    out = f(distribute_tensor(torch.ones(8), LINE, [Shard(0)]))
    assert out.placements == (Replicate(),)


# -- training --------------------------------------------------------------------------------------

OPTIMIZERS = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: torch.optim.Adam(p, lr=1e-3, eps=1e-3),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=1e-3, eps=1e-3),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=1e-2, eps=1e-3),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_keep_state_where_the_parameter_lies(name):
    x = torch.randn(4, 8)
    plain, cut = nn.Parameter(W.clone()), nn.Parameter(distribute_tensor(W, MESH, EVERY[3]))
    found = []
    for p in (plain, cut):
        optimizer = OPTIMIZERS[name]([p])
        for _ in range(3):
            optimizer.zero_grad()
            (x @ p.t()).tanh().pow(2).mean().backward()
            optimizer.step()
        found.append(optimizer.state[p])
    assert torch.allclose(cut, plain, rtol=1e-5, atol=1e-6)
    assert cut.placements == cut.grad.placements == EVERY[3]
    states = [s for s in found[1].values() if torch.is_tensor(s) and s.shape == cut.shape]
    assert states
    assert all(s.placements == EVERY[3] for s in states)


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (
            w(x).view(b, t, self.heads, -1).transpose(1, 2) for w in (self.wq, self.wk, self.wv)
        )
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(found.transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = Attention(d, 4)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Decoder(nn.Module):
    def __init__(self, d=32, n=1, v=48):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(n))
        self.norm, self.out = nn.LayerNorm(d), nn.Linear(d, v, bias=False)

    def forward(self, x):
        h = self.emb(x)
        for block in self.blocks:
            h = block(h)
        return self.out(self.norm(h))


def parallel_decoder(mesh):
    torch.manual_seed(0)
    net = Decoder()
    tp.parallelize_module(
        net,
        mesh,
        {
            "emb": tp.RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
            "norm": tp.SequenceParallel(),
            "out": tp.ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
            "blocks.*.n[12]": tp.SequenceParallel(),
            "blocks.*.attn": tp.PrepareModuleInput(
                input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)
            ),
            "blocks.*.attn.w[qkv]": tp.ColwiseParallel(),
            "blocks.*.attn.wo": tp.RowwiseParallel(output_layouts=Shard(1)),
            "blocks.*.up": tp.ColwiseParallel(input_layouts=Shard(1)),
            "blocks.*.down": tp.RowwiseParallel(output_layouts=Shard(1)),
        },
    )
    return net


def stepping(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        with tp.loss_parallel():
            loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


@pytest.mark.parametrize("way", [lambda f: f, torch.jit], ids=["eager", "jit"])
def test_tensor_parallel_styles_train_as_one_device_does(way):
    torch.manual_seed(0)
    plain = Decoder()
    cut = parallel_decoder(MESH["tp"])
    first, second = way(stepping(plain)), way(stepping(cut))
    x, y = torch.randint(0, 48, (8, 12)), torch.randint(0, 48, (8, 12))
    for _ in range(3):
        assert torch.allclose(first(x, y), second(x, y), rtol=1e-5)
    own = dict(cut.named_parameters())
    for name, p in plain.named_parameters():
        assert torch.allclose(own[name], p, rtol=1e-4, atol=1e-6), name
    assert own["blocks.0.up.weight"].placements == own["emb.weight"].placements == (Shard(0),)
    assert own["blocks.0.down.weight"].placements == (Shard(1),)
    assert own["norm.weight"].placements == own["blocks.0.down.bias"].placements == (Replicate(),)


def test_activations_are_cut_as_the_styles_say():
    seen = {}
    net = parallel_decoder(MESH["tp"])
    for name in ("blocks.0.up", "blocks.0.attn.wq", "blocks.0.down", "norm"):
        net.get_submodule(name).register_forward_hook(
            lambda m, inputs, out, name=name: seen.update({name: out.placements})
        )
    net(torch.zeros(2, 8, dtype=torch.int64))
    last, sequence = (Replicate(), Shard(2)), (Replicate(), Shard(1))
    assert seen == {
        "blocks.0.up": last,
        "blocks.0.attn.wq": last,
        "blocks.0.down": sequence,
        "norm": sequence,
    }
    net(torch.zeros(2, 7, dtype=torch.int64))  # does not divide: replicated
    assert seen["norm"] == (Replicate(), Replicate())


def test_distribute_module():
    def partition(name, module, mesh):
        if isinstance(module, nn.Linear):
            for key, p in list(module.named_parameters(recurse=False)):
                module.register_parameter(key, nn.Parameter(distribute_tensor(p, mesh, [Shard(0)])))

    net = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8))
    x = torch.randn(16, 8)
    expected = copy.deepcopy(net)(x)
    assert (
        distribute_module(
            net,
            LINE,
            partition,
            lambda m, inputs, mesh: distribute_tensor(inputs[0], mesh, [Shard(0)]),
            lambda m, out, mesh: out.redistribute(mesh, [Replicate()]),
        )
        is net
    )
    out = net(x)
    assert torch.allclose(out, expected, rtol=1e-5, atol=1e-6)
    assert out.placements == (Replicate(),)
    assert net[0].weight.placements == (Shard(0),)
    assert net[1].weight.placements == net[1].running_mean.placements == (Replicate(),)
    with pytest.raises(RuntimeError, match="should only be called once on a module"):
        distribute_module(net, LINE)


@pytest.mark.parametrize("way", ["eager", "jitted"])
def test_attention_of_a_cut_sequence(way):
    """Queries and the result lie in parts, also on a slice of a mesh whose other dimension cuts the
    batch; values and gradients are those of the whole."""
    torch.manual_seed(0)
    whole = torch.randn(2, 3, 16, 4)
    lay = []

    def attended(x):
        out = F.scaled_dot_product_attention(x, x * 2, x + 1, is_causal=True)
        return out, *torch.autograd.grad(out.pow(2).sum(), x)

    run = torch.jit(attended) if way == "jitted" else attended
    expected = attended(whole.clone().requires_grad_())
    for mesh, size in ((LINE, 2), (MESH["tp"], 4)):
        given = whole.clone()
        with context_parallel(mesh, buffers=[given], buffer_seq_dims=[2]):
            assert parts(given) == {(2, 3, size, 4)}
            found = run(given.detach().requires_grad_())
            lay.append(parts(found[0]))
        assert not isinstance(given, DTensor)
        assert given.equal(whole)
        for t, e in zip(context_parallel_unshard(mesh, found, [2, 2]), expected, strict=True):
            assert torch.allclose(t, e, rtol=1e-5, atol=1e-5)
            assert not isinstance(t, DTensor)
    assert lay == [{(2, 3, 2, 4)}, {(2, 3, 4, 4)}]
    odd = context_parallel(LINE, buffers=[torch.ones(1, 1, 12, 2)], buffer_seq_dims=[2])
    with pytest.raises(ValueError, match="cannot be cut into 8 equal parts"), odd:
        pass
    with pytest.raises(ValueError, match="a mesh of one dimension"), context_parallel(MESH):
        pass


def test_a_dimension_that_does_not_divide_says_that_it_is_cut():
    d = distribute_tensor(torch.arange(10.0), LINE, [Shard(0)])
    assert (d.placements, d.to_local().tolist()) == ((Shard(0),), list(range(10)))
    assert d.jax().sharding.is_fully_replicated
    d.requires_grad_()
    (d * d).sum().backward()
    assert d.grad.placements == (Shard(0),)
    kept = torch.nn.Parameter(d.detach())
    torch.optim.SGD([kept], lr=0.1, momentum=0.9).step()
    assert kept.placements == (Shard(0),)
    whole = d.detach().redistribute(placements=[Replicate()])

    @torch.jit
    def is_cut(x):
        return x + (1 if x.placements == (Shard(0),) else 2)

    assert is_cut(d.detach()).full_tensor()[0] == 1
    assert is_cut(whole).full_tensor()[0] == 2
    assert is_cut.compiles == 2


def test_plans_that_do_not_fit():
    net = nn.Sequential(nn.Linear(8, 12), nn.ReLU())
    with pytest.warns(UserWarning, match="could not be resolved"):
        tp.parallelize_module(net, LINE, {"up": tp.ColwiseParallel()})
    with pytest.warns(UserWarning, match="No parallelize_plan"):
        tp.parallelize_module(net, LINE)
    with pytest.raises(NotImplementedError, match=re.escape("only support nn.Linear")):
        tp.parallelize_module(net, LINE, {"1": tp.ColwiseParallel()})
    with pytest.raises(ValueError, match="one dimension"):
        tp.parallelize_module(net, MESH, {"0": tp.ColwiseParallel()})
    with pytest.raises(TypeError, match="for parallelize_plan"):
        tp.parallelize_module(net, LINE, 3)
    with pytest.raises(AssertionError, match="should have same length"):
        tp.PrepareModuleInput(input_layouts=(Shard(0),), desired_input_layouts=())


def test_where_the_first_part_lies():
    for placements in EVERY:
        size, start = compute_local_shape_and_global_offset((16, 8), MESH, placements)
        d = distribute_tensor(W, MESH, placements)
        first = d.jax().addressable_shards[0]
        assert (size, start) == (first.data.shape, (0, 0))
