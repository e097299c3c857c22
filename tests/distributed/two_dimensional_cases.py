"""Tensor parallelism under fully_shard, four processes as a mesh of two by two: each pair has a
batch of its own. The same file runs under PyTorch's torchrun."""

import copy

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


class Attention(nn.Module):
    """Asks a tensor for its size as a script for a part of the heads does."""

    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.size = heads, d // heads
        self.q, self.k, self.v = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.out = nn.Linear(d, d, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (
            f(x).view(b, t, self.heads, self.size).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(b, t, -1))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(d), Attention(d, 4)
        self.norm2, self.up, self.down = nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(torch.tanh(self.up(self.norm2(x))))


class Net(nn.Module):
    def __init__(self, words=16, d=16):
        super().__init__()
        self.words = nn.Embedding(words, d)
        self.blocks = nn.ModuleList([Block(d) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, words, bias=False)

    def forward(self, x):
        x = self.words(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def mesh_of_two():
    return init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("dp", "tp"))


TENSOR = {
    "attention.q": ColwiseParallel(),
    "attention.k": ColwiseParallel(),
    "attention.v": ColwiseParallel(),
    "attention.out": RowwiseParallel(),
    "up": ColwiseParallel(),
    "down": RowwiseParallel(),
}
SEQUENCE = {
    "norm1": SequenceParallel(),
    "attention": PrepareModuleInput(
        input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)
    ),
    "attention.q": ColwiseParallel(),
    "attention.k": ColwiseParallel(),
    "attention.v": ColwiseParallel(),
    "attention.out": RowwiseParallel(output_layouts=Shard(1)),
    "norm2": SequenceParallel(),
    "up": ColwiseParallel(input_layouts=Shard(1)),
    "down": RowwiseParallel(output_layouts=Shard(1)),
}
ENDS = {
    "words": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "norm": SequenceParallel(),
    "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
}


def built():
    torch.manual_seed(0)
    return Net()


def cut(net, mesh, plan, ends=None, **options):
    """Styles along ``tp``, then parts along ``dp``."""
    if ends is not None:
        parallelize_module(net, mesh["tp"], ends)
    for block in net.blocks:
        block.attention.heads //= mesh["tp"].size()
        parallelize_module(block, mesh["tp"], plan)
        fully_shard(block, mesh=mesh["dp"], **options)
    return fully_shard(net, mesh=mesh["dp"], **options)


def batch(i, line):
    torch.manual_seed(10 * i + line)
    return torch.randint(0, 16, (3, 6)), torch.randint(0, 16, (3, 6))


def loss_of(net, x, y):
    return F.cross_entropy(net(x).flatten(0, 1), y.flatten())


def trained(net, mesh, micro=1, steps=3):
    """Losses of a training, which have to be those of one process with both batches."""
    line, alone = mesh["dp"].get_local_rank(), built()
    first, second = (
        torch.optim.AdamW(m.parameters(), lr=1e-2, eps=1e-3, foreach=False) for m in (net, alone)
    )
    losses = []
    for i in range(steps):
        for j in range(micro):
            loss = loss_of(net, *batch(i + 100 * j, line))
            loss.backward()
            both = [loss_of(alone, *batch(i + 100 * j, k)) for k in range(2)]
            (sum(both) / 2).backward()
            losses.append(loss.item())
            assert abs(both[line].item() - losses[-1]) < 1e-4 * losses[-1], (i, losses, both)
        for optimizer in (first, second):
            optimizer.step()
            optimizer.zero_grad()
    return losses, [p.full_tensor().double().sum().item() for p in net.parameters()]


def case_tensor_parallel():
    mesh = mesh_of_two()
    net = cut(built(), mesh, TENSOR)
    found = trained(net, mesh)
    up = net.blocks[0].up.weight
    assert up.to_local().shape == (8, 16)
    assert isinstance(up, DTensor)
    assert up.device_mesh == mesh
    return found


def case_sequence_parallel():
    mesh = mesh_of_two()
    return trained(cut(built(), mesh, SEQUENCE, ENDS), mesh)


def case_keeping_what_is_gathered():
    mesh = mesh_of_two()
    return trained(cut(built(), mesh, TENSOR, reshard_after_forward=False), mesh)


def case_accumulating():
    mesh = mesh_of_two()
    return trained(cut(built(), mesh, SEQUENCE, ENDS), mesh, micro=2, steps=2)


def case_a_state_dict():
    mesh = mesh_of_two()
    net = cut(built(), mesh, SEQUENCE, ENDS)
    trained(net, mesh, steps=1)
    whole = get_model_state_dict(net, options=StateDictOptions(full_state_dict=True))
    return {name: t.double().sum().item() for name, t in whole.items()}


def case_mixed_precision():
    """Near the losses of float32, which are not bfloat16's."""
    mesh = mesh_of_two()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    net, found = cut(built(), mesh, TENSOR, mp_policy=policy), []
    exact = copy.deepcopy(built())
    for i in range(2):
        x, y = batch(i, mesh["dp"].get_local_rank())
        short = F.cross_entropy(net(x).float().flatten(0, 1), y.flatten())
        short.backward()
        found.append(0 < abs(short.item() - loss_of(exact, x, y).item()) < 0.05)
    return found, str(net.blocks[0].up.weight.grad.dtype)


def case_full_tensor():
    """Of DTensors on the whole mesh and on a slice; each rank has a gradient of its own. (Here
    results of ops on a slice lie on the whole mesh.)"""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    plain, found = torch.arange(16.0).reshape(4, 4) * (dist.get_rank() + 1), []

    def told(at, placements, given):
        d = distribute_tensor(torch.arange(16.0).reshape(4, 4), at, placements).requires_grad_()
        y = (d * 2 if at is mesh else d).full_tensor(grad_placements=given)
        (y * plain).sum().backward()
        found.append([isinstance(y, DTensor), y.tolist(), d.grad.to_local().tolist()])

    for placements in (
        [Shard(0), Replicate()],
        [Shard(0), Shard(1)],
        [Replicate(), Shard(0)],
        [Shard(1), Shard(1)],
    ):
        for given in (None, [Partial(), Replicate()], [Partial(), Partial()]):
            told(mesh, placements, given)
    for given in (None, [Partial()]):
        told(mesh["tp"], [Shard(0)], given)
    return found
