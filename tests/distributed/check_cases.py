"""Steps over ranks in which one rank finds a value that is not allowed: all are told, in eager
code's words, and none has taken the step. Each case checks itself."""

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from sharded_cases import Net, batch, line, sharded
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel as DDP
from two_dimensional_cases import ENDS, SEQUENCE, TENSOR, built, cut, mesh_of_two
from two_dimensional_cases import batch as batch_of_line


def own_part(t):
    t = t.detach()
    return (t.to_local() if isinstance(t, DTensor) else t).tolist()


def state_of(model, optimizer):
    found = [own_part(t) for t in model.state_dict().values()]
    for of_parameter in optimizer.state.values():
        found += [own_part(v) for v in of_parameter.values() if isinstance(v, torch.Tensor)]
    return found


def check(model, good, wrongs, optimizer=torch.optim.AdamW, **options):
    """Train with ``good`` batches; the wrong one at last rank alone raises everywhere, and what was
    trained stays. ``wrongs``: the words of an error, and the batch of this rank."""
    made = optimizer(model.parameters(), lr=0.01, **options)

    def step(x, y):
        made.zero_grad()
        logits = model(x)
        loss = F.cross_entropy(logits.flatten(0, -2), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        made.step()
        return loss.detach()

    run = torch.compile(step, fullgraph=True)
    for _ in range(3):
        run(*good).item()
    before = state_of(model, made)
    for words, wrong in wrongs:
        with pytest.raises(IndexError, match=words):
            run(*wrong).item()
        assert state_of(model, made) == before
    assert run(*good).isfinite()
    assert state_of(model, made) != before
    assert run.compiles == 1, run.compiles


def last_rank_has(good, wrong):
    return wrong if dist.get_rank() == dist.get_world_size() - 1 else good


def wrong_batches(x, y, classes, words):
    """Give a label that is no class, and an id that is no word."""
    return [
        (f"Target {classes} is out of bounds", (x, last_rank_has(y, y * 0 + classes))),
        ("index out of range in self", (last_rank_has(x, x * 0 + words), y)),
    ]


def case_fully_shard():
    x, y = batch(0)
    check(sharded(line()), (x, y), wrong_batches(x, y, 8, 32))


def case_replicas_of_parts():
    n = dist.get_world_size()
    mesh = init_device_mesh("cpu", (n // 2, 2), mesh_dim_names=("replicas", "parts"))
    x, y = batch(0)
    check(sharded(mesh), (x, y), wrong_batches(x, y, 8, 32), torch.optim.SGD, momentum=0.9)


def case_data_parallel():
    torch.manual_seed(0)
    x, y = batch(0)
    check(DDP(Net()), (x, y), wrong_batches(x, y, 8, 32))


def case_data_parallel_along_one_dimension():
    """DDP over the lines of a grid of ranks, beside a collective of all."""
    n = dist.get_world_size()
    mesh = init_device_mesh("cpu", (n // 2, 2), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    net = DDP(
        nn.Sequential(nn.Embedding(32, 8), nn.Linear(8, 8)), process_group=mesh["dp"].get_group()
    )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    @torch.compile(fullgraph=True)
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten())
        loss.backward()
        optimizer.step()
        total = loss.detach()
        dist.all_reduce(total)
        return total

    x, y = batch(0)
    for _ in range(2):
        step(x, y).item()
    before = state_of(net, optimizer)
    for words, wrong in wrong_batches(x, y, 8, 32):
        with pytest.raises(IndexError, match=words):
            step(*wrong).item()
        assert state_of(net, optimizer) == before
    assert step(x, y).isfinite()


def tensor_parallel(plan, ends=None):
    mesh = mesh_of_two()
    at = mesh["dp"].get_local_rank()
    x, y = batch_of_line(0, at)
    is_last = at == mesh["dp"].size() - 1
    wrongs = [
        ("Target 16 is out of bounds", (x, y * 0 + 16 if is_last else y)),
        ("index out of range in self", (x * 0 + 16 if is_last else x, y)),
    ]
    net = cut(built(), mesh, plan, *([] if ends is None else [ends]))
    check(net, (x, y), wrongs, foreach=False)


def case_tensor_parallel():
    tensor_parallel(TENSOR)


def case_sequence_parallel():
    tensor_parallel(SEQUENCE, ENDS)


def case_dtensors():
    """All values are shared, and with them what is wrong."""
    mesh = line()
    table = distribute_tensor(torch.arange(32.0).reshape(16, 2), mesh, [Shard(0)])
    table.requires_grad_()
    optimizer = torch.optim.SGD([table], lr=0.1, momentum=0.9)

    @torch.compile(fullgraph=True)
    def step(ids):
        optimizer.zero_grad()
        loss = F.embedding(ids, table).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    def shared(*ids):
        return distribute_tensor(torch.tensor(ids), mesh, [Replicate()])

    for _ in range(2):
        step(shared(1, 2)).full_tensor().item()
    before = own_part(table)
    with pytest.raises(IndexError, match="index out of range in self"):
        step(shared(1, 16)).full_tensor().item()
    assert own_part(table) == before
    assert step(shared(0, 15)).full_tensor().isfinite()
    assert table.full_tensor()[1].tolist() != [2.0, 3.0]


def case_a_local_part_and_a_shared_value():
    """Give one rank a wrong index of its own, and after that all of them a shared one."""
    mesh, rank = line(), dist.get_rank()
    count = distribute_tensor(torch.zeros(8), mesh, [Shard(0)])
    table = distribute_tensor(torch.arange(8.0), mesh, [Replicate()])

    @torch.compile(fullgraph=True)
    def step(own, shared):
        count.add_(1)
        picked = torch.arange(4.0)[own]
        return picked, table[shared].full_tensor()

    def shared(i):
        return distribute_tensor(torch.tensor([i]), mesh, [Replicate()])

    def told(own, other):
        with pytest.raises(IndexError) as raised:
            step(torch.tensor([own]), shared(other))[0].tolist()
        return str(raised.value).partition("\n")[0]

    picked, found = step(torch.tensor([rank]), shared(5))
    assert picked.tolist() == [rank]
    assert found.tolist() == [5]
    assert told(9 if rank == 1 else 0, 5) == told(9, 5)
    assert "index 9 is out of bounds" in told(9 if rank == 1 else 0, 5)
    assert "index 8 is out of bounds" in told(0, 8)
    assert count.full_tensor().tolist() == [1.0] * 8


def case_plain_tensors_beside_dtensors():
    """They never meet, and no collective is asked for."""
    mesh, rank = line(), dist.get_rank()
    count = distribute_tensor(torch.zeros(8), mesh, [Shard(0)])

    @torch.compile(fullgraph=True)
    def step(own):
        count.add_(1)
        return torch.arange(4.0)[own]

    for _ in range(2):
        assert step(torch.tensor([rank])).tolist() == [rank]
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        step(torch.tensor([9 if rank == 1 else 0])).tolist()
    assert count.full_tensor().tolist() == [2.0] * 8
    assert step(torch.tensor([rank])).tolist() == [rank]
    assert count.full_tensor().tolist() == [3.0] * 8


class GatheredByGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g.index_select(0, g.long())


def backward_alone(make):
    """Have one rank's cotangent fail in a backward that runs by itself: no rank gets a gradient."""
    rank = dist.get_rank()
    net, run = make()
    good = torch.tensor([0.0, 1.0, 2.0])
    for _ in range(2):
        run(net).backward(good)
    before = own_part(net.grad)
    assert any(before)
    wrong = torch.tensor([0.0, 1.0, 9.0]) if rank == 1 else good
    with pytest.raises(IndexError, match="index out of range in self"):
        run(net).backward(wrong)
    assert own_part(net.grad) == before
    run(net).backward(good)
    assert own_part(net.grad) != before


def case_a_backward_with_collectives():
    @torch.compile(fullgraph=True)
    def run(x):
        total = x.detach().sum()
        dist.all_reduce(total)
        return GatheredByGradient.apply(x * total)

    backward_alone(lambda: (torch.ones(3, requires_grad=True), run))


def case_a_backward_over_lines():
    n = dist.get_world_size()
    mesh = init_device_mesh("cpu", (n // 2, 2), mesh_dim_names=("dp", "tp"))

    @torch.compile(fullgraph=True)
    def run(x):
        for name in ("dp", "tp"):
            total = x.detach().sum()
            dist.all_reduce(total, group=mesh[name].get_group())
            x = x * total
        return GatheredByGradient.apply(x)

    backward_alone(lambda: (torch.ones(3, requires_grad=True), run))


def case_a_backward_beside_dtensors():
    count = distribute_tensor(torch.ones(8), line(), [Shard(0)])

    @torch.compile(fullgraph=True)
    def run(x):
        count.add_(1)
        return GatheredByGradient.apply(x)

    backward_alone(lambda: (torch.ones(3, requires_grad=True), run))
