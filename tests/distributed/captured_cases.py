"""Steps with collectives, compiled whole under torchlike and eager under PyTorch: one program over
the ranks gives what PyTorch's ranks give.

Under torchlike each step also runs eagerly, and the two give the same numbers to 1e-6.
"""

import contextlib
import sys

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as with_gradients
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

OWN = "torchlike" in sys.modules


def compiled(step, **options):
    if not OWN:
        return step
    import torchlike

    return torchlike.jit(step, **options)


def own(i=0):
    """This rank's values."""
    torch.manual_seed(70 + 10 * i + dist.get_rank())
    return torch.randn(4)


def lists(found):
    return [x.detach().tolist() for x in found]


def told(step):
    """What a step gives of this rank's values, at three calls: compiled once, and as eagerly."""
    run, found = compiled(step), []
    for i in range(3):
        made = run(own(i))
        for a, b in zip(made, step(own(i)), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)
        found.append(lists(made))
    assert not OWN or run.compiles == 1
    return found


def case_all_reduce():
    def step(x):
        sizes = torch.stack([x.abs().max(), x.min()])
        dist.all_reduce(x)
        dist.all_reduce(sizes, op=dist.ReduceOp.MAX)
        scalar = sizes.sum()
        dist.all_reduce(scalar, async_op=True).wait()
        return x * 2, sizes, scalar

    return told(step)


def case_broadcast_and_reduce():
    def step(x):
        from_one, to_none = x.clone(), x * 2
        dist.broadcast(from_one, 1)
        dist.reduce(to_none, 0)
        return from_one, to_none

    found = told(step)
    # What reduce leaves on ranks that are no destination is gloo's own affair.
    return found if dist.get_rank() == 0 else [first for first, _ in found]


def case_gather_and_scatter():
    n = dist.get_world_size()

    def step(x):
        every = torch.empty(4 * n)
        dist.all_gather_into_tensor(every, x)
        parts = [torch.empty(4) for _ in range(n)]
        dist.all_gather(parts, x + 1)
        reduced = torch.empty(4)
        dist.reduce_scatter_tensor(reduced, every * x.sum())
        exchanged = torch.empty(4 * n)
        dist.all_to_all_single(exchanged, torch.cat([x * (i + 1) for i in range(n)]))
        return every, reduced, exchanged, *parts

    return told(step)


def case_gradients():
    n = dist.get_world_size()

    def step(x):
        x = x.detach().requires_grad_()
        y = with_gradients.all_reduce(x * 2) * (x + 1) + with_gradients.broadcast(x * x, 1)
        y = y + sum(with_gradients.all_gather(x * x))
        y = y + with_gradients.reduce_scatter(torch.empty(4), [x * (i + 2) for i in range(n)])
        places = [torch.empty(4) for _ in range(n)]
        y = y + sum(with_gradients.all_to_all(places, [x ** (i + 1) for i in range(n)]))
        return y.detach(), *torch.autograd.grad(y.pow(2).sum(), x)

    return told(step)


def case_gradients_outside():
    """The backward of a compiled function is a program over the ranks of its own."""
    f = compiled(lambda x: (with_gradients.all_reduce(x * x) * x).sum())
    found = []
    for i in range(3):
        x = own(i).requires_grad_()
        f(x).backward()
        found += lists([x.grad])
    return found


def case_a_group():
    """Of the first two ranks; the others do nothing."""
    group = dist.new_group([0, 1])

    def step(x):
        dist.all_reduce(x, group=group)
        return (x + 1,)

    return told(step)


def mlp(norm=False):
    torch.manual_seed(3)
    middle = [nn.BatchNorm1d(16)] if norm else []
    return nn.Sequential(nn.Linear(8, 16, bias=not norm), *middle, nn.Tanh(), nn.Linear(16, 4))


def batch(i):
    torch.manual_seed(1000 + 10 * i + dist.get_rank())
    return torch.randn(6, 8), torch.randn(6, 4)


def training(way, make, optimizer, micro=1, model=None):
    net = DDP(mlp(), **make) if model is None else model()
    opt = optimizer(net.parameters())

    def step(x, y):
        opt.zero_grad()
        for i in range(micro):
            with contextlib.nullcontext() if i == micro - 1 else net.no_sync():
                loss = ((net(x + i) - y) ** 2).mean()
                loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        return loss.detach()

    run = way(step)
    losses = [run(*batch(i)).item() for i in range(4)]
    sums = [t.detach().double().sum().item() for t in (*net.parameters(), *net.buffers())]
    return losses, sums, run


def trained(optimizer, micro=1, model=None, kept=1, options=None, **make):
    *found, run = training(lambda f: compiled(f, **(options or {})), make, optimizer, micro, model)
    *eager, _ = training(lambda f: f, make, optimizer, micro, model)
    for a, b in zip(found, eager, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)
    assert not OWN or run.compiles == kept
    return found


def momentum(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def adam(parameters):
    return torch.optim.AdamW(parameters, lr=0.01, eps=1e-3)


def case_a_step():
    return trained(momentum)


def case_small_buckets():
    return trained(adam, bucket_cap_mb=0.0002)


def case_warming_up():
    return trained(adam, options={"warmup": 2})


def case_buffers():
    return trained(momentum, model=lambda: DDP(mlp(norm=True)))


def case_accumulating():
    return trained(momentum, micro=3)


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.used, self.never = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, x):
        return self.used(x)


def case_unused_parameters():
    return trained(momentum, model=lambda: DDP(Branches(), find_unused_parameters=True))


def case_a_hook():
    def halved(state, bucket):
        flat = bucket.buffer() / (2 * dist.get_world_size())
        done = dist.all_reduce(flat, async_op=True).get_future()
        return done.then(lambda future: future.value()[0])

    def make():
        net = DDP(mlp())
        net.register_comm_hook(None, halved)
        return net

    return trained(momentum, model=make)
