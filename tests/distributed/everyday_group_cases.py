"""What scripts do with groups and meshes of four ranks. The same file runs under PyTorch's
torchrun."""

import tempfile
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel as DDP


def rank_():
    return dist.get_rank()


def error_of(call, words=60):
    try:
        return ["nothing", str(call())]
    except Exception as error:
        return [type(error).__name__, str(error)[:words]]


def own(n=3):
    return torch.arange(float(n)) + 10 * rank_()


def mesh_of_two():
    return init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))


def folder():
    made = [tempfile.mkdtemp() if rank_() == 0 else None]
    dist.broadcast_object_list(made)
    return made[0]


def case_groups_by_ranks():
    odd = dist.new_group([1, 3])
    x = own()
    if rank_() in (1, 3):
        dist.all_reduce(x, group=odd)
    return (
        x.tolist(),
        dist.get_rank(odd),
        dist.get_world_size(odd),
        dist.get_process_group_ranks(odd) if rank_() in (1, 3) else None,
    )


def case_outside_of_a_group():
    first = dist.new_group([0, 1])
    x = own()
    if rank_() > 1:
        dist.all_reduce(x, group=first)
        return x.tolist(), dist.get_rank(first), first == dist.GroupMember.NON_GROUP_MEMBER
    dist.broadcast(x, src=1, group=first)
    return x.tolist(), dist.get_rank(first), False


def case_broadcasts_in_groups():
    pairs = [dist.new_group([0, 2]), dist.new_group([1, 3])]
    mine = pairs[rank_() % 2]
    x, y = own(), own()
    dist.broadcast(x, src=2 + rank_() % 2, group=mine)
    dist.broadcast(y, group_src=0, group=mine)
    named = dist.get_global_rank(mine, 1), dist.get_group_rank(mine, rank_())
    return x.tolist(), y.tolist(), named


def case_gathers_in_groups():
    half = dist.new_group([2, 3])
    if rank_() < 2:
        return None
    got = [torch.zeros(3) for _ in range(2)] if rank_() == 3 else None
    dist.gather(own(), got, dst=3, group=half)
    part = torch.zeros(2)
    rows = [torch.ones(2), torch.ones(2) * 2] if rank_() == 2 else None
    dist.scatter(part, rows, src=2, group=half)
    said = [None, None]
    dist.all_gather_object(said, rank_(), group=half)
    return None if got is None else [t.tolist() for t in got], part.tolist(), said


def case_subgroups():
    mine, all_of_them = dist.new_subgroups(2)
    x = own()
    dist.all_reduce(x, group=mine)
    other, _ = dist.new_subgroups_by_enumeration([[0, 3], [1, 2]])
    y = own()
    dist.all_reduce(y, group=other)
    return x.tolist(), y.tolist(), len(all_of_them), dist.get_process_group_ranks(other)


def case_group_errors():
    return [
        error_of(lambda: dist.new_group([0, 9]), 50),
        error_of(lambda: dist.new_group([0, 0]), 0)[:1],
        error_of(lambda: dist.new_subgroups(3), 60),
        error_of(lambda: dist.new_subgroups(8), 60),
        error_of(lambda: dist.new_subgroups_by_enumeration([[0, 1], [1, 2]]), 60),
    ]


def case_a_ring():
    n = dist.get_world_size()
    x, total = own(), own()
    for _ in range(n - 1):
        got = torch.zeros(3)
        ops = [
            dist.P2POp(dist.isend, x, (rank_() + 1) % n),
            dist.P2POp(dist.irecv, got, (rank_() - 1) % n),
        ]
        for work in dist.batch_isend_irecv(ops):
            work.wait()
        x = got
        total += got
    return total.tolist()


def case_messages_from_anybody():
    if rank_():
        dist.send(torch.full((2,), float(rank_())), 0, tag=rank_())
        return None
    found = []
    for tag in (3, 1, 2):
        x = torch.zeros(2)
        found.append([dist.recv(x, tag, tag=tag), x.tolist()])
    return found


def case_uneven_all_to_all():
    n = dist.get_world_size()
    sends = [(rank_() + i) % 3 for i in range(n)]
    gets = [(i + rank_()) % 3 for i in range(n)]
    out = torch.zeros(sum(gets), 2)
    given = torch.arange(2.0 * sum(sends)).reshape(-1, 2) + 100 * rank_()
    dist.all_to_all_single(out, given, gets, sends)
    lists = [torch.zeros(2) for _ in range(n)]
    dist.all_to_all(lists, [torch.ones(2) * (10 * rank_() + i) for i in range(n)])
    return out.tolist(), [t.tolist() for t in lists]


def case_meshes_and_slices():
    mesh = mesh_of_two()
    x = own()
    dist.all_reduce(x, group=mesh.get_group("tp"))
    y = own()
    dist.all_reduce(y, group=mesh["dp"].get_group())
    flat = mesh["dp", "tp"]._flatten("all")
    return (
        x.tolist(),
        y.tolist(),
        mesh.get_coordinate(),
        [mesh["dp"].get_local_rank(), mesh["tp"].get_local_rank()],
        mesh["tp"].mesh.tolist(),
        flat.size(),
        [mesh.size(0), mesh.ndim, list(mesh.shape)],
        error_of(lambda: mesh["tp", "dp"], 200),
        error_of(mesh.get_group, 0)[:1],
    )


def case_tensors_on_two_dimensions():
    mesh = mesh_of_two()
    x = torch.arange(24.0).reshape(4, 6)
    found = []
    for placements in (
        [Shard(0), Shard(1)],
        [Shard(1), Shard(1)],
        [Replicate(), Shard(0)],
        [Shard(0), Replicate()],
    ):
        d = distribute_tensor(x, mesh, placements)
        found.append([str(d.placements), d.to_local().tolist()])
        found.append(d.redistribute(placements=[Shard(0), Replicate()]).to_local().tolist())
    return found


def case_hybrid_shards():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(rank_())
    model(torch.randn(3, 4)).pow(2).mean().backward()
    optimizer.step()
    p = model[0].weight
    return str(p.placements), list(p.to_local().shape), p.full_tensor().tolist()


def case_tensor_parallel_in_data_parallel():
    torch.manual_seed(0)
    mesh = mesh_of_two()
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    torch.manual_seed(5 + mesh.get_local_rank("dp"))
    loss = model(torch.randn(3, 4)).pow(2).mean()
    loss.backward()
    grads = [p.grad.full_tensor().tolist() for p in model.parameters()]
    return round(loss.item(), 5), [str(p.placements) for p in model.parameters()], grads


def case_ddp_in_a_group():
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    torch.manual_seed(rank_() // 2)
    model = DDP(nn.Linear(3, 2), process_group=groups[rank_() // 2])
    torch.manual_seed(rank_())
    model(torch.randn(2, 3)).sum().backward()
    return [p.grad.tolist() for p in model.parameters()]


def case_zero_over_four():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Linear(16, 3), nn.Linear(3, 5))
    wrapped = DDP(model)
    optimizer = ZeroRedundancyOptimizer(wrapped.parameters(), torch.optim.Adam, lr=0.1)
    torch.manual_seed(rank_())
    wrapped(torch.randn(2, 4)).pow(2).sum().backward()
    optimizer.step()
    sizes = [
        [p.numel() for g in part for p in g["params"]] for part in optimizer._partition_parameters()
    ]
    return sizes, [round(float(p.detach().sum()), 4) for p in model.parameters()]


def case_a_checkpoint_on_another_mesh():
    path = folder()
    x = torch.arange(30.0).reshape(6, 5)
    line = init_device_mesh("cpu", (4,))
    saved = {"x": distribute_tensor(x, line, [Shard(0)]), "step": 7, "plain": torch.ones(2)}
    dcp.save(saved, checkpoint_id=path)
    other = distribute_tensor(torch.zeros(6, 5), mesh_of_two(), [Replicate(), Shard(1)])
    state = {"x": other, "step": 0, "plain": torch.zeros(2)}
    dcp.load(state, checkpoint_id=path)
    try:
        missing = dcp.load({"y": torch.zeros(1)}, checkpoint_id=path)
    except BaseException as error:  # PyTorch's is no Exception
        missing = "Missing key in checkpoint state_dict: y." in str(error)
    return other.to_local().tolist(), state["step"], state["plain"].tolist(), missing


def case_a_pipeline():
    torch.manual_seed(0)
    layers = [nn.Linear(4, 4) for _ in range(dist.get_world_size())]
    stage = PipelineStage(layers[rank_()], rank_(), dist.get_world_size(), torch.device("cpu"))
    schedule = ScheduleGPipe(stage, n_microbatches=4, loss_fn=nn.functional.mse_loss)
    torch.manual_seed(1)
    x, y = torch.randn(8, 4), torch.randn(8, 4)
    losses = []
    if rank_() == 0:
        schedule.step(x)
    elif rank_() == dist.get_world_size() - 1:
        schedule.step(target=y, losses=losses)
    else:
        schedule.step()
    return layers[rank_()].weight.grad.tolist(), [round(v.item(), 5) for v in losses]


def case_monitored_barriers_of_groups():
    left = dist.new_group([0, 1], timeout=timedelta(seconds=30))
    if rank_() < 2:
        dist.monitored_barrier(left)
    dist.barrier()
    return dist.get_world_size(left)


def case_means_of_metrics():
    """Each rank counts; rank 0 says."""
    found = torch.tensor([float(rank_()), 2.0 * rank_() + 1])
    dist.reduce(found, 0)
    worst = torch.tensor(float(rank_() % 3))
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    lengths = [None] * 4
    dist.all_gather_object(lengths, rank_() * 2)
    longest = max(lengths)
    padded = torch.nn.functional.pad(torch.ones(rank_() * 2), (0, longest - rank_() * 2))
    every = torch.zeros(4 * longest)
    dist.all_gather_into_tensor(every, padded)
    return (found.tolist() if rank_() == 0 else None), worst.item(), every.tolist()


def case_from_local_on_a_slice():
    mesh = mesh_of_two()
    d = DTensor.from_local(own(), mesh["tp"], [Shard(0)])
    return list(d.shape), d.full_tensor().tolist(), str(d.placements)
