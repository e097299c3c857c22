"""What PyTorch does on GPUs alone, hangs at, or does not do: each case checks itself."""

import io
import tempfile

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.distributed.tensor.experimental import implicit_replication
from torch.nn.parallel import DistributedDataParallel as DDP


def case_sync_batch_norm():
    """Statistics and gradients are those of one batch norm on all ranks' batches, one of which is
    larger."""
    rank, n = dist.get_rank(), dist.get_world_size()
    sizes = [4 + i for i in range(n)]
    torch.manual_seed(0)
    whole = (torch.randn(sum(sizes), 3, 5) * 2 + 1).requires_grad_()
    weights = torch.randn(sum(sizes), 3, 5)
    reference = nn.BatchNorm1d(3)
    (reference(whole) * weights).sum().backward()
    start = sum(sizes[:rank])
    rows = slice(start, start + sizes[rank])
    own = whole.detach()[rows].clone().requires_grad_()
    model = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(3))
    out = model(own)
    (out * weights[rows]).sum().backward()
    torch.testing.assert_close(out, reference(whole)[rows], rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(own.grad, whole.grad[rows], rtol=1e-4, atol=1e-5)
    dist.all_reduce(model.weight.grad)
    torch.testing.assert_close(model.weight.grad, reference.weight.grad, rtol=1e-4, atol=1e-4)
    with torch.no_grad():  # the reference has seen the batch twice by now
        second = nn.BatchNorm1d(3)
        second(whole)
    torch.testing.assert_close(model.running_mean, second.running_mean, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(model.running_var, second.running_var, rtol=1e-5, atol=1e-6)


def case_saves_beside_the_script():
    """What a save in another thread tells the others is not the script's."""
    made = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(made)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    d = distribute_tensor(torch.arange(8.0), mesh, [Shard(0)])
    futures = [dcp.async_save({"d": d}, checkpoint_id=f"{made[0]}/{i}") for i in range(2)]
    d.mul_(2)  # what is saved is what was there
    told = [None] * dist.get_world_size()
    for _ in range(3):
        dist.all_gather_object(told, dist.get_rank())
        dist.barrier()
    assert told == list(range(dist.get_world_size()))
    for i, future in enumerate(futures):
        future.result()
        found = torch.zeros(8)
        dcp.load({"d": found}, checkpoint_id=f"{made[0]}/{i}")
        assert found.equal(torch.arange(8.0))


def case_large_all_reduce():
    """20 MB go in pieces and into their own memory; not where somebody else has the values."""
    rank, n = dist.get_rank(), dist.get_world_size()
    length = (5 << 20) + 3
    numbers = torch.arange(length, dtype=torch.float32) % 1000
    x = numbers + rank
    dist.all_reduce(x)  # it may have lain in memory of NumPy's
    assert x.equal(numbers * n + n * (n - 1) / 2)
    at = x.jax().unsafe_buffer_pointer()
    dist.all_reduce(x, dist.ReduceOp.MAX)
    assert x.equal(numbers * n + n * (n - 1) / 2)
    assert x.jax().unsafe_buffer_pointer() == at
    kept = x.clone()
    held = x.jax()
    dist.all_reduce(x, dist.ReduceOp.AVG)
    assert x.equal(kept)
    assert not held.is_deleted()
    rows = x[1:].view(2, -1)
    rows += rank
    dist.all_reduce(rows, dist.ReduceOp.MAX)
    assert x[1:].equal(kept[1:] + n - 1)
    assert x[0] == kept[0]
    twice = torch.ones(length)
    dist.all_reduce_coalesced([twice, twice])  # one memory: given away once at most
    assert (twice == n).all()
    whole = torch.full((2, length), rank, dtype=torch.int32)
    work = dist.all_reduce(whole, async_op=True)
    work.wait()
    assert whole.eq(n * (n - 1) // 2).all()


def case_batched_power_sgd():
    """Of full rank the products are the mean itself; of rank 1 what they miss is kept. (PyTorch's
    hook fails at its own assertion.)"""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as hooks

    for rank, misses in ((6, False), (1, True)):
        torch.manual_seed(0)
        model = DDP(nn.Linear(6, 5))  # 35 parameters: a matrix of 6 rows
        state = hooks.PowerSGDState(None, rank, 2)
        model.register_comm_hook(state, hooks.batched_powerSGD_hook)
        for i in range(3):
            torch.manual_seed(10 * i + dist.get_rank())
            x = torch.randn(7, 6)
            mean = torch.autograd.grad(model.module(x).pow(2).sum(), [*model.parameters()])
            for g in mean:
                dist.all_reduce(g, dist.ReduceOp.AVG)
            model.zero_grad()
            model(x).pow(2).sum().backward()
        missed = [
            (p.grad - g).abs().max().item() for p, g in zip(model.parameters(), mean, strict=True)
        ]
        assert (max(missed) > 1e-2) == misses, missed
        dist.all_reduce(state.error_dict[0])  # what all together missed
        assert (state.error_dict[0].abs().max().item() > 1e-2) == misses
        if not misses:
            for p, g in zip(model.parameters(), mean, strict=True):
                torch.testing.assert_close(p.grad, g, rtol=1e-4, atol=1e-4)
        assert state.compression_stats() == (35 / (12 * rank), 35, 12 * rank)


def case_hooks_that_count_steps_are_no_programs():
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as hooks

    model = DDP(nn.Linear(3, 2))
    model.register_comm_hook(hooks.PowerSGDState(None), hooks.powerSGD_hook)

    @torch.jit.jit
    def step(x):
        loss = model(x).sum()
        loss.backward()
        return loss.detach()

    with pytest.raises(torch.jit.JitCaptureError, match="communication hook counts the steps"):
        step(torch.ones(2, 3))


def case_a_sharded_loader():
    """Each process loads its part; all of it is one batch, and a step with it is that of the whole
    batch in one process."""
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    n, rank = dist.get_world_size(), dist.get_rank()
    data = TensorDataset(torch.arange(12.0 * n).reshape(4 * n, 3), torch.arange(4 * n))
    sampler = DistributedSampler(data, shuffle=False)
    mesh = init_device_mesh("cpu", (n,))
    loader = dist.ShardedLoader(DataLoader(data, batch_size=2, sampler=sampler), mesh)
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    for i, (x, y) in enumerate(loader):
        assert x.placements == y.placements == (Shard(0),)
        assert x.shape == (2 * n, 3)
        rows = [data[j * n + r][0] for r in range(n) for j in (2 * i, 2 * i + 1)]
        assert x.full_tensor().equal(torch.stack(rows))
        assert y.to_local().tolist() == [2 * i * n + rank, (2 * i + 1) * n + rank]
        with implicit_replication():
            loss = model(x).pow(2).mean()
        expected = model(torch.stack(rows)).pow(2).mean()
        torch.testing.assert_close(loss.full_tensor(), expected, rtol=1e-5, atol=1e-5)
    assert i == len(loader) - 1 == 1


def case_models_that_differ():
    with pytest.raises(RuntimeError, match=r"same model across all ranks: \[weight\]"):
        DDP(nn.Linear(4, 2 + dist.get_rank()))


def case_shapes_that_differ():
    with pytest.raises(RuntimeError, match=r"mismatch.*rank 0: all_reduce\(SUM, float32 \(7,\)\)"):
        dist.all_reduce(torch.zeros(7 + dist.get_rank()))


def case_calls_that_differ():
    x = torch.zeros(9)
    call = dist.all_reduce if dist.get_rank() == 0 else dist.broadcast
    with pytest.raises(RuntimeError, match=r"rank 0: all_reduce.*; rank 1: broadcast"):
        call(x, **({} if call is dist.all_reduce else {"src": 0}))


def case_detail_sees_calls_that_were_made_before():
    for shape in (3, 4):
        dist.all_reduce(torch.zeros(shape))
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    try:
        with pytest.raises(RuntimeError, match=r"rank 1: all_reduce\(SUM, float32 \(4,\)\)"):
            dist.all_reduce(torch.zeros(3 if dist.get_rank() == 0 else 4))
    finally:
        dist.set_debug_level_from_env()


def case_recv_of_another_size():
    if dist.get_rank() == 0:
        dist.send(torch.zeros(3), 1)
    if dist.get_rank() == 1:
        with pytest.raises(RuntimeError, match=r"recv from rank 0: .* 4 elements .* 3 elements"):
            dist.recv(torch.zeros(4), 0)


def case_who_is_missing():
    from datetime import timedelta

    short = timedelta(seconds=0.5)
    if dist.get_rank() == 0:
        with pytest.raises(
            dist.DistBackendError, match=r"Rank 1.* failed to pass monitoredBarrier"
        ):
            dist.monitored_barrier(timeout=short)
    else:
        import time

        time.sleep(1.5)
        dist.monitored_barrier()  # the one that rank 0 has given up
    dist.monitored_barrier()


def case_uneven_all_to_all():
    rank, n = dist.get_rank(), dist.get_world_size()
    out = [torch.zeros(i + rank + 1) for i in range(n)]
    dist.all_to_all(out, [torch.full((rank + i + 1,), 10.0 * rank + i) for i in range(n)])
    assert [o.tolist() for o in out] == [[10.0 * i + rank] * (i + rank + 1) for i in range(n)]


def case_average():
    x = torch.tensor([1.0, 3.0]) * (dist.get_rank() + 1)
    dist.all_reduce(x, op=dist.ReduceOp.AVG)
    n = dist.get_world_size()
    assert x.tolist() == [(n + 1) / 2, 3 * (n + 1) / 2]


def case_a_program_of_many_dispatches():
    """Collectives that were begun and not waited for, and reads of them in another order."""
    xs = [torch.full((50,), float(dist.get_rank() + i)) for i in range(20)]
    for x in xs:
        dist.all_reduce(x, async_op=True)
    n = dist.get_world_size()
    for i, x in reversed(list(enumerate(xs))):
        assert x[0].item() == n * i + n * (n - 1) / 2


def case_under_jit_is_refused():
    """What is not the same on all ranks, or is no part of a program."""
    import torchlike
    from torchlike._core.errors import JitCaptureError

    def refused(step, match, error=JitCaptureError):
        with pytest.raises(error, match=match):
            torchlike.jit(step)(torch.ones(2))

    def waits(x):
        dist.barrier()
        return x + 1

    def gathers(x):
        dist.gather(x, [x, x] if dist.get_rank() == 0 else None)

    def on_a_condition(x):
        if x.sum() > 0:
            dist.all_reduce(x)
        return x

    def forward_alone(x):
        return model(x)

    model = DDP(nn.Linear(2, 2))
    refused(waits, r"barrier between processes")
    refused(gathers, r"gather, which is not the same on all ranks")
    refused(on_a_condition, r"a collective inside")
    refused(forward_alone, r"forward pass of a DistributedDataParallel without its backward")


def case_a_captured_step():
    """Collectives, a gradient through one, and a step of data parallelism are one program each,
    and give what they give eagerly."""
    import torchlike

    def step(x, y):
        opt.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        opt.step()
        total = loss.detach().clone()
        dist.all_reduce(total)
        return loss.detach(), total

    found = []
    for way in (lambda f: f, torchlike.jit):
        torch.manual_seed(0)
        model = DDP(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 2)))
        opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        run = way(step)
        torch.manual_seed(dist.get_rank())  # each rank has random numbers of its own
        losses = [run(torch.randn(4, 8), torch.randn(4, 2)) for _ in range(3)]
        found.append([*map(torch.stack, losses), *(p.detach() for p in model.parameters())])
    assert run.compiles == 1
    torch.testing.assert_close(found[1], found[0], rtol=1e-6, atol=1e-6)


def case_a_fully_sharded_step():
    """The gradient is the mean of all ranks' batches, of which each rank has its own."""
    from torch.distributed.fsdp import fully_shard

    n = dist.get_world_size()
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4))
    fully_shard(model)
    torch.manual_seed(1)
    batches = torch.randn(n, 6, 8)
    own = model(batches[dist.get_rank()])
    assert own.equal(plain(batches[dist.get_rank()]))
    own.pow(2).mean().backward()
    plain(batches.flatten(0, 1)).pow(2).mean().backward()
    for p, q in zip(model.parameters(), plain.parameters(), strict=True):
        assert p.to_local().numel() == q.numel() // n
        torch.testing.assert_close(p.grad.full_tensor(), q.grad, rtol=1e-5, atol=1e-6)


def case_a_compiled_fully_sharded_step():
    """With a batch of each rank's own: one program, with what it gives eagerly. A plain tensor
    beside a parameter is the error that it is there."""
    from torch.distributed.fsdp import fully_shard

    import torchlike

    mesh, found = init_device_mesh("cpu", (dist.get_world_size(),)), []
    for way in (lambda f: f, torchlike.jit):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4))
        for m in (model[0], model):
            fully_shard(m, mesh=mesh)

        def step(optimizer, x, y, model=model):
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = way(step)
        losses = _trained(run, model.parameters())
        found.append((losses, [p.full_tensor() for p in model.parameters()]))
    torch.testing.assert_close(found[1], found[0], rtol=1e-6, atol=1e-6)
    assert run.compiles == 1
    text = run.latest.forward.compile().as_text()
    assert "reduce-scatter(" in text
    assert text.count("all-gather(") >= 4

    every = DTensor.from_local(torch.randn(6, 8), mesh, [Shard(0)])  # a batch of all ranks
    loss = torchlike.jit(lambda x: model(x).pow(2).mean())
    torch.testing.assert_close(
        loss(every).full_tensor(), model(every).pow(2).mean().full_tensor(), rtol=1e-5, atol=1e-6
    )

    @torchlike.jit
    def beside(x):
        return model(x).sum() + (model[0].weight * x).sum()

    with mixed("aten.mul.Tensor"):
        beside(torch.ones(8, 8))


def case_tensor_parallel_under_fully_shard():
    """Each row of the mesh has its own batch, whose rank computes it alone here; four ranks are in
    two_dimensional_cases.py."""
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    n, rank = dist.get_world_size(), dist.get_rank()
    mesh = init_device_mesh("cpu", (n, 1), mesh_dim_names=("dp", "tp"))
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4))
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 4))
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    batches = torch.randn(n, 6, 8)
    with pytest.raises(NotImplementedError, match=r"fully_shard.*takes plain batches"):
        model(batches[rank])
    fully_shard(model, mesh=mesh["dp"])
    own = model(batches[rank])
    assert not isinstance(own, DTensor)
    torch.testing.assert_close(own, plain(batches[rank]), rtol=1e-5, atol=1e-6)
    own.pow(2).mean().backward()
    plain(batches.flatten(0, 1)).pow(2).mean().backward()
    for p, q in zip(model.parameters(), plain.parameters(), strict=True):
        assert p.to_local().numel() == q.numel() // n
        torch.testing.assert_close(p.grad.full_tensor(), q.grad, rtol=1e-5, atol=1e-6)


def case_attention_of_a_cut_sequence():
    """In values and gradients that of the whole; context_parallel_cases.py has more."""
    from torch.distributed.tensor.experimental import context_parallel
    from torch.distributed.tensor.experimental._attention import context_parallel_unshard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    whole = torch.randn(2, 3, 8, 4)
    given = whole.clone()

    def attended(x):
        x = x.clone().requires_grad_()
        out = F.scaled_dot_product_attention(x, x * 2, x + 1, is_causal=True)
        return out.detach(), *torch.autograd.grad(out.pow(2).sum(), x)

    with context_parallel(mesh, buffers=[given], buffer_seq_dims=[2]):
        found = context_parallel_unshard(mesh, attended(given), [2, 2])
    assert given.equal(whole)
    torch.testing.assert_close(found, list(attended(whole)), rtol=1e-5, atol=1e-5)


def case_programs_that_differ():
    """A rank's number in Python's values is an error on all ranks."""
    import torchlike

    @torchlike.jit
    def step(x):
        dist.all_reduce(x)
        return x + dist.get_rank()

    with pytest.raises(RuntimeError, match=r"mismatch.*rank 0: the compiled .*step.* one program"):
        step(torch.ones(2))


def _trained(step, parameters):
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    losses = []
    for i in range(3):
        torch.manual_seed(10 * i + dist.get_rank())
        losses.append(step(optimizer, torch.randn(6, 8), torch.randn(6, 4)).item())
    return losses


def case_torch_compile():
    """The module inside, around, or the whole step: the same losses."""

    def model():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))

    def step_of(run):
        def step(optimizer, x, y):
            optimizer.zero_grad()
            loss = ((run(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            return loss

        return step

    found = []
    for make in (DDP, lambda m: DDP(torch.compile(m)), lambda m: torch.compile(DDP(m))):
        m = model()
        found.append(_trained(step_of(make(m)), m.parameters()))
    m = model()
    found.append(_trained(torch.compile(step_of(DDP(m))), m.parameters()))
    for other in found[1:]:
        assert other == pytest.approx(found[0], rel=1e-5)


def case_file_store(path="/tmp"):
    import os

    name = f"{path}/torchlike-test-{os.environ['MASTER_PORT']}"
    store = dist.FileStore(name, dist.get_world_size())
    store.add("sum", dist.get_rank() + 1)
    store.set(f"here{dist.get_rank()}", "x")
    store.wait([f"here{r}" for r in range(dist.get_world_size())])
    n = dist.get_world_size()
    assert store.add("sum", 0) == n * (n + 1) // 2
    dist.barrier()
    if dist.get_rank() == 0:
        os.unlink(name)


def case_again():
    """A second world of the same processes."""
    import os

    rank, n = dist.get_rank(), dist.get_world_size()
    dist.barrier()
    dist.destroy_process_group()
    dist.init_process_group("gloo")
    x = torch.tensor([1.0 * rank])
    dist.all_reduce(x)
    assert x.item() == n * (n - 1) / 2
    assert int(os.environ["WORLD_SIZE"]) == n


def _through(parts, schedule, stages, n, batch, target):
    """A step of the schedule, and the same of all parts one after the other in this process."""
    loss_fn = nn.MSELoss()
    losses = []
    first, last = any(s.is_first for s in stages), any(s.is_last for s in stages)
    out = schedule(stages, n, loss_fn=loss_fn).step(
        *((batch,) if first else ()), target=target if last else None, losses=losses
    )
    whole = nn.Sequential(*parts)
    for p in whole.parameters():
        p.grad = None
    expected = [
        loss_fn(whole(x), t)
        for x, t in zip(batch.tensor_split(n), target.tensor_split(n), strict=True)
    ]
    sum(expected).div(n).backward()
    if last:
        torch.testing.assert_close(out, whole(batch).detach())
        torch.testing.assert_close(torch.stack(losses), torch.stack(expected))
    return whole


def case_pipeline_of_uneven_microbatches():
    """PyTorch's ranks would wait for activations of the first microbatch's size."""
    import copy

    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

    torch.manual_seed(0)
    parts = [nn.Linear(4, 4), nn.Linear(4, 4)]
    rank = dist.get_rank()
    module = copy.deepcopy(parts[rank])
    stage = PipelineStage(module, rank, 2, torch.device("cpu"))
    x, t = torch.randn(13, 4), torch.randn(13, 4)
    _through(parts, lambda s, n, **kw: ScheduleGPipe(s[0], n, **kw), [stage], 5, x, t)
    torch.testing.assert_close(module.weight.grad, parts[rank].weight.grad)


def case_pipeline_of_replicas():
    """Each rank has both stages, which are averaged over the ranks at the step's end."""
    import copy

    from torch.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B

    torch.manual_seed(0)
    parts = [nn.Linear(4, 4), nn.Linear(4, 4)]
    alone = [dist.new_group([r]) for r in range(dist.get_world_size())][dist.get_rank()]
    modules = [DDP(copy.deepcopy(p)) for p in parts]
    stages = [
        PipelineStage(m, i, 2, torch.device("cpu"), group=alone) for i, m in enumerate(modules)
    ]
    torch.manual_seed(1 + dist.get_rank())
    whole = _through(
        parts, ScheduleInterleaved1F1B, stages, 4, torch.randn(8, 4), torch.randn(8, 4)
    )
    for mine, p in zip(
        [p for m in modules for p in m.parameters()], whole.parameters(), strict=True
    ):
        dist.all_reduce(p.grad)
        torch.testing.assert_close(mine.grad, p.grad / dist.get_world_size())


def case_pipelines_that_are_refused():
    from torch.distributed.pipelining import (
        PipelineStage,
        ScheduleDualPipeV,
        ScheduleGPipe,
        ScheduleInterleaved1F1B,
        SplitPoint,
        pipeline,
    )

    cpu, rank = torch.device("cpu"), dist.get_rank()
    with pytest.raises(ValueError, match="Stage index 2 is out of range of 2"):
        PipelineStage(nn.Linear(2, 2), 2, 2, cpu)
    with pytest.raises(ValueError, match="group size 2 cannot be larger than number of stages 1"):
        PipelineStage(nn.Linear(2, 2), 0, 1, cpu)
    stages = [PipelineStage(nn.Linear(2, 2), i, 4, cpu) for i in (0, 1)]
    with pytest.raises(ValueError, match=f"rank {rank} of 2 has stages"):
        ScheduleInterleaved1F1B(stages, 4)
    stage = PipelineStage(nn.Linear(2, 2), rank, 2, cpu)
    with pytest.raises(ValueError, match="Expecting 4 arg_mbs but got 3"):
        ScheduleGPipe(stage, 4).step(torch.zeros(3, 2))
    with pytest.raises(TypeError, match="losses must be a list"):
        ScheduleGPipe(stage, 4).step(torch.zeros(4, 2), losses=())
    with pytest.raises(NotImplementedError, match="ScheduleZBVZeroBubble"):
        ScheduleDualPipeV([stage], 4)

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(self.a(x))

    with pytest.raises(NotImplementedError, match=r"weight is used in two stages"):
        pipeline(Tied(), (torch.zeros(1, 2),), split_spec={"b": SplitPoint.BEGINNING})

    class Deciding(Tied):
        def forward(self, x):
            return self.a(x) if x.sum() > 0 else self.b(x)

    with pytest.raises(NotImplementedError, match="Use instead: PipelineStage"):
        pipeline(Deciding(), (torch.zeros(1, 2),), split_spec={"b": SplitPoint.BEGINNING})


def mixed(op):
    return pytest.raises(RuntimeError, match=f"{op} got mixed torch.Tensor and DTensor")


def case_plain_tensors_beside_dtensors():
    """PyTorch's error, also where the same op has run on DTensors, and after it was allowed."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    plain = torch.arange(8.0).reshape(4, 2)
    d = distribute_tensor(plain, mesh, [Shard(0)])
    own = plain + dist.get_rank()
    for _ in range(2):
        assert (d + d).full_tensor().equal(2 * plain)
        with mixed("aten.add.Tensor"):
            d + own
        with mixed("aten.add_.Tensor"):
            own.clone().add_(d)
    with implicit_replication():
        assert (d + plain).full_tensor().equal(2 * plain)
    for op, call in {
        "aten.add.Tensor": lambda: d + own,
        "aten.mse_loss.default": lambda: F.mse_loss(d, own),
        "aten.masked_fill.Tensor": lambda: d.masked_fill(own > 2, 0.0),
        "aten.copy_.default": lambda: d.clone().copy_(own),
        "aten.linear.default": lambda: F.linear(own, d),
        "aten.cat.default": lambda: torch.cat([d, own]),
    }.items():
        with mixed(op):
            call()
    with mixed("aten.copy_.default"):
        d.clone()[0] = torch.ones(2)


def case_what_goes_beside_dtensors():
    """Numbers, tensors of one element, masks of its own, and what is made like a DTensor."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    plain = torch.arange(8.0).reshape(4, 2)
    d = distribute_tensor(plain, mesh, [Shard(0)])
    assert (d + 1 + torch.tensor(1.0) + torch.ones(1, 1)).full_tensor().equal(plain + 3)
    for made in (torch.zeros_like(d), d.new_ones(4, 2), torch.full_like(d, 2.0)):
        assert isinstance(made, DTensor)
        assert (made * 0 + d).full_tensor().equal(plain)
    assert d.new_zeros(2).placements[0].is_replicate()
    torch.manual_seed(0)
    dropped = F.dropout(d, 0.5).full_tensor()
    torch.manual_seed(0)
    assert dropped.equal(F.dropout(plain, 0.5))
    torch.manual_seed(0)
    assert torch.rand_like(d).full_tensor().shape == (4, 2)
    filled = nn.init.ones_(distribute_tensor(plain, mesh, [Shard(0)]))
    assert filled.full_tensor().equal(torch.ones(4, 2))
    target = distribute_tensor(torch.tensor([0, 1, 1, 0]), mesh, [Shard(0)])
    loss = F.cross_entropy(d, target).full_tensor()
    torch.testing.assert_close(loss, F.cross_entropy(plain, torch.tensor([0, 1, 1, 0])))
    with pytest.raises(IndexError, match="Target 2 is out of bounds"):
        F.cross_entropy(d, target * 0 + 2)


def case_plain_tensors_in_compiled_steps():
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    plain = torch.arange(8.0).reshape(4, 2)
    d = distribute_tensor(plain, mesh, [Shard(0)])
    step = torch.compile(lambda a, b: (a + 1) * b)
    assert step(d, d).full_tensor().equal((plain + 1) * plain)
    for _ in range(2):
        with mixed("aten.mul.Tensor"):  # in a program that was captured for DTensors
            step(d, plain)
        with mixed("aten.mul.Tensor"):
            step(plain, d)
    with implicit_replication():
        assert step(d, plain).full_tensor().equal((plain + 1) * plain)
    with mixed("aten.mul.Tensor"):
        step(d, plain)
    with mixed("aten.add.Tensor"):
        torch.compile(lambda a: a + plain)(d)
    with mixed("aten.sub.Tensor"):
        leaf = d.detach().requires_grad_()
        torch.compile(lambda a, b: torch.autograd.grad(F.mse_loss(a, b), a))(leaf, plain)
    apart = torch.compile(lambda a, b: (a + a, b + b))(d, plain)  # they never meet
    assert apart[0].full_tensor().equal(2 * plain)
    torch.manual_seed(0)
    dropped = torch.compile(lambda a: F.dropout(a, 0.5))(d).full_tensor()
    torch.manual_seed(0)
    assert dropped.equal(F.dropout(plain, 0.5))


def case_full_tensor_in_a_compiled_step():
    """It is each rank's own, in the program and of what the program gives."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    plain, own = torch.arange(8.0).reshape(4, 2), torch.ones(4, 2) * dist.get_rank()
    d = distribute_tensor(plain, mesh, [Shard(0)])
    step = torch.compile(lambda a: (a + 1).sum().full_tensor() * a.full_tensor())
    for _ in range(3):
        assert step(d).equal((plain + 1).sum() * plain)
    with mixed(""):  # the number is a DTensor, the whole is this rank's own
        torch.compile(lambda a: (a + 1).sum() * a.full_tensor())(d)
    give = torch.compile(lambda a: a.full_tensor())
    for _ in range(3):
        whole = give(d)
        assert not isinstance(whole, DTensor)
        assert (whole + own).equal(plain + own)
    assert torch.compile(lambda a, b: (a * 2).full_tensor() * b)(d, own).equal(2 * plain * own)


def case_an_optimizer_of_both_kinds():
    """Plain parameters stay plain, and each rank's own."""
    mesh, rank = init_device_mesh("cpu", (dist.get_world_size(),)), dist.get_rank()
    cut = nn.Parameter(distribute_tensor(torch.ones(4, 2), mesh, [Shard(0)]))
    own = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([cut, own], lr=0.5)
    cut.grad = torch.ones_like(cut)
    own.grad = torch.full((3,), float(rank))
    optimizer.step()
    assert cut.detach().full_tensor().equal(torch.full((4, 2), 0.5))
    assert not isinstance(own, DTensor)
    assert own.tolist() == [1 - 0.5 * rank] * 3


def case_a_check_of_values_fails_on_one_rank():
    """All ranks are told, and none has taken the step."""
    torch.manual_seed(0)
    net, rank = DDP(nn.Linear(3, 2)), dist.get_rank()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)

    @torch.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    good = torch.tensor([0, 1])
    x = torch.full((2, 3), float(rank + 1))
    for _ in range(2):
        step(x, good).item()
    before = [p.tolist() for p in net.parameters()]
    wrong = torch.tensor([0, 2]) if rank == 1 else good
    with pytest.raises(IndexError, match="Target 2 is out of bounds"):
        step(x, wrong).item()
    assert [p.tolist() for p in net.parameters()] == before
    assert torch.isfinite(step(x, good))
    assert [p.tolist() for p in net.parameters()] != before


def case_a_dtensor_is_no_pickle():
    d = distribute_tensor(torch.arange(5.0), init_device_mesh("cpu", (2,)), [Shard(0)])
    for given in (d, d * 2):
        with pytest.raises(NotImplementedError, match=r"torch\.distributed\.checkpoint"):
            torch.save(given, io.BytesIO())


def case_local_parts_in_a_compiled_function():
    """Unequal ones are refused there; the values are not."""
    d = distribute_tensor(torch.arange(5.0), init_device_mesh("cpu", (2,)), [Shard(0)])
    doubled = torch.compile(lambda x: (x * 2).full_tensor(), fullgraph=True)
    assert doubled(d).tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    with pytest.raises(Exception, match="unequal parts or terms"):
        torch.compile(lambda x: x.to_local() * 2, fullgraph=True)(d)
