"""``fully_shard`` and ``FullyShardedDataParallel`` on eight devices of one process."""

import copy
import re
from collections import Counter
from functools import partial

import pytest

import torchlike as torch
import torchlike.nn.functional as F
from torchlike import nn
from torchlike.distributed.device_mesh import init_device_mesh
from torchlike.distributed.fsdp import (
    FSDPModule,
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    StateDictType,
    fully_shard,
    register_fsdp_forward_method,
)
from torchlike.distributed.fsdp.wrap import ModuleWrapPolicy, transformer_auto_wrap_policy
from torchlike.distributed.tensor import DTensor, Replicate, Shard
from torchlike.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torchlike.distributed.tensor.placement_types import _StridedShard
from torchlike.utils.checkpoint import checkpoint

LINE = init_device_mesh("cpu", (8,))
MESH = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
DIM = 32


class Block(nn.Module):
    def __init__(self, d=DIM):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Net(nn.Module):
    """Embedding and last layer are one tensor, of 45 rows, which 8 does not divide."""

    def __init__(self, n=3, v=45):
        super().__init__()
        self.emb = nn.Embedding(v, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(n))
        self.out = nn.Linear(DIM, v, bias=False)
        self.out.weight = self.emb.weight

    def forward(self, x):
        h = self.emb(x)
        for block in self.blocks:
            h = block(h)
        return self.out(h)


def build(n=1):
    torch.manual_seed(0)
    return Net(n)


def sharded(net, mesh=LINE, **options):
    for block in net.blocks:
        fully_shard(block, mesh=mesh, **options)
    return fully_shard(net, mesh=mesh, **options)


def tensor_parallel(net, mesh=MESH["tp"]):
    for block in net.blocks:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return net


def data(n=16):
    torch.manual_seed(1)
    return torch.randint(0, 45, (n, 5)), torch.randint(0, 45, (n, 5))


def loss_of(net, x, y):
    return F.cross_entropy(net(x).flatten(0, 1), y.flatten())


SGD = partial(torch.optim.SGD, lr=0.1, momentum=0.9)


def stepping(net, make=SGD, clip=None):
    optimizer = make(net.parameters())

    def step(x, y):
        optimizer.zero_grad()
        loss = loss_of(net, x, y)
        loss.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
        return loss.detach()

    step.optimizer = optimizer
    return step


def assert_equal_training(first, second, nets, batches, rtol=1e-5):
    for x, y in batches:
        assert torch.allclose(first(x, y), second(x, y), rtol=rtol)
    for (name, p), q in zip(nets[0].named_parameters(), nets[1].parameters(), strict=True):
        assert torch.allclose(q, p, rtol=1e-4, atol=2e-6), name


WAYS = {
    "fsdp": lambda net: sharded(net),
    "no second gathering": lambda net: sharded(net, reshard_after_forward=False),
    "replicas and parts": lambda net: sharded(net, MESH),
    "tensor parallel": lambda net: sharded(tensor_parallel(net), MESH["dp"]),
}


FULL = [
    ("no second gathering", False),
    ("no second gathering", True),
    ("replicas and parts", False),
    ("replicas and parts", True),
    ("tensor parallel", False),
]


@pytest.mark.parametrize(
    ("way", "jit"),
    [
        pytest.param(
            way,
            jit,
            id=f"{way}, {'jit' if jit else 'eager'}",
            marks=[pytest.mark.full] if (way, jit) in FULL else [],
        )
        for way in WAYS
        for jit in (False, True)
    ],
)
def test_it_trains_as_one_device_does(way, jit):
    plain, cut = build(), WAYS[way](build())
    first, second = stepping(plain, clip=0.5), stepping(cut, clip=0.5)
    if jit:
        first, second = torch.jit(first), torch.jit(second)
    placements = [p.placements for p in cut.parameters()]
    sizes = (16, 3, 16) if way == "fsdp" else (16, 16)
    assert_equal_training(first, second, (plain, cut), [data(n) for n in sizes])
    assert [p.placements for p in cut.parameters()] == placements
    if not jit:
        assert [p.grad.placements for p in cut.parameters()] == placements
    assert not jit or second.compiles <= 2


def test_parameters_are_cut_in_place_from_the_bottom_up():
    net = build()
    before = list(net.parameters())
    assert sharded(net) is net
    assert all(a is b for a, b in zip(net.parameters(), before, strict=True))
    assert net.out.weight is net.emb.weight
    assert isinstance(net, FSDPModule)
    assert isinstance(net, Net)
    assert type(net).__name__ == "FSDPNet"
    assert not isinstance(net.blocks[0].up, FSDPModule)
    assert all(isinstance(p, DTensor) and isinstance(p, nn.Parameter) for p in before)
    assert net.blocks[0].up.weight.placements == (Shard(0),)
    assert net.emb.weight.placements == (Shard(0),)
    held = net.emb.weight.jax().sharding.spec  # 45 rows do not divide, 32 columns do
    assert tuple(held) == (None, "dim_0")


def test_places_on_two_dimensions():
    cut = sharded(tensor_parallel(build()), MESH["dp"])
    up, down = cut.blocks[0].up.weight, cut.blocks[0].down.weight
    assert up.placements == (_StridedShard(0, split_factor=4), Shard(0))
    assert down.placements == (Shard(0), Shard(1))
    assert up.device_mesh == MESH
    replicas = sharded(build(), MESH)
    assert replicas.blocks[0].up.weight.placements == (Replicate(), Shard(0))


# -- what each device holds, and what XLA compiles -------------------------------------------------


def compiled(step, x, y):
    """The executable of the jitted step's last program, without running it."""
    program = step.latest
    arrays = [s.concrete() for s in program.storages([x, y])]
    return program.forward.lower(*arrays, *program.inputs.avals[len(arrays) :]).compile()


def bytes_on_a_device(tensors):
    held = Counter()
    for t in tensors:
        for shard in t.jax().addressable_shards:
            held[shard.device] += shard.data.nbytes
    assert len(held) == 8
    assert len(set(held.values())) == 1
    return next(iter(held.values()))


COLLECTIVE = re.compile(r"= (\w+\[[\d,]*\])\S* (all-gather|all-reduce|reduce-scatter)\(")
REDUCED = re.compile(r"= (\(.*?\)|\w+\[[\d,]*\]\S*) all-reduce\(")


@pytest.mark.parametrize("way", ["fsdp", "tensor parallel"])
def test_each_device_holds_an_eighth_and_gathers_layer_by_layer(way):
    net = WAYS[way](build(n=3))
    make = partial(torch.optim.AdamW, lr=1e-3)
    plain_step = stepping(net, make)
    step = torch.jit(plain_step)
    x, y = data()
    for _ in range(2):
        step(x, y)
    params = list(net.parameters())
    moments = [
        s for p in params for s in plain_step.optimizer.state[p].values() if s.shape == p.shape
    ]
    assert len(moments) == 2 * len(params)
    whole = sum(p.nbytes for p in params)
    share = whole / 8
    if way != "fsdp":  # what the styles replicate is cut along dp alone
        share += sum(
            p.nbytes * (1 / 2 - 1 / 8)
            for p in params
            if not any(isinstance(q, (Shard, _StridedShard)) for q in p.placements[1:])
        )
    assert bytes_on_a_device(params) == share
    assert bytes_on_a_device(moments) == 2 * share
    assert bytes_on_a_device([p.grad for p in params]) == share

    executable = compiled(step, x, y)
    # XLA's own count: parameters, moments and counts of steps go in and out in place, the batch
    # goes in, the gradients come out.
    memory = executable.memory_analysis()
    counts, batch = 4 * len(params), x.nbytes + y.nbytes
    assert 3 * share <= memory.alias_size_in_bytes <= 3 * share + counts
    assert memory.argument_size_in_bytes <= 3 * share + counts + batch + 1024

    text = executable.as_text()
    gathered = Counter(shape for shape, kind in COLLECTIVE.findall(text) if kind == "all-gather")
    weight = "f32[128,32]" if way == "fsdp" else "f32[32,32]"
    assert gathered[weight] >= 6  # each layer's, forward and once more backward
    largest = max(_bytes(shape) for shape, kind in COLLECTIVE.findall(text) if kind == "all-gather")
    assert largest <= 128 * 32 * 4 < whole / 4
    # XLA:CPU has no reduce-scatter: it sums all gradients over the devices and takes a part.
    assert "reduce-scatter(" in text or (REDUCED.search(text) and "dynamic-slice" in text)


def _bytes(shape):
    n = 8 if shape.startswith(("s64", "f64")) else 4
    for size in re.findall(r"\d+", shape.partition("[")[2]):
        n *= int(size)
    return n


def test_backward_gathers_again_what_forward_let_go():
    """Eager: what nodes keep of a weight is its shards."""
    for reshard, kept in ((True, set()), (False, {(128, 32), (32, 128)})):
        net = sharded(build(), reshard_after_forward=reshard)
        loss = loss_of(net, *data())
        found = set()
        waiting, seen = [loss.grad_fn], set()
        while waiting:
            node = waiting.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            saved = getattr(node, "saved", ()) or getattr(node, "_slots", ()) or ()
            found |= {tuple(a.shape) for a in saved if hasattr(a, "sharding")}
            waiting += [n for n, _ in node.next_functions]
        assert found & {(128, 32), (32, 128)} == kept
        loss.backward()


# -- what it is told -------------------------------------------------------------------------------


@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=pytest.mark.full)])
def test_mixed_precision(jit):
    policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
    seen = []
    net = build()
    if not jit:
        net.blocks[0].up.register_forward_hook(
            lambda m, inputs, out: seen.append((inputs[0].dtype, m.weight.dtype, out.dtype))
        )
    for block in net.blocks:
        fully_shard(block, mesh=LINE, mp_policy=policy)
    last = MixedPrecisionPolicy(torch.bfloat16, torch.float32, output_dtype=torch.float32)
    cut, plain = fully_shard(net, mesh=LINE, mp_policy=last), build()
    first, second = stepping(plain), stepping(cut)
    if jit:
        second = torch.jit(second)
    assert_equal_training_loosely(first, second)
    assert set(seen) == (set() if jit else {(torch.bfloat16,) * 3})
    assert all(p.dtype is torch.float32 and p.grad.dtype is torch.float32 for p in cut.parameters())
    assert cut(data()[0]).dtype is torch.float32


def assert_equal_training_loosely(first, second):
    x, y = data()
    for _ in range(3):  # bfloat16 has 8 bits
        assert torch.allclose(first(x, y), second(x, y), rtol=3e-2)


def test_gradients_accumulate():
    plain, cut = build(), sharded(build())
    x, y = data()
    for net in (plain, cut):
        for i in range(2):
            if net is cut:
                net.set_requires_gradient_sync(i == 1)
            loss_of(net, x[8 * i : 8 * i + 8], y[8 * i : 8 * i + 8]).backward()
    for p, q in zip(plain.parameters(), cut.parameters(), strict=True):
        assert torch.allclose(q.grad, p.grad, rtol=1e-4, atol=1e-6)
        assert q.grad.placements == q.placements


def test_clip_grad_norm_and_state_dict():
    plain, cut = build(), sharded(build())
    for net in (plain, cut):
        loss_of(net, *data()).backward()
    norms = [torch.nn.utils.clip_grad_norm_(net.parameters(), 0.1) for net in (plain, cut)]
    assert isinstance(norms[1], DTensor)
    assert torch.allclose(norms[0], norms[1].full_tensor(), rtol=1e-5)
    assert list(cut.state_dict()) == list(plain.state_dict())
    assert all(isinstance(t, DTensor) for t in cut.state_dict().values())
    cut.load_state_dict({k: v + 1 for k, v in plain.state_dict().items()})
    assert cut.blocks[0].up.weight.placements == (Shard(0),)
    assert torch.allclose(cut.blocks[0].up.weight, plain.blocks[0].up.weight + 1)


def test_other_choices():
    net = fully_shard(build(), mesh=LINE, shard_placement_fn=lambda p: Shard(p.dim() - 1))
    assert net.blocks[0].up.weight.placements == (Shard(1),)
    kept = build()
    fully_shard(kept, mesh=LINE, ignored_params={kept.blocks[0].up.weight})
    assert not isinstance(kept.blocks[0].up.weight, DTensor)
    odd = fully_shard(nn.Linear(3, 5), mesh=LINE)
    assert odd.weight.placements == (Replicate(),)
    assert fully_shard(nn.Linear(8, 8)).weight.device_mesh.size() == 8
    odd.set_reshard_after_forward(False)
    odd.unshard(async_op=True).wait()
    odd.reshard()


def test_on_the_meta_device():
    with torch.device("meta"):
        net = build()
    sharded(net)
    net.to_empty(device="cpu")
    with torch.no_grad():
        for p in net.parameters():
            p.fill_(0.01)
    assert net.blocks[0].up.weight.placements == (Shard(0),)
    loss_of(net, *data()).backward()


def test_other_methods_gather_too():
    class Two(nn.Linear):
        def twice(self, x):
            assert self.weight.placements == (Replicate(),)
            return 2 * self(x)

    net = Two(8, 8)
    expected = net.twice.__func__
    assert expected
    fully_shard(net, mesh=LINE)
    register_fsdp_forward_method(net, "twice")
    x = torch.randn(8, 8)
    assert torch.allclose(net.twice(x), 2 * net(x))


def test_refused():
    net = sharded(build())
    with pytest.raises(AssertionError, match="once"):
        fully_shard(net, mesh=LINE)
    with pytest.raises(ValueError, match="do not implement forward"):
        fully_shard(nn.ModuleList([nn.Linear(8, 8)]), mesh=LINE)
    with pytest.raises(ValueError, match="1D or 2D"):
        fully_shard(nn.Linear(8, 8), mesh=init_device_mesh("cpu", (2, 2, 2)))
    with pytest.raises(NotImplementedError, match="uneven sharding on dim 1"):
        fully_shard(nn.Linear(9, 8, bias=False), mesh=LINE, shard_placement_fn=lambda p: Shard(1))
    with pytest.raises(ValueError, match="slices of one mesh"):
        fully_shard(tensor_parallel(build()), mesh=LINE)
    with pytest.raises(NotImplementedError, match="lazy"):
        fully_shard(nn.LazyLinear(8), mesh=LINE)
    with pytest.raises(NotImplementedError, match="scale the loss"):
        net.set_gradient_divide_factor(2.0)
    with pytest.raises(NotImplementedError, match="load the state_dict"):
        copy.deepcopy(net)


# -- the older form --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "strategy", [pytest.param("FULL_SHARD", marks=pytest.mark.full), "HYBRID_SHARD"]
)
def test_the_older_form_trains_as_one_device_does(strategy):
    plain = build()
    cut = FullyShardedDataParallel(
        build(),
        sharding_strategy=ShardingStrategy[strategy],
        auto_wrap_policy=partial(transformer_auto_wrap_policy, transformer_layer_cls={Block}),
        device_mesh=MESH if strategy.startswith("HYBRID") else None,
        use_orig_params=True,
    )
    assert len(FullyShardedDataParallel.fsdp_modules(cut)) == 2
    assert_equal_training(stepping(plain), stepping(cut), (plain, cut), [data(), data()])
    with cut.no_sync():
        loss_of(cut, *data()).backward()
    assert type(cut.clip_grad_norm_(0.1)) is torch.Tensor
    assert cut.blocks is cut.module.blocks


def test_state_dicts_of_the_older_form():
    plain = build()
    cut = FullyShardedDataParallel(build(), auto_wrap_policy=ModuleWrapPolicy({Block}))
    whole = cut.state_dict()
    assert list(whole) == list(plain.state_dict())
    assert all(
        v.equal(plain.state_dict()[k]) and not isinstance(v, DTensor) for k, v in whole.items()
    )
    with FullyShardedDataParallel.state_dict_type(cut, StateDictType.SHARDED_STATE_DICT):
        assert all(isinstance(v, DTensor) for v in cut.state_dict().values())
    assert not isinstance(cut.state_dict()["out.weight"], DTensor)
    cut.load_state_dict({k: v + 1 for k, v in whole.items()})
    assert torch.allclose(cut.state_dict()["out.weight"], whole["out.weight"] + 1)
    step = stepping(cut)
    step(*data())
    state = FullyShardedDataParallel.optim_state_dict(cut, step.optimizer)
    assert set(state["state"]) <= set(whole)
    FullyShardedDataParallel.optim_state_dict_to_load(cut, step.optimizer, state)
    moment = step.optimizer.state[cut.module.blocks[0].module.up.weight]["momentum_buffer"]
    assert moment.placements == (Shard(0),)
    with FullyShardedDataParallel.summon_full_params(cut), torch.no_grad():
        for p in cut.parameters():
            p.zero_()
    assert cut.state_dict()["out.weight"].count_nonzero() == 0


def test_what_the_older_form_refuses():
    with pytest.raises(NotImplementedError, match="device_mesh"):
        FullyShardedDataParallel(nn.Linear(8, 8), sharding_strategy=ShardingStrategy.HYBRID_SHARD)
    with pytest.raises(NotImplementedError, match="SHARDED_STATE_DICT"):
        FullyShardedDataParallel.set_state_dict_type(
            nn.Linear(8, 8), StateDictType.LOCAL_STATE_DICT
        )


def test_mixed_precision_of_the_older_form():
    net = FullyShardedDataParallel(nn.Linear(8, 8), mixed_precision=MixedPrecision(torch.bfloat16))
    out = net(torch.randn(8, 8))
    assert out.dtype is torch.bfloat16
    out.sum().backward()
    assert net.module.weight.grad.dtype is torch.float32


@pytest.mark.parametrize("jit", [False, pytest.param(True, marks=pytest.mark.full)])
def test_checkpointed_modules_are_sharded_too(jit):
    class Checkpointed(nn.Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def forward(self, x):
            return checkpoint(self.module, x, use_reentrant=False)

    plain, cut = build(), build()
    cut.blocks = nn.ModuleList(map(Checkpointed, cut.blocks))
    sharded(cut)
    first, second = stepping(plain), stepping(cut)
    if jit:
        second = torch.jit(second)
    assert_equal_training(first, second, (plain, cut), [data(), data()])


def test_a_compiled_step_with_a_wrong_id_or_label_changes_nothing():
    torch.manual_seed(0)
    net = fully_shard(nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 8)), mesh=LINE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)

    @torch.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    def state():
        moments = [t for s in optimizer.state.values() for t in s.values()]
        return [
            t.detach().full_tensor().tolist() if isinstance(t, DTensor) else t.tolist()
            for t in (*net.parameters(), *moments)
        ]

    x, y = torch.arange(8), torch.arange(8)
    for _ in range(2):
        step(x, y).item()
    before = state()
    for words, wrong in (
        ("index out of range in self", (x + 9, y)),
        ("Target 8 is out of bounds", (x, y + 1)),
    ):
        with pytest.raises(IndexError, match=words):
            step(*wrong).item()
        assert state() == before
    step(x, y).item()
    assert state() != before
    assert step.compiles == 1
