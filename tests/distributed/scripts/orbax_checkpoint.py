"""``orbax_checkpoint.py save|load|killed FOLDER``: a fully sharded module's state, by Orbax.

"killed" saves another one, and the first rank is killed when it is all but there.
"""

import os
import signal
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

what, folder = sys.argv[1:3]
dist.init_process_group("gloo")
rank, n = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
net = fully_shard(
    nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 4)), mesh=init_device_mesh("cpu", (n,))
)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.1, betas=(0.8, 0.9))


def steps(k):
    for _ in range(k):
        optimizer.zero_grad()
        net(torch.ones(2, 8)).pow(2).mean().backward()
        optimizer.step()


def state(**more):
    model, optim = get_state_dict(net, optimizer)
    return {"model": model, "optim": optim, **more}


def sums():
    return [round(p.full_tensor().double().sum().item(), 5) for p in net.parameters()]


if what == "load":
    steps(1)
    found = state(step=0, own=torch.zeros(3), name="")
    dcp.load(found, storage_reader=dcp.OrbaxStorageReader(folder))
    set_state_dict(net, optimizer, model_state_dict=found["model"], optim_state_dict=found["optim"])
    said = [found["step"], found["name"], found["own"].tolist(), sums()]
    steps(2)
else:
    steps(3)
    dcp.save(
        state(step=3, own=torch.arange(3.0), name="run"),
        storage_writer=dcp.OrbaxStorageWriter(folder),
    )
    said = [3, "run", [0.0, 1.0, 2.0], sums()]
    steps(2)
    if what == "killed":
        place = os.rename

        def killed(a, b, *args, **kwargs):
            if os.path.basename(str(b)) == "1":
                os.kill(os.getpid(), signal.SIGKILL)
            return place(a, b, *args, **kwargs)

        os.rename = os.replace = killed
        dcp.save(state(step=5), storage_writer=dcp.OrbaxStorageWriter(folder))
said.append(sums())
if rank == 0:
    print(*said, sep="|", flush=True)
dist.destroy_process_group()
