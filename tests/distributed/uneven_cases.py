"""Tensors whose parts are of unequal length, terms that stay terms, and what depends on them:
parameters, their state, checkpoints, draws. The same file runs under PyTorch's torchrun."""

import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.distributed.tensor as on_meshes
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy, fully_shard
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset


def line():
    return init_device_mesh("cpu", (dist.get_world_size(),))


def five(placement=None, n=5):
    return distribute_tensor(torch.arange(float(n)), line(), [placement or Shard(0)])


def said(t):
    if not isinstance(t, DTensor):
        return t.tolist()
    t = t.detach()
    return [str(t.placements), list(t.shape), t.to_local().tolist(), t.full_tensor().tolist()]


def error_of(call, words=40):
    try:
        return ["nothing", str(call())]
    except Exception as error:
        return [type(error).__name__, str(error)[:words]]


def case_a_vector():
    return said(five())


def case_columns():
    return said(distribute_tensor(torch.arange(10.0).reshape(2, 5), line(), [Shard(1)]))


def case_fewer_rows_than_ranks():
    return said(five(n=1))


def case_no_rows():
    return said(five(n=0))


def case_whole_and_back():
    whole = five().redistribute(placements=[Replicate()])
    return said(whole), said(whole.redistribute(placements=[Shard(0)]))


def case_from_rows_to_columns():
    rows = distribute_tensor(torch.arange(15.0).reshape(3, 5), line(), [Shard(0)])
    return said(rows), said(rows.redistribute(placements=[Shard(1)]))


def case_the_gradient_of_a_leaf():
    d = five().requires_grad_()
    (d * d).sum().backward()
    return said(d.grad)


def case_gradients_of_local_parts():
    d = five().requires_grad_()
    own = d.to_local()
    (own * own * (dist.get_rank() + 1)).sum().backward()
    return said(d.grad)


def case_gradients_of_all_values():
    d = five().requires_grad_()
    (d.full_tensor() * torch.arange(5.0)).sum().backward()
    return said(d.grad)


def case_of_local_parts():
    rank = dist.get_rank()
    own = (torch.arange(3.0 - rank) + 10 * rank).requires_grad_()
    d = DTensor.from_local(own, line(), [Shard(0)], shape=torch.Size([5]), stride=(1,))
    (d.redistribute(placements=[Replicate()]).to_local() * torch.arange(5.0)).sum().backward()
    return said(d), own.grad.tolist()


def case_made_there():
    made = on_meshes.zeros, on_meshes.ones, on_meshes.empty
    found = [f(5, 2, device_mesh=line(), placements=[Shard(0)]) for f in made[:2]]
    shape = made[2](3, 5, device_mesh=line(), placements=[Shard(1)]).to_local().shape
    filled = on_meshes.full((3,), 2.5, device_mesh=line(), placements=[Shard(0)])
    return [said(t) for t in (*found, filled)], list(shape)


def case_written():
    d = five()
    d.mul_(3)
    d.add_(1)
    d.copy_(d * 2)
    return said(d)


def case_a_clone_keeps_its_values():
    return said(five().detach()), five().clone().full_tensor().tolist()


def case_sums():
    d = five()
    return [t.full_tensor().item() for t in (d.sum(), d.mean(), d.max(), (d + d).norm())]


def case_printed():
    return repr(five())


def case_where_parts_begin():
    mesh = line()
    cases = (((5, 3), Shard(0)), ((1, 3), Shard(0)), ((2, 5), Shard(1)), ((4, 3), Replicate()))
    return [
        [list(x) for x in compute_local_shape_and_global_offset(shape, mesh, [p])]
        for shape, p in cases
    ]


def case_two_dimensions_of_a_mesh():
    mesh = init_device_mesh("cpu", (dist.get_world_size(), 1), mesh_dim_names=("a", "b"))
    d = distribute_tensor(torch.arange(15.0).reshape(5, 3), mesh, [Shard(0), Shard(1)])
    return said(d), said(d.redistribute(placements=[Shard(1), Shard(0)]))


def trained():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
    fully_shard(model, mesh=line())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).pow(2).mean().backward()
        optimizer.step()
    return model, optimizer


def case_fully_sharded():
    model, optimizer = trained()
    state = [[said(v) for v in of.values()] for of in optimizer.state.values()]
    return [[said(p), said(p.grad)] for p in model.parameters()], state


def case_state_by_names():
    model, optimizer = trained()
    options = StateDictOptions(full_state_dict=True)
    whole = get_model_state_dict(model, options=options)
    state = get_optimizer_state_dict(model, optimizer, options=options)
    values = {k: v.tolist() for k, v in whole.items()}  # loading puts others into the dictionaries
    of_state = {n: {k: v.tolist() for k, v in of.items()} for n, of in state["state"].items()}
    again, other = trained()
    with torch.no_grad():
        for p in again.parameters():
            p.zero_()
    set_model_state_dict(again, whole, options=options)
    set_optimizer_state_dict(again, other, state, options=options)
    return values, of_state, {k: said(v) for k, v in again.state_dict().items()}


def case_state_of_submodules():
    model, optimizer = trained()
    found = get_model_state_dict(model, submodules={model[0]})
    return sorted(found), sorted(get_optimizer_state_dict(model, optimizer)["state"])


def case_a_model_on_the_meta_device():
    with torch.device("meta"):
        model = nn.Linear(3, 5)
    fully_shard(model, mesh=line())
    model.to_empty(device="cpu")
    whole = {"weight": torch.arange(15.0).reshape(5, 3), "bias": torch.arange(5.0)}
    set_model_state_dict(model, whole, options=StateDictOptions(full_state_dict=True))
    return {k: said(v) for k, v in model.state_dict().items()}


def folder():
    made = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(made)
    return made[0]


def case_checkpoints():
    path, mesh = folder(), line()
    rows = distribute_tensor(torch.arange(6.0).reshape(3, 2), mesh, [Shard(0)])
    dcp.save({"vector": five(), "rows": rows}, checkpoint_id=path)
    vector = distribute_tensor(torch.zeros(5), mesh, [Shard(0)])
    whole = distribute_tensor(torch.zeros(3, 2), mesh, [Replicate()])
    plain = torch.zeros(5)
    dcp.load({"vector": vector, "rows": whole}, checkpoint_id=path)
    dcp.load({"vector": plain}, checkpoint_id=path)
    return said(vector), said(whole), plain.tolist()


def case_terms():
    d = DTensor.from_local(torch.ones(2) * (dist.get_rank() + 1), line(), [Partial()])
    return [said(d), *[said(d.redistribute(placements=[p])) for p in (Replicate(), Shard(0))]]


def case_terms_of_other_reductions():
    own = torch.ones(2) * (dist.get_rank() + 1)
    found = []
    for kind in ("avg", "max", "min"):
        d = DTensor.from_local(own, line(), [Partial(kind)])
        found += [said(d), said(d.redistribute(placements=[Replicate()]))]
    return found


def case_gradients_of_terms():
    x = (torch.ones(2) * (dist.get_rank() + 1)).requires_grad_()
    d = DTensor.from_local(x, line(), [Partial()])
    d.redistribute(placements=[Replicate()]).to_local().pow(2).sum().backward()
    return x.grad.tolist()


def case_draws():
    """With one seed in all processes each part has the same numbers."""
    torch.manual_seed(0)
    d, found = distribute_tensor(torch.zeros(4, 2), line(), [Shard(0)]), []
    inits = nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_, nn.init.trunc_normal_
    for init in inits:
        init(d)
        found.append(said(d))
    torch.manual_seed(dist.get_rank())
    return found, said(d.normal_()), said(five().uniform_()), torch.rand(2).tolist()


def case_parameters_drawn_again():
    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    fully_shard(model, mesh=line())
    model.reset_parameters()
    return [said(p) for p in model.parameters()]


def case_nothing_sharded():
    torch.manual_seed(0)
    model = FullyShardedDataParallel(
        nn.Linear(3, 2),
        sharding_strategy=ShardingStrategy.NO_SHARD,
        device_id=torch.device("cpu"),
        use_orig_params=True,
    )
    model(torch.ones(1, 3) * (dist.get_rank() + 1)).sum().backward()
    full = [p.full_tensor() if isinstance(p, DTensor) else p for p in model.parameters()]
    grads = [p.grad for p in model.parameters()]
    grads = [g.full_tensor() if isinstance(g, DTensor) else g for g in grads]
    return [t.tolist() for t in (*full, *grads)]


def case_errors():
    mesh = line()
    return [
        error_of(lambda: dist.new_group(backend="foo")),
        error_of(lambda: dist.barrier(group=3)),
        error_of(lambda: dist.HashStore().add("a", "x"), 0),
        error_of(lambda: five().redistribute(), 60),
        error_of(lambda: distribute_tensor(five(), mesh, [Replicate()]), 50),
        error_of(lambda: DTensor.from_local(five(), mesh, [Shard(0)])),
        error_of(lambda: five() + torch.ones(5), 50),
    ]
