"""Pipelines on several ranks: each function is a case, and gives what its rank has at the end.

The same file runs under PyTorch's torchrun and under ``torchlike launch``.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleLoopedBFS,
    ScheduleZBVZeroBubble,
    SplitPoint,
    pipe_split,
    pipeline,
)
from torch.distributed.pipelining.microbatch import TensorChunkSpec
from torch.distributed.pipelining.schedules import get_schedule_class

N = 8


class Block(nn.Module):
    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.a, self.b = nn.Linear(6, 12), nn.Linear(12, 6)

    def forward(self, x):
        return x + self.b(torch.tanh(self.a(x)))


def loss_fn(y, t):
    return ((y - t) ** 2).mean()


def batch(seed=0, n=16):
    torch.manual_seed(100 + seed)
    return torch.randn(n, 6), torch.randn(n, 6)


def stages_of(places, number, make=Block):
    return [PipelineStage(make(i), i, number, torch.device("cpu")) for i in places]


def told(stages, losses, out=None):
    grads = [
        [p.grad.double().sum().item(), p.grad.double().abs().sum().item()]
        for s in stages
        for p in s.submod.parameters()
    ]
    given = None if out is None else [out.double().sum().item(), list(out.shape), out.requires_grad]
    return [grads, [loss.item() for loss in losses], given]


def stepped(schedule, stages, steps=2, **kwargs):
    parameters = [p for s in stages for p in s.submod.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    found = []
    for i in range(steps):
        optimizer.zero_grad()
        x, t = batch(i)
        losses, out = [], None
        args = (x,) if any(s.is_first for s in stages) else ()
        if any(s.is_last for s in stages):
            out = schedule.step(*args, target=t, losses=losses, **kwargs)
        else:
            assert schedule.step(*args, **kwargs) is None
        found.append(told(stages, losses, out))
        optimizer.step()
    return found


def single(kind, n=N, make=Block, **options):
    stages = stages_of([dist.get_rank()], dist.get_world_size(), make)
    return stepped(kind(stages[0], n, loss_fn=loss_fn, **options), stages)


def multi(kind, n=N, local=2, places=None, **options):
    rank, size = dist.get_rank(), dist.get_world_size()
    places = range(rank, local * size, size) if places is None else places
    stages = stages_of(places, local * size)
    return stepped(kind(stages, n, loss_fn=loss_fn, **options), stages)


def case_gpipe():
    return single(ScheduleGPipe)


def case_gpipe_without_scaling():
    return single(ScheduleGPipe, scale_grads=False)


def case_1f1b():
    return single(Schedule1F1B)


def case_1f1b_of_as_many_microbatches_as_stages():
    return single(Schedule1F1B, dist.get_world_size())


def case_1f1b_of_fewer():
    try:
        single(Schedule1F1B, 1)
    except ValueError as error:
        return " ".join(str(error).split())


def case_interleaved():
    return multi(ScheduleInterleaved1F1B)


def case_interleaved_of_three():
    return multi(ScheduleInterleaved1F1B, local=3)


def case_looped():
    return multi(ScheduleLoopedBFS)


def case_zero_bubble():
    return multi(ScheduleInterleavedZeroBubble)


def case_zero_bubble_v():
    rank, size = dist.get_rank(), dist.get_world_size()
    return multi(ScheduleZBVZeroBubble, places=[rank, 2 * size - 1 - rank])


class Two(nn.Module):
    """Takes and gives two tensors, of which one wants no gradient."""

    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.last = seed == dist.get_world_size() - 1
        self.a = nn.Linear(6, 6)

    def forward(self, x, mask=None):
        mask = (x.detach() > 0).float() if mask is None else mask
        y = torch.tanh(self.a(x)) * mask
        return y if self.last else (y, mask)


def case_two_tensors():
    return single(ScheduleGPipe, make=Two)


class Scaled(nn.Module):
    def __init__(self, seed):
        super().__init__()
        torch.manual_seed(seed)
        self.a = nn.Linear(6, 6)

    def forward(self, x, scale=None):
        return self.a(x) * scale


def case_keywords():
    stages = stages_of([dist.get_rank()], dist.get_world_size(), Scaled)
    spec = {"scale": TensorChunkSpec(0)}
    schedule = ScheduleGPipe(stages[0], N, loss_fn=loss_fn, kwargs_chunk_spec=spec)
    return stepped(schedule, stages, scale=torch.linspace(0.5, 1.5, 16)[:, None])


def case_eval():
    stages = stages_of([dist.get_rank()], dist.get_world_size())
    schedule = ScheduleGPipe(stages[0], N, loss_fn=loss_fn)
    x, t = batch()
    losses = []
    args = (x,) if stages[0].is_first else ()
    with torch.no_grad():
        out = schedule.eval(*args, target=t, losses=losses) if stages[0].is_last else None
        if not stages[0].is_last:
            schedule.eval(*args)
    grads = [p.grad is None for p in stages[0].submod.parameters()]
    return [grads, [x.item() for x in losses], None if out is None else out.sum().item()]


def case_step_without_gradients():
    stages = stages_of([dist.get_rank()], dist.get_world_size())
    try:
        with torch.no_grad():
            ScheduleGPipe(stages[0], N, loss_fn=loss_fn).step(batch()[0])
    except RuntimeError as error:
        return str(error)


def case_batch_wants_gradients():
    stages = stages_of([dist.get_rank()], dist.get_world_size())
    schedule = ScheduleGPipe(stages[0], N, loss_fn=loss_fn)
    x, t = batch()
    x.requires_grad_()
    schedule.step(*((x,) if stages[0].is_first else ()), target=t)
    return None if x.grad is None else x.grad.sum().item()


def case_names():
    names = ["gpipe", "1F1B", "interleaved1f1b", "LoopedBFS", "zbvzerobubble"]
    return [get_schedule_class(n).__name__ for n in names]


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(7)
        self.first = nn.Linear(6, 6)
        self.layers = nn.ModuleList(Block(i) for i in range(4))
        self.head = nn.Linear(6, 6)

    def forward(self, x):
        x = torch.relu(self.first(x))
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def of_pipe(pipe):
    stage = pipe.build_stage(dist.get_rank(), torch.device("cpu"))
    names = sorted(name for name, _ in stage.submod.named_parameters())
    return [pipe.num_stages, names, stepped(Schedule1F1B(stage, N, loss_fn=loss_fn), [stage])]


def case_pipeline_by_names():
    size = dist.get_world_size()
    spec = {f"layers.{i * 4 // size}": SplitPoint.BEGINNING for i in range(1, size)}
    return of_pipe(pipeline(Whole(), (batch()[0][:2],), split_spec=spec))


class Marked(nn.Module):
    """A value of the first stage is used in the second one too. (Used in later ones, PyTorch's four
    ranks wait for each other under 1F1B.)"""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.parts = nn.ModuleList(nn.Linear(6, 6) for _ in range(dist.get_world_size()))

    def forward(self, x):
        h = torch.tanh(x)
        for i, part in enumerate(self.parts):
            if i:
                pipe_split()
            x = torch.tanh(part(x))
            if i < 2:
                x = x + h
        return x


def case_pipeline_by_marks():
    return of_pipe(pipeline(Marked(), (batch()[0][:2],)))
