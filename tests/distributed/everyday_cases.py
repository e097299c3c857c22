"""What scripts of many kinds do with a process group: training, collectives, state, errors. The
same file runs under PyTorch's torchrun."""

import copy
import os
import tempfile
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FullStateDictConfig, StateDictType, fully_shard
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.spare = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(4, 2)

    def forward(self, x, spare=False):
        y = self.second(torch.relu(self.first(x)))
        return y + self.spare(x) if spare else y


def net(seed=0):
    torch.manual_seed(seed)
    return Net()


def batch(n=6):
    torch.manual_seed(100 + dist.get_rank())
    return torch.randn(n, 4), torch.randn(n, 2)


def summed(model):
    return [round(float(p.detach().sum()), 4) for p in model.parameters()]


def values(tensors):
    return [
        None if t is None else (t.full_tensor() if isinstance(t, DTensor) else t).tolist()
        for t in tensors
    ]


def error_of(call, words=60):
    try:
        return ["nothing", str(call())]
    except Exception as error:
        return [type(error).__name__, str(error)[:words]]


def folder():
    made = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(made)
    return made[0]


def line():
    return init_device_mesh("cpu", (dist.get_world_size(),))


# -- data parallelism ------------------------------------------------------------------------------


def case_ddp_with_unused_parameters():
    model = DDP(net(), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch()
    for step in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x, spare=step == 1), y).backward()
        optimizer.step()
    return summed(model), [p.grad is None for p in model.parameters()]


def case_ddp_accumulates_gradients():
    model = DDP(net())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    x, y = batch(8)
    for _ in range(2):
        with model.no_sync():
            nn.functional.mse_loss(model(x[:4], True), y[:4]).backward()
        nn.functional.mse_loss(model(x[4:], True), y[4:]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        optimizer.zero_grad()
    return summed(model)


def case_ddp_joins_uneven_inputs():
    model = DDP(net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = 0
    with model.join():
        for _ in range(2 + dist.get_rank()):
            x, y = batch(2)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x, True), y).backward()
            optimizer.step()
            seen += 1
    return summed(model), seen


def case_ddp_and_zero_join():
    model = DDP(net())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    with Join([model, optimizer]):
        for _ in range(1 + dist.get_rank()):
            x, y = batch(2)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x, True), y).backward()
            optimizer.step()
    return summed(model)


def case_ddp_ignores_parameters():
    model = net(dist.get_rank())
    DDP._set_params_and_buffers_to_ignore_for_model(model, ["spare.weight", "spare.bias"])
    wrapped = DDP(model)
    x, y = batch()
    nn.functional.mse_loss(wrapped(x, True), y).backward()
    first = model.first.weight.grad
    return first.tolist(), model.spare.weight.grad.tolist(), summed(model)


def case_ddp_buffers_and_state():
    torch.manual_seed(dist.get_rank())
    model = DDP(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)))
    x, _ = batch()
    model(x).sum().backward()
    model(x)
    state = model.state_dict()
    plain = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    plain.load_state_dict({k.removeprefix("module."): v for k, v in state.items()})
    return list(state), [round(float(v.sum()), 4) for v in plain.state_dict().values()]


def case_ddp_with_a_hook():
    model = DDP(net())
    seen = []

    def hook(state, bucket):
        seen.append([bucket.index(), bucket.is_last(), bucket.buffer().numel()])
        work = dist.all_reduce(bucket.buffer() / state, async_op=True).get_future()
        return work.then(lambda f: f.value()[0])

    model.register_comm_hook(dist.get_world_size(), hook)
    x, y = batch()
    nn.functional.mse_loss(model(x, True), y).backward()
    return seen, values([p.grad for p in model.parameters()])[1]


def case_ddp_errors():
    frozen = nn.Linear(2, 2).requires_grad_(False)
    return [
        error_of(lambda: DDP(frozen)),
        error_of(lambda: DDP(net(), device_ids=[0, 1])),
    ]


def case_zero_splits_state():
    model = net()
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
    model(batch()[0], True).sum().backward()
    optimizer.step()
    owned = [
        [sum(p.numel() for p in g["params"]) for g in part]
        for part in optimizer._partition_parameters()
    ]
    optimizer.consolidate_state_dict(to=0)
    return owned, sorted(optimizer.state_dict()["state"]) if dist.get_rank() == 0 else None


# -- modules in parts ------------------------------------------------------------------------------


def sharded(seed=0):
    model = net(seed)
    for part in (model.first, model.second, model.spare):
        fully_shard(part, mesh=line())
    return fully_shard(model, mesh=line())


def trained(steps=2):
    model = sharded()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    for _ in range(steps):
        x, y = batch()
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x, True), y).backward()
        optimizer.step()
    return model, optimizer


def kind(t):
    return [type(t).__name__ == "DTensor" or isinstance(t, DTensor), list(t.shape)]


def case_fully_sharded_state_is_dtensors():
    model, optimizer = trained()
    p = model.first.weight
    state = optimizer.state[p]
    found = [p, p.grad, state["exp_avg"], state["exp_avg_sq"]]
    return (
        [[isinstance(t, DTensor), str(t.placements), list(t.to_local().shape)] for t in found],
        isinstance(state["step"], DTensor),
        values(found)[0],
    )


def case_full_state_dicts():
    model, optimizer = trained()
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    states = get_state_dict(model, optimizer, options=options)
    found = [sorted(s) for s in states]
    again = sharded(1)
    everywhere = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(again, states[0], options=everywhere)
    same = values(model.parameters()) == values(again.parameters())
    everybody = StateDictOptions(full_state_dict=True)
    states = copy.deepcopy(get_state_dict(model, optimizer, options=everybody))
    other = torch.optim.AdamW(again.parameters(), lr=0.05)
    set_state_dict(
        again, other, model_state_dict=states[0], optim_state_dict=states[1], options=everybody
    )
    x, y = batch()
    for m, o in ((model, optimizer), (again, other)):
        o.zero_grad()
        nn.functional.mse_loss(m(x, True), y).backward()
        o.step()
    return found, same, values(model.parameters()) == values(again.parameters())


def case_state_dicts_of_mixed_kinds():
    model = sharded()
    state = model.state_dict()
    mixed = {k: v.full_tensor() if "weight" in k else v for k, v in state.items()}
    return (
        [isinstance(v, DTensor) for v in state.values()],
        error_of(lambda: model.load_state_dict(mixed), 80),
        error_of(lambda: model.load_state_dict(state)),
        error_of(lambda: net().load_state_dict(state), 50),
    )


def case_a_checkpoint_read_by_a_model_on_the_meta_device():
    path = folder()
    model, _ = trained()
    dcp.save({"model": get_model_state_dict(model)}, checkpoint_id=path)
    with torch.device("meta"):
        empty = Net()
    for part in (empty.first, empty.second, empty.spare):
        fully_shard(part, mesh=line())
    fully_shard(empty, mesh=line())
    empty.to_empty(device="cpu")
    state = {"model": get_model_state_dict(empty)}
    dcp.load(state, checkpoint_id=path)
    set_model_state_dict(empty, state["model"])
    return values(empty.parameters()) == values(model.parameters()), values(empty.parameters())[1]


def case_a_checkpoint_read_elsewhere():
    path = folder()
    model, optimizer = trained()
    dcp.save(
        {"model": get_model_state_dict(model), "optim": get_optimizer_state_dict(model, optimizer)},
        checkpoint_id=path,
    )
    plain = net(1)
    other = torch.optim.AdamW(plain.parameters(), lr=0.05)
    state = {
        "model": get_model_state_dict(plain),
        "optim": get_optimizer_state_dict(plain, other),
    }
    dcp.load(state, checkpoint_id=path)
    set_model_state_dict(plain, state["model"])
    set_optimizer_state_dict(plain, other, state["optim"])
    columns = distribute_tensor(torch.zeros(8, 4), line(), [Shard(1)])
    dcp.load({"model": {"first.weight": columns}}, checkpoint_id=path)
    return (
        summed(plain),
        [round(float(s["exp_avg"].sum()), 5) for s in other.state.values()],
        columns.to_local().tolist(),
    )


def case_fsdp_one():
    model = FSDP(net(), device_id=torch.device("cpu"), use_orig_params=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = batch()
    for _ in range(2):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x, True), y)
        loss.backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
    with FSDP.summon_full_params(model):
        found = summed(model)
    state = model.state_dict()
    return found, sorted(state), round(float(loss.detach()), 5)


def case_tensor_parallel():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    parallelize_module(model, line(), {"0": ColwiseParallel(), "2": RowwiseParallel()})
    torch.manual_seed(3)
    x = torch.randn(5, 4)
    y = model(x)
    y.pow(2).sum().backward()
    return (
        y.tolist(),
        [str(p.placements) for p in model.parameters()],
        values([p.grad for p in model.parameters()]),
    )


def case_partial_output_of_a_style():
    torch.manual_seed(0)
    model = nn.Linear(4, 4, bias=False)
    style = RowwiseParallel(output_layouts=Shard(0), use_local_output=False)
    parallelize_module(model, line(), style)
    torch.manual_seed(3)
    y = model(torch.randn(4, 4)[:, : 4 // dist.get_world_size()])
    return str(y.placements), y.full_tensor().tolist()


def changed(change, placement):
    d = distribute_tensor(torch.arange(8.0).reshape(4, 2), line(), [placement])
    own = d.to_local()
    change(own, d)
    return own.tolist(), d.full_tensor().tolist() if isinstance(placement, Shard) else None


def case_written_parts():
    """The part is on the tensor's memory."""
    changes = (
        lambda own, d: own.mul_(2),
        lambda own, d: d.add_(1),
        lambda own, d: own.__setitem__((0, 0), 9.0),
        lambda own, d: own.view(-1)[1:].add_(3),
        lambda own, d: dist.all_reduce(own),
        lambda own, d: (own.mul_(2), d.add_(1), d.to_local().add_(1)),
        lambda own, d: own.detach().mul_(5),
    )
    return [changed(c, p) for c in changes for p in (Shard(0), Shard(1), Replicate())]


def case_written_parts_of_gradients():
    model = sharded()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    model(batch()[0], True).sum().backward()
    for p in model.parameters():
        p.grad.to_local().div_(4)
    optimizer.step()
    with torch.no_grad():
        model.first.weight.to_local().mul_(2)
    return values([p.grad for p in model.parameters()]), values(model.parameters())


def case_a_save_in_another_thread():
    path = folder()
    d = distribute_tensor(torch.arange(6.0).reshape(3, 2), line(), [Shard(1)])
    future = dcp.async_save({"d": d}, checkpoint_id=path)
    future.result()
    dist.barrier()
    found = distribute_tensor(torch.zeros(3, 2), line(), [Shard(0)])
    dcp.load({"d": found}, checkpoint_id=path)
    return found.to_local().tolist()


def case_whole_states_of_rank_0():
    model = FSDP(net(), device_id=torch.device("cpu"), use_orig_params=True)
    with FSDP.state_dict_type(
        model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(rank0_only=True)
    ):
        return sorted(model.state_dict())


def case_parts_on_the_meta_device():
    with torch.device("meta"):
        model = nn.Linear(4, 5)
    fully_shard(model, mesh=line())
    return [[list(p.to_local().shape), str(p.to_local().device)] for p in model.parameters()]


# -- collectives -----------------------------------------------------------------------------------


def case_every_collective_at_once():
    rank, n = dist.get_rank(), dist.get_world_size()
    x = torch.arange(4.0) + rank
    reduced, given, taken = x.clone(), [torch.zeros(4) for _ in range(n)], x.clone()
    scattered, flat, exchanged = torch.zeros(4 // n), torch.zeros(4 * n), torch.zeros(4)
    works = [
        dist.all_reduce(reduced, dist.ReduceOp.MAX, async_op=True),
        dist.all_gather(given, x, async_op=True),
        dist.broadcast(taken, 1, async_op=True),
        dist.reduce_scatter_tensor(scattered, x, async_op=True),
        dist.all_gather_into_tensor(flat, x, async_op=True),
        dist.all_to_all_single(exchanged, x, async_op=True),
    ]
    for work in works:
        work.wait()
    made = [reduced, *given, taken, scattered, flat, exchanged]
    return [t.tolist() for t in made]


def case_all_gather_coalesced():
    rank, n = dist.get_rank(), dist.get_world_size()
    own = [torch.ones(2) * rank, torch.ones(3, 2) * (rank + 1)]
    out = [[torch.zeros_like(t) for t in own] for _ in range(n)]
    work = dist.all_gather_coalesced(out, own, async_op=True)
    work.wait()
    summed = [torch.ones(2) * rank, torch.ones(3)]
    dist.all_reduce_coalesced(summed)
    return [[t.tolist() for t in of] for of in out], [t.tolist() for t in summed]


def case_gather_and_scatter():
    rank, n = dist.get_rank(), dist.get_world_size()
    got = [torch.zeros(2) for _ in range(n)] if rank == 0 else None
    dist.gather(torch.ones(2) * rank, got)
    part = torch.zeros(2)
    dist.scatter(part, [torch.ones(2) * (i + 5) for i in range(n)] if rank == 1 else None, src=1)
    return None if got is None else [t.tolist() for t in got], part.tolist()


def case_gather_and_scatter_refuse():
    rank, n = dist.get_rank(), dist.get_world_size()
    x = torch.ones(2)
    return [
        error_of(lambda: dist.gather(x, [x] * n, dst=(rank + 1) % n), 90),
        error_of(lambda: dist.gather(x, None, dst=rank), 90),
        error_of(lambda: dist.scatter(x, [x] * n, src=(rank + 1) % n), 90),
        error_of(lambda: dist.scatter(x, None, src=rank), 90),
        error_of(lambda: dist.all_gather([torch.zeros(2), 3], x), 70),
        error_of(lambda: dist.all_reduce([x]), 70),
        error_of(lambda: dist.broadcast(x, src=7), 70),
        error_of(lambda: dist.all_gather([torch.zeros(2, dtype=torch.int64)] * n, x), 60),
        error_of(lambda: dist.reduce_scatter(x, 3), 80),
        error_of(lambda: dist.send(x, rank), 60),
        error_of(lambda: dist.get_rank(group=object()), 0)[:1],
    ]


def case_objects():
    rank, n = dist.get_rank(), dist.get_world_size()
    everything = [None] * n
    dist.all_gather_object(everything, {"rank": rank, "list": [rank] * (rank + 1)})
    at_one = [None] * n if rank == 1 else None
    dist.gather_object(("from", rank), at_one, dst=1)
    part = [None]
    dist.scatter_object_list(part, [{"for": i} for i in range(n)] if rank == 0 else [None], src=0)
    shared = [rank, "text", None] if rank == 0 else [None] * 3
    dist.broadcast_object_list(shared, src=0)
    return everything, at_one, part, shared


def case_messages():
    rank, n = dist.get_rank(), dist.get_world_size()
    to, of = (rank + 1) % n, (rank - 1) % n
    got = torch.zeros(3)
    ops = [
        dist.P2POp(dist.isend, torch.ones(3) * rank, to),
        dist.P2POp(dist.irecv, got, of),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    numbered = torch.zeros(2)
    if rank == 0:
        dist.send(torch.tensor([1.0, 2.0]), 1, tag=4)
        sender = dist.recv(numbered)
    else:
        sender = dist.recv(numbered, 0, tag=4)
        dist.send(numbered * 2, 0)
    return got.tolist(), sender, numbered.tolist()


def case_message_errors():
    x = torch.ones(1)
    return [
        error_of(lambda: dist.batch_isend_irecv([]), 23),
        error_of(lambda: dist.batch_isend_irecv([3]), 80),
        error_of(lambda: dist.P2POp(dist.all_reduce, x, 0), 80),
    ]


def case_barriers():
    dist.monitored_barrier(timeout=timedelta(seconds=60))
    work = dist.barrier(async_op=True)
    work.wait()
    return dist.get_backend(), dist.is_gloo_available(), dist.is_initialized()


def case_reductions():
    rank = dist.get_rank()
    found = []
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.PRODUCT, dist.ReduceOp.MIN, dist.ReduceOp.BAND):
        x = torch.tensor([rank + 2, 7 - rank, 5])
        dist.all_reduce(x, op)
        found.append(x.tolist())
    flags = torch.tensor([rank == 0, True])
    dist.all_reduce(flags, dist.ReduceOp.MIN)
    half = torch.full((3,), 0.5, dtype=torch.bfloat16)
    dist.all_reduce(half)
    dist.reduce(x, 1, dist.ReduceOp.SUM)
    return found, flags.tolist(), half.tolist(), x.tolist() if rank == 1 else None


# -- data, environment, stores, groups -------------------------------------------------------------


def case_a_distributed_sampler():
    data = TensorDataset(torch.arange(11))
    found = []
    for drop_last in (False, True):
        sampler = DistributedSampler(data, shuffle=True, seed=3, drop_last=drop_last)
        loader = DataLoader(data, batch_size=2, sampler=sampler)
        for epoch in range(2):
            sampler.set_epoch(epoch)
            found.append([b[0].tolist() for b in loader])
        found.append(len(sampler))
    return found


def case_the_environment():
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK")
    more = (
        "TORCHELASTIC_RESTART_COUNT",
        "TORCHELASTIC_MAX_RESTARTS",
        "ROLE_NAME",
        "GROUP_WORLD_SIZE",
    )
    there = "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"
    return (
        [os.environ.get(name) for name in (*names, *more)],
        [name in os.environ for name in there],
        dist.is_torchelastic_launched(),
    )


def case_stores():
    rank, n = dist.get_rank(), dist.get_world_size()
    store = dist.TCPStore("127.0.0.1", int(PORT), n, rank == 0, timedelta(seconds=30))  # noqa: F821
    store.set(f"key{rank}", f"value{rank}")
    other = store.get(f"key{(rank + 1) % n}")
    store.add("count", rank + 1)
    prefixed = dist.PrefixStore("a", store)
    prefixed.set(f"own{rank}", "x")
    store.wait([f"a/own{i}" for i in range(n)])
    dist.barrier()
    found = store.add("count", 0), store.check(["key0", "never"]), other.decode()
    late = error_of(lambda: (store.set_timeout(timedelta(milliseconds=50)), store.get("never")), 0)
    dist.barrier()
    return found, late[0]


def case_file_and_hash_stores():
    path = os.path.join(folder(), "store")
    store = dist.FileStore(path, dist.get_world_size())
    store.set(f"r{dist.get_rank()}", str(dist.get_rank()))
    store.wait([f"r{i}" for i in range(dist.get_world_size())])
    own = dist.HashStore()
    own.set("a", "b")
    swapped = own.compare_set("a", "b", "c")
    return (
        [store.get(f"r{i}").decode() for i in range(dist.get_world_size())],
        [swapped.decode(), own.delete_key("a"), own.num_keys()],
        error_of(lambda: own.wait(["never"], timedelta(milliseconds=20)), 0)[:1],
    )


def case_meshes_of_groups():
    mesh = DeviceMesh.from_group(dist.group.WORLD, "cpu")
    d = distribute_tensor(torch.arange(4.0), mesh, [Shard(0)])
    names = init_device_mesh("cpu", (dist.get_world_size(), 1), mesh_dim_names=("dp", "tp"))
    return (
        mesh.mesh.tolist(),
        d.to_local().tolist(),
        names["dp"].size(),
        names.get_local_rank("dp"),
        names["dp", "tp"].shape,
        dist.get_process_group_ranks(names["dp"].get_group()),
        error_of(lambda: names["pp"], 20)[:1],
    )


def case_init_again():
    first = error_of(lambda: dist.init_process_group("gloo"), 60)
    dist.barrier()
    dist.destroy_process_group()
    gone = error_of(lambda: dist.all_reduce(torch.ones(1)), 60)
    unknown = error_of(lambda: dist.init_process_group("nosuch"), 0)[:1]
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    x = torch.ones(2) * dist.get_rank()
    dist.all_reduce(x)
    return first, gone, unknown, x.tolist(), dist.get_world_size()
