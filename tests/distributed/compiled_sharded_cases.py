"""fully_shard in compiled steps, each process with a batch of its own: one program over the ranks
gives what PyTorch's ranks give eagerly. The same file runs under PyTorch's torchrun.

Under torchlike each step also runs eagerly, and the two give the same numbers to 1e-6.
"""

import math
import re
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from sharded_cases import Net, batch, line, sharded, sums
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

OWN = "torchlike" in sys.modules


def adam(parameters):
    return torch.optim.AdamW(parameters, lr=1e-2, eps=1e-3)


def momentum(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def training(way, model, optimizer, micro=1, steps=4):
    """(losses, sums of parameters and gradients, the step as ``way`` made it)."""
    made = optimizer(model.parameters())

    def step(*batches):
        made.zero_grad()
        for x, y in zip(batches[::2], batches[1::2], strict=True):
            loss = F.cross_entropy(model(x).flatten(0, 1).float(), y.flatten())
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        made.step()
        return loss.detach()

    run = way(step)
    losses = [
        run(*[t for j in range(micro) for t in batch(10 * j + i)]).item() for i in range(steps)
    ]
    gradients = [
        p.grad.full_tensor().double().sum().item() for p in model.parameters() if p.grad is not None
    ]
    return losses, sums(model), gradients, run


def trained(model, optimizer=adam, micro=1, compiles=1):
    """Compiled under torchlike, and as eagerly."""
    if not OWN:
        return training(lambda f: f, model(), optimizer, micro)[:3]
    import torchlike

    *found, run = training(torchlike.jit, model(), optimizer, micro)
    *eager, _ = training(lambda f: f, model(), optimizer, micro)
    for a, b in zip(found, eager, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-5)
    assert run.compiles == compiles, run.compiles
    return found


def case_a_step():
    return trained(lambda: sharded(line()))


def case_momentum():
    return trained(lambda: sharded(line()), momentum)


def case_keeping_what_is_gathered():
    return trained(lambda: sharded(line(), reshard_after_forward=False))


def case_accumulating():
    return trained(lambda: sharded(line()), micro=2)


def case_replicas_of_parts():
    n = dist.get_world_size()
    return trained(
        lambda: sharded(init_device_mesh("cpu", (n // 2, 2), mesh_dim_names=("replicas", "parts")))
    )


def case_frozen_and_unused_parameters():
    def make():
        net = Net()
        net.extra = nn.Linear(16, 16)
        net.words.weight.requires_grad_(False)
        return net

    return trained(lambda: sharded(line(), make))


def case_mixed_precision():
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    losses, *_ = trained(lambda: sharded(line(), mp_policy=policy), momentum)
    return [round(x, 1) for x in losses]


def case_gradients_outside():
    """The backward of a compiled forward pass is a program over the ranks of its own."""
    torch.manual_seed(0)
    model = fully_shard(nn.Sequential(nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 4)), mesh=line())
    run = model
    if OWN:
        import torchlike

        run = torchlike.jit(lambda x: model(x).pow(2).mean())
    found = []
    for i in range(3):
        torch.manual_seed(10 * i + dist.get_rank())
        loss = run(torch.randn(6, 16))
        loss = loss if OWN else loss.pow(2).mean()
        loss.backward()
        found.append(loss.item())
    return found, [p.grad.full_tensor().double().sum().item() for p in model.parameters()]


def case_torch_compile():
    model = sharded(line())
    made = momentum(model.parameters())

    def step(x, y):
        made.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        made.step()
        return loss.detach()

    run = torch.compile(step) if OWN else step
    return [run(*batch(i)).item() for i in range(3)], sums(model)


def case_other_collectives_of_the_step():
    """A loss that is averaged over the ranks in the program."""
    model = sharded(line())
    made = momentum(model.parameters())

    def step(x, y):
        made.zero_grad()
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        made.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        return loss.detach(), mean

    run = step
    if OWN:
        import torchlike

        run = torchlike.jit(step)
    return [[t.item() for t in run(*batch(i))] for i in range(3)]


COLLECTIVE = re.compile(r"= (.*?) (all-gather|reduce-scatter|all-reduce|all-to-all)(?:-start)?\(")


def case_what_the_program_exchanges():
    """Its gatherings are of one module's parameters each, and its sums are scattered."""
    if not OWN:
        return
    import torchlike

    model = sharded(line())
    *_, run = training(torchlike.jit, model, adam, steps=2)
    found = COLLECTIVE.findall(run.latest.forward.compile().as_text())
    kinds = [kind for _, kind in found]
    parameters = sum(1 for _ in model.parameters())
    assert kinds.count("reduce-scatter") == parameters, kinds
    assert kinds.count("all-gather") >= parameters, kinds
    assert "all-to-all" not in kinds
    whole = sum(p.numel() for p in model.parameters())
    for shape, kind in found:
        sizes = [math.prod(map(int, s.split(","))) for s in re.findall(r"\[([\d,]+)\]", shape)]
        assert kind != "all-gather" or sum(sizes) < whole / 2, shape
