"""Modules and tensors in parts between processes, each with a batch of its own: fully_shard,
tensor parallelism, local parts and their gradients. The same file runs under PyTorch's torchrun."""

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
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
