"""Compiled steps with collectives of some of four ranks, and with whole tensors of results: one
program gives what PyTorch's ranks give eagerly. The same file runs under PyTorch's torchrun.

Under torchlike each step also runs eagerly, and the two give the same numbers to 1e-5.
"""

import sys

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as with_gradients
from captured_cases import compiled, lists, own
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from two_dimensional_cases import TENSOR, batch, built, cut, loss_of, mesh_of_two

OWN = "torchlike" in sys.modules


def told(step, *given):
    """What a step gives, at three calls of one compiled function, and that it does so eagerly."""
    run, found = compiled(step), []
    for i in range(3):
        made = [part_of(t) for t in run(own(i), *given)]
        for a, b in zip(made, map(part_of, step(own(i), *given)), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
        found.append(lists(made))
    assert not OWN or run.compiles == 1, run.compiles
    return found


def part_of(t):
    return t.to_local() if isinstance(t, DTensor) else t


def mesh_of_four():
    return init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))


def eager_and_compiled(training):
    """What ``training(way)`` gives beside its step, eagerly; with torchlike compiled too, once, and
    to 1e-5 the same."""
    eager, _ = training(lambda f: f)
    if not OWN:
        return eager
    found, run = training(compiled)
    torch.testing.assert_close(torch.tensor(found), torch.tensor(eager), rtol=1e-5, atol=1e-6)
    assert run.compiles == 1, run.compiles
    return found


def case_along_one_dimension():
    group = mesh_of_four()["tp"].get_group()

    def step(x):
        dist.all_reduce(x, group=group)
        return (x * 2,)

    return told(step)


def case_along_both_dimensions_and_over_all():
    mesh = mesh_of_four()
    dp, tp = mesh.get_group("dp"), mesh.get_group("tp")

    def step(x):
        a, b, c = x.clone(), x * 2, x + 1
        dist.all_reduce(a, group=tp)
        dist.all_reduce(b, group=dp, op=dist.ReduceOp.MAX)
        dist.all_reduce(c)
        every = torch.empty(8)
        dist.all_gather_into_tensor(every, a + c, group=dp)
        part = torch.empty(4)
        dist.reduce_scatter_tensor(part, every * b.sum(), group=tp)
        dist.broadcast(b, group_src=1, group=tp)
        swapped = torch.empty(4)
        dist.all_to_all_single(swapped, part, group=dp)
        return a, b, c, every, part, swapped

    return told(step)


def case_groups_of_a_loop():
    """Made as scripts do without a mesh."""
    for size in (2, 4):
        groups = [dist.new_group(list(range(i, i + size))) for i in range(0, 4, size)]
        own_group = groups[dist.get_rank() // size]
    pairs = [dist.new_group([i, i + 2]) for i in range(2)]
    across = pairs[dist.get_rank() % 2]

    def step(x):
        dist.all_reduce(x, group=own_group)
        y = x * (1 + x.abs().max())
        dist.all_reduce(y, group=across)
        return x, y

    return told(step)


def case_gradients():
    mesh = mesh_of_four()
    dp, tp = mesh.get_group("dp"), mesh.get_group("tp")

    def step(x):
        x = x.detach().requires_grad_()
        y = with_gradients.all_reduce(x * 2, group=tp) * (x + 1)
        y = y + with_gradients.all_reduce(x * x, group=dp)  # PyTorch's all_gather is of all ranks
        return y.detach(), *torch.autograd.grad(y.pow(2).sum(), x)

    return told(step)


def case_groups_beside_parts():
    """In a step of ``fully_shard`` and tensor parallelism."""

    def training(way):
        mesh = mesh_of_two()
        net = cut(built(), mesh, TENSOR)
        line = mesh["dp"].get_local_rank()
        group, across = mesh["dp"].get_group(), mesh["tp"].get_group()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def step(x, y):
            optimizer.zero_grad()
            loss = loss_of(net, x, y)
            loss.backward()
            optimizer.step()
            mean = loss.detach().clone()
            dist.all_reduce(mean, group=group)
            most = loss.detach() * 1
            dist.all_reduce(most, dist.ReduceOp.MAX, group=across)
            return loss.detach(), mean / 2, most

        run = way(step)
        return [lists(run(*batch(i, line))) for i in range(3)], run

    return eager_and_compiled(training)


def case_whole_results():
    """``full_tensor()`` of what is computed, beside a rank's own values."""
    mesh = mesh_of_four()
    w = torch.arange(16.0).reshape(4, 4) / 8
    found = []
    for placements in ([Shard(0), Replicate()], [Shard(0), Shard(1)], [Replicate(), Shard(1)]):
        d = distribute_tensor(w, mesh, placements)

        def step(x, d):
            y = (d * 2 + 1).full_tensor()
            assert not isinstance(y, DTensor)
            return y @ x, (d.full_tensor() * x).sum(0)

        found.append(told(step, d))
    return found


def case_gradients_of_whole_results():
    """Each rank has a gradient of its own."""
    mesh = mesh_of_four()
    found = []
    for placements in ([Shard(0), Replicate()], [Shard(0), Shard(1)]):
        for given in (None, [Partial(), Replicate()], [Partial(), Partial()]):
            w = torch.arange(16.0).reshape(4, 4) / 8
            d = distribute_tensor(w, mesh, placements).requires_grad_()

            def step(x, d, given=given):
                y = d.full_tensor(grad_placements=given)
                (g,) = torch.autograd.grad(((y * x) ** 2).sum(), d)
                return y * x, g

            found.append(told(step, d))
    return found


def case_norms_of_parts():
    """What ``clip_grad_norm_`` gives is a DTensor; scripts log it whole."""

    def training(way):
        mesh = mesh_of_two()
        net = cut(built(), mesh, TENSOR)
        line = mesh["dp"].get_local_rank()

        def step(x, y):
            net.zero_grad()
            loss = loss_of(net, x, y)
            loss.backward()
            grads = [p.grad for p in net.parameters() if p.grad.device_mesh.ndim == 2]
            norm = torch.stack([g.pow(2).sum().full_tensor() for g in grads]).sum().sqrt()
            return loss.detach(), norm * loss.detach()

        run = way(step)
        return [lists(run(*batch(i, line))) for i in range(2)], run

    return eager_and_compiled(training)


def case_a_linear_layer_in_parts():
    """A rank computes with its part, and the parts' products are summed by hand."""
    mesh = mesh_of_four()
    tp = mesh["tp"].get_group()
    torch.manual_seed(0)
    layer = nn.Linear(4, 6, bias=False)
    part = layer.weight.detach().chunk(2, 1)[mesh["tp"].get_local_rank()].contiguous()

    def step(x, part):
        y = part @ x[:2]
        dist.all_reduce(y, group=tp)
        return (torch.tanh(y),)

    return told(step, part)
