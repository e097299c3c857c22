"""Training by several ranks: each function is a case, and gives losses and parameters of its rank.

The same file runs under PyTorch's torchrun and under ``torchlike launch``.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def mlp(seed=0, norm=False):
    torch.manual_seed(seed)
    middle = [nn.BatchNorm1d(16)] if norm else []
    return nn.Sequential(nn.Linear(8, 16), *middle, nn.Tanh(), nn.Linear(16, 4))


def batch(i, n=6, width=8, out=4):
    torch.manual_seed(1000 + 10 * i + dist.get_rank())
    return torch.randn(n, width), torch.randn(n, out)


def told(model, losses):
    sums = [p.detach().double().sum().item() for p in model.parameters()]
    return losses, sums


def trained(model, make=None, steps=4, between=None):
    optimizer = (make or (lambda ps: torch.optim.SGD(ps, lr=0.1)))(model.parameters())
    losses = []
    for i in range(steps):
        x, y = batch(i)
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        if between is not None:
            between(model, i)
        optimizer.step()
        losses.append(loss.item())
    return told(model, losses)


def case_sgd():
    return trained(DDP(mlp()))


def case_rank_0_gives_the_parameters():
    return trained(DDP(mlp(seed=dist.get_rank())))


def case_adam():
    return trained(DDP(mlp()), lambda ps: torch.optim.Adam(ps, lr=0.05, eps=1e-3))


def case_adamw_and_a_schedule():
    model = DDP(mlp())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05, eps=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 4)
    return trained(model, lambda ps: optimizer, between=lambda m, i: schedule.step() if i else None)


def case_momentum_and_clipping():
    return trained(
        DDP(mlp()),
        lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9),
        between=lambda m, i: nn.utils.clip_grad_norm_(m.parameters(), 0.5),
    )


def case_batch_norm_buffers():
    model = DDP(mlp(norm=True))
    found = trained(model, lambda ps: torch.optim.SGD(ps, lr=0.05))
    return found, [b.double().sum().item() for b in model.buffers()]


def case_batch_norm_without_broadcasts():
    model = DDP(mlp(norm=True), broadcast_buffers=False)
    found = trained(model, lambda ps: torch.optim.SGD(ps, lr=0.05))
    return found, [b.double().sum().item() for b in model.buffers()]


def case_small_buckets():
    return trained(DDP(mlp(), bucket_cap_mb=0.0001))


def case_bucket_views():
    return trained(DDP(mlp(), gradient_as_bucket_view=True))


def case_what_shows_of_bucket_views():
    """Which gradients share memory, and what is seen of a write into one of them or all. PyTorch
    makes its buckets anew after a first pass, which is left out."""
    found = []
    model = DDP(mlp(), gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)

    def backward(i):
        x, y = batch(i)
        ((model(x) - y) ** 2).mean().backward()

    def seen():
        grads = [p.grad for p in model.parameters()]
        return [[g._is_view(), g.storage_offset(), g.stride(), g.sum().item()] for g in grads]

    backward(4)
    optimizer.zero_grad()
    for clears in (False, True):
        for i in range(2):
            backward(i)
            optimizer.step()
            grads = [p.grad for p in model.parameters()]
            found.append(
                [
                    seen(),
                    len({g.untyped_storage().data_ptr() for g in grads}),
                    [g.data_ptr() - grads[-1].data_ptr() for g in grads],
                ]
            )
            whole = torch.as_strided(grads[0], (sum(g.numel() for g in grads),), (1,), 0)
            whole.mul_(2.0)
            found.append(seen())
            optimizer.zero_grad(set_to_none=clears)
            found.append([p.grad is None or p.grad.abs().sum().item() for p in model.parameters()])
    with model.no_sync():
        backward(2)
    found.append(seen())
    backward(3)
    found.append(seen())
    try:
        grads[0].detach_()
    except RuntimeError as error:
        found.append(str(error)[:30])
    return found


def case_unused_parameters_and_bucket_views():
    torch.manual_seed(0)
    model = DDP(Branches(), find_unused_parameters=True, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    found = []
    for i in range(6):
        x, y = batch(i)
        if i % 2:
            optimizer.zero_grad(set_to_none=i == 3)
        left = (i + dist.get_rank()) % 2 == 0 if i < 2 else i == 2
        ((model(x, left) - y) ** 2).mean().backward()
        optimizer.step()
        found.append([None if p.grad is None else p.grad.sum().item() for p in model.parameters()])
    return found, told(model, [])


def case_no_sync():
    model = DDP(mlp())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses, grads = [], []
    for step in range(2):
        optimizer.zero_grad()
        with model.no_sync():
            for i in range(2):
                x, y = batch(4 * step + i)
                loss = ((model(x) - y) ** 2).mean()
                loss.backward()
                losses.append(loss.item())
            grads.append(model.module[0].weight.grad.sum().item())
        x, y = batch(4 * step + 2)
        ((model(x) - y) ** 2).mean().backward()
        grads.append(model.module[0].weight.grad.sum().item())
        optimizer.step()
    return told(model, losses), grads


class Branches(nn.Module):
    """Uses one branch or the other."""

    def __init__(self):
        super().__init__()
        self.stem, self.left, self.right = nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(8, 4)
        self.never = nn.Linear(2, 2)

    def forward(self, x, left):
        return (self.left if left else self.right)(self.stem(x))


def case_unused_parameters():
    torch.manual_seed(0)
    model = DDP(Branches(), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for i in range(4):
        x, y = batch(i)
        optimizer.zero_grad()
        left = (i + dist.get_rank()) % 2 == 0 if i < 2 else i == 2
        loss = ((model(x, left) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return told(model, losses), [p.grad is None for p in model.parameters()]


def case_unused_parameters_unasked():
    torch.manual_seed(0)
    model = DDP(Branches())
    x, _ = batch(0)
    model(x, True).sum().backward()
    try:
        model(x, True).sum().backward()
    except RuntimeError as error:
        return "Expected to have finished reduction" in str(error)
    return None


def case_static_graph():
    torch.manual_seed(0)
    model = DDP(Branches(), static_graph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for i in range(3):
        x, y = batch(i)
        optimizer.zero_grad()
        loss = ((model(x, True) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return told(model, losses)


def case_frozen_parameters():
    model = mlp()
    model[0].requires_grad_(False)
    return trained(DDP(model), lambda ps: torch.optim.SGD([p for p in ps if p.requires_grad], 0.1))


def case_shared_parameters():
    torch.manual_seed(0)

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(8, 8, bias=False)
            self.b = nn.Linear(8, 8, bias=False)
            self.b.weight = self.a.weight
            self.c = nn.Linear(8, 4)

        def forward(self, x):
            return self.c(self.b(torch.tanh(self.a(x))))

    return trained(DDP(Tied()))


def case_fp16_hook():
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model = DDP(mlp())
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    return trained(model)


def case_hook_of_ones_own():
    seen = []

    def hook(state, bucket):
        seen.append(
            (
                bucket.index(),
                bucket.is_last(),
                bucket.buffer().numel(),
                len(bucket.parameters()),
                len(bucket.gradients()),
            )
        )
        future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
        return future.then(lambda f: f.value()[0] / (2 * dist.get_world_size()))

    model = DDP(mlp())
    model.register_comm_hook(None, hook)
    return trained(model), seen[:1]


def case_noop_hook():
    from torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook

    model = DDP(mlp())
    model.register_comm_hook(None, noop_hook)
    return trained(model)


def powered(hook, rank, width=16, **options):
    """Losses, parameters and what was saved with PowerSGD from the third of seven steps on."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

    torch.manual_seed(0)
    model = DDP(
        nn.Sequential(
            nn.Linear(8, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 4)
        )
    )
    state = powerSGD_hook.PowerSGDState(None, rank, 2, random_seed=3, **options)
    model.register_comm_hook(state, getattr(powerSGD_hook, hook))
    found = trained(model, lambda ps: torch.optim.SGD(ps, lr=0.05), steps=7)
    kept = [sorted(d) for d in (state.error_dict, state.p_memory_dict, state.q_memory_dict)]
    return found, state.compression_stats(), kept, state.iter


def case_power_sgd():
    return powered("powerSGD_hook", 1)


def case_power_sgd_of_rank_3_in_batches():
    return powered("powerSGD_hook", 3, min_compression_rate=0.5, batch_tensors_with_same_shape=True)


def case_power_sgd_without_memory():
    return powered(
        "powerSGD_hook",
        2,
        use_error_feedback=False,
        warm_start=False,
        orthogonalization_epsilon=1e-6,
    )


def case_power_sgd_by_its_name():
    from torch.distributed.algorithms.ddp_comm_hooks import DDPCommHookType, register_ddp_comm_hook

    model = DDP(mlp())
    register_ddp_comm_hook(DDPCommHookType.POWER_SGD_RANK2, model)
    return trained(model)


def case_post_local_sgd():
    from torch.distributed.algorithms.ddp_comm_hooks import post_localSGD_hook as hooks
    from torch.distributed.algorithms.model_averaging import averagers
    from torch.distributed.optim import PostLocalSGDOptimizer

    found = []
    for alone in (True, False):
        model = DDP(mlp())
        group, _ = dist.new_subgroups(1)
        state = hooks.PostLocalSGDState(None, group, 2, post_local_gradient_allreduce=alone)
        model.register_comm_hook(state, hooks.post_localSGD_hook)
        averager = averagers.PeriodicModelAverager(3, warmup_steps=2)
        optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), averager)
        found.append([trained(model, lambda ps, o=optimizer: o), optimizer.state_dict()["step"]])
        again = PostLocalSGDOptimizer(
            torch.optim.SGD(model.parameters(), lr=0.2), averagers.PeriodicModelAverager(3)
        )
        again.load_state_dict(optimizer.state_dict())
        found.append(again.averager.step)
    return found


def case_names_that_libraries_use():
    from torch.distributed.distributed_c10d import _get_default_group
    from torch.distributed.utils import _sync_module_states

    model = mlp(seed=dist.get_rank(), norm=True)
    _sync_module_states(model, _get_default_group(), 1 << 20, 1, {"0.bias"})
    sums = {name: t.double().sum().item() for name, t in model.state_dict().items()}
    facts = DDP(mlp(), find_unused_parameters=True)._get_ddp_logging_data()
    names = (
        "module_name",
        "backend_name",
        "rank",
        "world_size",
        "bucket_sizes",
        "num_parameter_tensors",
        "total_parameter_size_bytes",
        "broadcast_buffers",
        "find_unused_parameters",
        "gradient_as_bucket_view",
    )
    backends = dist.Backend.default_device_backend_map
    return sums, [facts[n] for n in names], [backends["cpu"], backends["cuda"]]


def case_uneven_inputs():
    model = DDP(mlp())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    with model.join():
        for i in range(2 + 2 * dist.get_rank()):
            x, y = batch(i)
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return told(model, losses)


def case_uneven_inputs_divided_by_who_is_left():
    model = DDP(mlp(norm=True))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    with model.join(divide_by_initial_world_size=False):
        for i in range(2 + 2 * dist.get_rank()):
            x, y = batch(i)
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return told(model, losses)


def case_zero_redundancy():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    model = DDP(mlp())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.05, eps=1e-3)
    found = trained(model, lambda ps: optimizer)
    optimizer.consolidate_state_dict(0)
    state = None
    if dist.get_rank() == 0:
        whole = optimizer.state_dict()["state"]
        state = {str(k): v["exp_avg"].sum().item() for k, v in whole.items()}
    return found, state


def case_sampler_and_loader():
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    data = TensorDataset(torch.arange(11.0))
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=2, sampler=sampler)
    found = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        found.append([x.tolist() for (x,) in loader])
    return found, len(sampler)


def case_convolutions():
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 4)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for i in range(3):
        x, y = batch(i, 4, 64)
        optimizer.zero_grad()
        loss = ((model(x.view(4, 1, 8, 8)) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return told(model, losses)


def case_words():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(20, 8), nn.LSTM(8, 8, batch_first=True))
    head = nn.Linear(8, 20)

    class Words(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = model, head

        def forward(self, x):
            return self.head(self.body(x)[0])

    ddp = DDP(Words())
    optimizer = torch.optim.Adam(ddp.parameters(), lr=0.01, eps=1e-3)
    losses = []
    for i in range(3):
        torch.manual_seed(50 + 10 * i + dist.get_rank())
        x = torch.randint(0, 20, (3, 7))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(ddp(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return told(ddp, losses)


def case_a_transformer_with_checkpointing():
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(
                nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
                for _ in range(2)
            )
            self.out = nn.Linear(8, 4)

        def forward(self, x):
            for layer in self.layers:
                x = checkpoint(layer, x, use_reentrant=False)
            return self.out(x).mean(1)

    model = DDP(Net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for i in range(3):
        x, y = batch(i, 4, 40)
        optimizer.zero_grad()
        loss = ((model(x.view(4, 5, 8)) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return told(model, losses)


def case_a_model_that_returns_a_dictionary():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = mlp(1), mlp(2)

        def forward(self, x):
            return {"a": self.a(x), "b": (self.b(x),)}

    model = DDP(Two())
    x, _ = batch(0)
    out = model(x)
    (out["a"] * out["b"][0]).sum().backward()
    return [p.grad.sum().item() for p in model.parameters()]


def case_evaluation_and_state():
    model = DDP(mlp())
    trained(model)
    model.eval()
    with torch.no_grad():
        out = model(batch(9)[0]).sum().item()
    return out, list(model.state_dict()), sorted(model.module.state_dict())


def case_by_hand():
    """The averaging that scripts from before DDP do."""
    model = mlp()
    return trained(
        model,
        between=lambda m, i: [
            (dist.all_reduce(p.grad), p.grad.div_(dist.get_world_size())) for p in m.parameters()
        ],
    )


def case_in_a_group():
    group = dist.new_group([0, 1])
    if dist.get_rank() > 1:
        return None
    return trained(DDP(mlp(dist.get_rank()), process_group=group))


def case_accumulated_without_zeroing():
    model = DDP(mlp())
    for i in range(3):
        x, y = batch(i)
        ((model(x) - y) ** 2).mean().backward()
    return [p.grad.sum().item() for p in model.parameters()]


def case_double_precision():
    model = DDP(mlp().double())
    x, y = batch(0)
    ((model(x.double()) - y) ** 2).mean().backward()
    return [p.grad.sum().item() for p in model.parameters()]


def case_two_dtypes():
    class Mixed(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.a, self.b = nn.Linear(8, 4), nn.Linear(4, 4).double()

        def forward(self, x):
            return self.b(self.a(x).double())

    model = DDP(Mixed())
    x, y = batch(0)
    ((model(x) - y) ** 2).mean().backward()
    return [p.grad.sum().item() for p in model.parameters()]
