"""Modules and tensors in parts between processes, each with a batch of its own: fully_shard,
tensor parallelism, local parts and their gradients. The same file runs under PyTorch's torchrun."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.experimental import local_map, register_sharding
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(d, 4 * d), nn.Linear(4 * d, d), nn.LayerNorm(d)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, words=32):
        super().__init__()
        self.words = nn.Embedding(words, 16)
        self.blocks = nn.ModuleList([Block(16) for _ in range(2)])
        self.head = nn.Linear(16, 8)

    def forward(self, x):
        x = self.words(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def line():
    return init_device_mesh("cpu", (dist.get_world_size(),))


def batch(i):
    torch.manual_seed(100 * i + dist.get_rank())
    return torch.randint(0, 32, (6, 3)), torch.randint(0, 8, (6, 3))


def sums(model):
    found = [p.full_tensor() if isinstance(p, DTensor) else p for p in model.parameters()]
    return [p.detach().double().sum().item() for p in found]


def sharded(mesh, make=Net, **options):
    torch.manual_seed(0)
    model = make()
    for block in model.blocks:
        fully_shard(block, mesh=mesh, **options)
    return fully_shard(model, mesh=mesh, **options)


def trained(model, micro=1, steps=3):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, eps=1e-3)
    found = []
    for i in range(steps):
        optimizer.zero_grad()
        for j in range(micro):
            x, y = batch(10 * j + i)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        found.append([loss.item(), norm.full_tensor().item()])
    return found, sums(model)


def case_fully_shard():
    model = sharded(line())
    found = trained(model)
    assert model.blocks[0].up.weight.to_local().shape == (64 // dist.get_world_size(), 16)
    return found


def case_fully_shard_keeping_what_it_gathers():
    return trained(sharded(line(), reshard_after_forward=False))


def case_fully_shard_accumulating():
    return trained(sharded(line()), micro=2)


def case_replicas_of_parts():
    n = dist.get_world_size()
    mesh = init_device_mesh("cpu", (n // 2, 2), mesh_dim_names=("replicas", "parts"))
    return trained(sharded(mesh))


def case_a_state_dict():
    model = sharded(line())
    trained(model, steps=1)
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    return {name: t.double().sum().item() for name, t in whole.items()}


def case_frozen_and_unused_parameters():
    def make():
        net = Net()
        net.extra = nn.Linear(16, 16)
        net.words.weight.requires_grad_(False)
        return net

    model = sharded(line(), make)
    found = trained(model)
    assert model.extra.weight.grad is None
    return found


def case_mixed_precision():
    """Near the losses of float32, which are not bfloat16's."""
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    model = sharded(line(), mp_policy=policy)
    short, _ = trained(model)
    exact, _ = trained(sharded(line()))
    off = [abs(a - b) for (a, _), (b, _) in zip(short, exact, strict=True)]
    return [0 < x < 0.05 for x in off], str(model.head.weight.grad.dtype)


class Feed(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down, self.norm = nn.Linear(8, 16), nn.Linear(16, 8), nn.LayerNorm(8)

    def forward(self, x):
        return self.down(torch.tanh(self.up(self.norm(x))))


def parallel(plan, own):
    torch.manual_seed(0)
    model = parallelize_module(Feed(), line(), plan)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, eps=1e-3, foreach=False)
    losses = []
    for i in range(3):
        torch.manual_seed(10 + i)
        x, y = torch.randn(4, 8, 8), torch.randn(4, 8, 8)
        optimizer.zero_grad()
        loss = ((model(own(x)) - own(y)) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, sums(model)


def case_tensor_parallel():
    return parallel({"up": ColwiseParallel(), "down": RowwiseParallel()}, lambda x: x)


def own_part(x):
    return x.chunk(dist.get_world_size(), 1)[dist.get_rank()].contiguous()


def case_sequence_parallel():
    plan = {
        "norm": SequenceParallel(),
        "up": ColwiseParallel(input_layouts=Shard(1)),
        "down": RowwiseParallel(output_layouts=Shard(1)),
    }
    return parallel(plan, own_part)


def case_prepared_inputs():
    plan = {
        "": PrepareModuleInput(
            input_layouts=Shard(1), desired_input_layouts=Replicate(), use_local_output=True
        ),
        "up": ColwiseParallel(),
        "down": RowwiseParallel(output_layouts=Shard(1)),
    }
    return parallel(plan, own_part)


def case_local_parts():
    rank, found = dist.get_rank(), []
    for placement in (Shard(0), Shard(1), Replicate(), Partial()):
        x = torch.arange(16.0).reshape(4, 4) + (0 if placement == Replicate() else rank)
        x.requires_grad_()
        whole = DTensor.from_local(x, line(), [placement])
        other = whole.redistribute(placements=[Shard(0)])
        own = other.to_local()
        (own * own * (rank + 1)).sum().backward()
        found.append([x.grad.tolist(), own.tolist(), list(whole.shape)])
    return found


def case_writing_between_plain_tensors_and_dtensors():
    """What each attempt gives: the target afterwards, or the error's type and first words."""
    mesh = line()

    def d(shift=0.0):
        return distribute_tensor(torch.arange(8.0).reshape(4, 2) + shift, mesh, [Shard(0)])

    def plain(*size):
        return torch.ones(*size or (4, 2))

    def module(on_mesh):
        m = nn.Linear(2, 4)
        with torch.no_grad():
            for p in m.parameters():
                p.fill_(1.0 if on_mesh else 2.0)
        for name, p in [*m.named_parameters()] if on_mesh else []:
            part = distribute_tensor(p.detach(), mesh, [Shard(0)])
            m.register_parameter(name, nn.Parameter(part))
        return m

    def loaded(into, of, **options):
        m = module(into)
        m.load_state_dict(module(of).state_dict(), **options)
        return m.weight

    attempts = {
        "out plain": lambda t: torch.add(d(), d(), out=t),
        "out, a number": lambda t: torch.mul(d(), 2.0, out=t),
        "out of a join": lambda t: torch.cat([d()], out=t),
        "clamp": lambda t: torch.clamp(d(), 0, 3, out=t),
        "copy_": lambda t: t.copy_(d()),
        "setitem": lambda t: t.__setitem__(slice(None), d()),
        "add_": lambda t: t.add_(d()),
    }
    found = {}

    def tried(name, attempt, target):
        try:
            given = attempt(target)
            t = given if target is None else target
            on_mesh = isinstance(t, DTensor)
            values = (t.full_tensor() if on_mesh else t).detach().tolist()
            found[name] = [on_mesh, str(t.placements) if on_mesh else None, values]
        except (RuntimeError, ValueError) as error:
            said = str(error)
            words = [
                w for w in ("got mixed torch.Tensor and DTensor", "find device mesh") if w in said
            ]
            found[name] = [type(error).__name__, words]

    for name, attempt in attempts.items():
        tried(f"{name} into a plain one", attempt, plain())
        if name != "out of a join":  # PyTorch's DTensor has no cat.out
            tried(f"{name} into a DTensor", attempt, d(5.0))
    tried("plain operands", lambda t: torch.add(plain(), plain(), out=t), d())
    tried("into a scalar", lambda t: torch.sum(d().reshape(-1), 0, out=t), torch.tensor(0.0))
    tried("copy_ of plain into DTensor", lambda t: t.copy_(plain()), d())
    for into in (True, False):
        for of in (True, False):
            for assign in (True, False):
                tried(
                    f"load_state_dict({assign=}) of {of} into {into}",
                    lambda _, i=into, o=of, a=assign: loaded(i, o, assign=a),
                    None,
                )
    return found


def case_full_tensor():
    """Values and gradients are each rank's own."""
    mesh, rank, found = line(), dist.get_rank(), []
    plain = torch.arange(24.0).reshape(4, 6) + 10 * rank
    for placement in (Shard(0), Shard(1), Replicate()):
        for given in (None, [Replicate()], [Partial()]):
            torch.manual_seed(3)
            d = distribute_tensor(torch.randn(4, 6), mesh, [placement]).requires_grad_()
            y = (d * 2).full_tensor(grad_placements=given)
            (y * plain).sum().backward()
            found.append(
                [
                    isinstance(y, DTensor),
                    y.tolist(),
                    (y + plain).tolist(),
                    str(d.grad.placements),
                    d.grad.to_local().tolist(),
                ]
            )
    total = (d * d).sum().full_tensor() * (rank + 1)
    return found, total.item(), str(d.detach()).split(", device_mesh")[0]


def case_gradients_of_local_gradients():
    mesh, rank, found = line(), dist.get_rank(), []
    plain = torch.arange(16.0).reshape(4, 4) / 8 + rank
    for local in (DTensor.full_tensor, DTensor.to_local):
        d = distribute_tensor(torch.arange(16.0).reshape(4, 4) / 16, mesh, [Shard(0)])
        d.requires_grad_()
        y = local(d)
        own = plain[: y.shape[0]]
        (g,) = torch.autograd.grad((y**3 * own).sum(), d, create_graph=True)
        found.append([str(g.placements), g.to_local().tolist()])
        x = own.clone().requires_grad_()
        whole = DTensor.from_local(x, mesh, [Shard(0)])
        (g,) = torch.autograd.grad((whole**3).to_local().sum(), x, create_graph=True)
        (g * g).sum().backward()
        found.append([g.tolist(), x.grad.tolist()])
    return found


def case_terms_of_gradients():
    """``to_local`` of what all ranks have, where each computes something else with it."""
    mesh, rank = line(), dist.get_rank()
    w = distribute_tensor(torch.arange(8.0).reshape(4, 2), mesh, [Replicate()]).requires_grad_()
    own = w.to_local(grad_placements=[Partial()])
    (own * own * (rank + 1)).sum().backward()
    return w.grad.full_tensor().tolist()


def _of_error(call):
    try:
        call()
    except (AssertionError, ValueError) as error:
        return [type(error).__name__, str(error).split(" {")[0].split("arg DTensor")[0][:30]]
    return "nothing"


def case_local_map():
    mesh, rows, columns = line(), [Shard(0)], [Shard(1)]
    torch.manual_seed(3)
    w = distribute_tensor(torch.randn(4, 6), mesh, columns).requires_grad_()
    x = distribute_tensor(torch.randn(6, 4), mesh, rows)

    product = local_map(torch.mm, out_placements=[Partial()], in_placements=(columns, rows))
    y = product(w, x).full_tensor()
    (y * torch.arange(4.0)).sum().backward()

    @local_map(
        out_placements=(rows, None, [Replicate()]),
        redistribute_inputs=True,
        in_placements=(rows, None),
    )
    def scaled(t, factor):
        return t * factor, t.shape[0], t.new_ones(2)

    part, n, ones = scaled(w.detach(), 3)
    wrong = local_map(torch.neg, out_placements=rows, in_placements=(rows,))
    short = local_map(torch.neg, out_placements=(rows, rows))

    bias = distribute_tensor(torch.arange(4.0), mesh, [Replicate()]).requires_grad_()
    shifted = local_map(
        lambda t, b: (t.t() + b) * (dist.get_rank() + 1),
        out_placements=rows,
        in_placements=(columns, [Replicate()]),
        in_grad_placements=(columns, [Partial()]),
    )
    z = shifted(w, bias)
    w.grad = None
    z.full_tensor().sum().backward()
    return [
        y.tolist(),
        part.full_tensor().tolist(),
        n,
        ones.full_tensor().tolist(),
        product(torch.ones(2, 2), torch.ones(2, 2)).tolist(),
        _of_error(lambda: wrong(w)),
        _of_error(lambda: product(w)),
        _of_error(lambda: short(w)),
        z.full_tensor().tolist(),
        w.grad.full_tensor().tolist(),
        bias.grad.full_tensor().tolist(),
    ]


@torch.library.custom_op("sharded_cases::scaled", mutates_args=())
def _scaled(x: torch.Tensor, w: torch.Tensor, factor: float) -> torch.Tensor:
    return x * w * factor


@torch.library.custom_op("sharded_cases::total", mutates_args=())
def _total(x: torch.Tensor) -> torch.Tensor:
    return x.sum(0)


def _prepare_operators():
    _scaled.register_fake(lambda x, w, factor: torch.empty_like(x))
    _total.register_fake(lambda x: x.new_empty(x.shape[1:]))

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.factor = inputs[2]

    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w * ctx.factor, (g * x * ctx.factor).sum(0), None

    _scaled.register_autograd(backward, setup_context=keep)

    @register_sharding(torch.ops.sharded_cases.scaled.default)
    def rows_or_whole(x, w, factor):
        assert (x.ndim, tuple(w.shape), factor) == (2, (6,), 2.0)
        whole = [Replicate()], [Replicate(), Replicate(), None]
        return [whole, ([Shard(0)], [Shard(0), Replicate(), None])]

    @register_sharding(torch.ops.sharded_cases.total.default)
    def terms_or_columns(x):
        columns = [([Shard(i - 1)], [Shard(i)]) for i in range(1, x.ndim)]
        return [([Replicate()], [Replicate()]), ([Partial()], [Shard(0)]), *columns]


def case_register_sharding():
    mesh, found = line(), []
    _prepare_operators()
    for placement in (Shard(0), Shard(1), Replicate()):
        torch.manual_seed(3)
        x = distribute_tensor(torch.randn(4, 6), mesh, [placement]).requires_grad_()
        w = distribute_tensor(torch.arange(6.0), mesh, [Replicate()]).requires_grad_()
        y = torch.ops.sharded_cases.scaled(x, w, 2.0)
        (y * y).sum().full_tensor().backward()
        total = torch.ops.sharded_cases.total(x.detach())
        found.append(
            [
                y.full_tensor().tolist(),
                x.grad.full_tensor().tolist(),
                w.grad.full_tensor().tolist(),
                total.full_tensor().tolist(),
                str(y.placements) if placement == Shard(0) else "",
            ]
        )
    return found
