"""Whole state dicts of modules in parts, given to and by the first rank; checkpoints of the meta
device; what a rank has of an optimizer's state. The same file runs under PyTorch's torchrun."""

import contextlib
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor, Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel as DDP

WHOLE = StateDictOptions(full_state_dict=True)
ON_HOST = StateDictOptions(full_state_dict=True, cpu_offload=True)
FROM_0 = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)


def line():
    return init_device_mesh("cpu", (dist.get_world_size(),))


def net(device="cpu"):
    torch.manual_seed(0)
    with torch.device(device):
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def sharded(device="cpu"):
    model = net(device)
    fully_shard(model, mesh=line())
    return model


def trained(model, lr=0.1):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model(torch.ones(2, 4) * (dist.get_rank() + 1)).sum().backward()
    optimizer.step()
    return optimizer


def numbers(state):
    """Sums by name, and which are DTensors."""
    found = {}
    for name, t in state.items():
        whole = t.full_tensor() if isinstance(t, DTensor) else t
        found[name] = [whole.detach().double().sum().item(), isinstance(t, DTensor)]
    return found


def given(state):
    """Return the state dict in the first rank, and nothing in the others."""
    return state if dist.get_rank() == 0 else {}


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory() as own:
        held = [own]
        dist.broadcast_object_list(held)
        yield held[0]
        dist.barrier()


def case_whole_states():
    model = sharded()
    optimizer = trained(model)
    state = get_optimizer_state_dict(model, optimizer, options=ON_HOST)
    names = sorted(state["state"]) if state else None
    return [
        numbers(get_model_state_dict(model, options=WHOLE)),
        numbers(get_model_state_dict(model, options=ON_HOST)),
        names,
        numbers(state["state"]["0.weight"]) if state else None,
    ]


def case_loading_whole_tensors():
    whole = {k: v + 1 for k, v in net().state_dict().items()}
    model = sharded()
    found = set_model_state_dict(model, whole, options=WHOLE)
    return [list(found), numbers(model.state_dict())]


def case_loading_whole_tensors_of_the_first_rank():
    whole = {k: v + 1 for k, v in net().state_dict().items()}
    model = sharded()
    set_model_state_dict(model, given(whole), options=FROM_0)
    return numbers(model.state_dict())


def case_loading_an_optimizer_from_the_first_rank():
    model = sharded()
    state = get_optimizer_state_dict(model, trained(model), options=ON_HOST)
    other = sharded()
    optimizer = torch.optim.Adam(other.parameters(), lr=0.5)
    set_optimizer_state_dict(other, optimizer, given(state), options=FROM_0)
    return [
        optimizer.param_groups[0]["lr"],
        [numbers(optimizer.state[p]) for p in other.parameters()],
    ]


def case_a_model_on_the_meta_device():
    model = sharded("meta")
    set_model_state_dict(model, given(net().state_dict()), options=FROM_0)
    return [str(model[0].weight.device), numbers(model.state_dict())]


def case_a_checkpoint_into_the_meta_device():
    with torch.device("meta"):
        state = {"a": torch.zeros(4)}
    with folder() as path:
        dcp.save({"a": torch.arange(4.0), "model": net().state_dict()}, checkpoint_id=path)
        dcp.load(state, checkpoint_id=path)
    return state["a"].tolist()


def case_plain_and_distributed_in_one_checkpoint():
    cut = [Shard(0)]
    cut_up = distribute_tensor(torch.arange(4.0), line(), cut)
    state = {"a": distribute_tensor(torch.zeros(4), line(), cut), "b": torch.zeros(4)}
    with folder() as path:
        dcp.save({"a": torch.arange(4.0), "b": cut_up}, checkpoint_id=path)
        dcp.load(state, checkpoint_id=path)
    return [state["a"].full_tensor().tolist(), state["b"].tolist()]


def case_who_keeps_which_parameters():
    sizes = (3, 9, 1, 7, 5, 2)
    optimizer = ZeroRedundancyOptimizer(
        [nn.Parameter(torch.ones(n)) for n in sizes], torch.optim.SGD, lr=0.1
    )
    parts = optimizer._partition_parameters()
    return [
        [[[p.numel() for p in g["params"]] for g in groups] for groups in parts],
        [[p.numel() for p in g["params"]] for g in optimizer.optim.param_groups],
    ]


def case_ignored_parameters():
    model = net()
    DDP._set_params_and_buffers_to_ignore_for_model(model, ["2.bias"])
    wrapped = DDP(model)
    trained(wrapped)
    return [sorted(wrapped.parameters_to_ignore), [p.grad.tolist() for p in model.parameters()]]
