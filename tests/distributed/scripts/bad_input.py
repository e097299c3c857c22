"""Goes wrong in one way: ``bad_input.py WAY``. Rank 1 does, where it is one rank that does."""

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

way = sys.argv[1]
first = os.environ["RANK"] == "0"
print(f"pid {os.getpid()}", flush=True)
if way == "never arrives" and not first:
    time.sleep(120)
if way == "comes twice":
    os.environ["RANK"] = "0"
if way == "another world size" and not first:
    os.environ["WORLD_SIZE"] = "3"
dist.init_process_group("gloo", timeout=timedelta(seconds=8))
dist.all_reduce(torch.ones(3))
if way == "raises" and not first:
    raise ValueError("an error of rank one")
if way == "exits" and not first:
    sys.exit(3)
if way == "is killed" and not first:
    os.kill(os.getpid(), signal.SIGKILL)
if way == "is killed in a collective":
    if not first:
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()
if way == "never calls" and not first:
    time.sleep(120)
if way == "another shape":
    dist.all_reduce(torch.ones(5 if first else 6))
if way == "another order":
    for call in (dist.all_reduce, lambda x: dist.broadcast(x, 0))[:: 1 if first else -1]:
        call(torch.ones(4))
if way == "another dtype":
    dist.all_reduce(torch.ones(7, dtype=torch.float32 if first else torch.float64))
if way == "a mesh that does not fit":
    init_device_mesh("cpu", (3,))
if way == "does not divide":
    distribute_tensor(torch.ones(5, 3), init_device_mesh("cpu", (2,)), [Shard(0)])
dist.all_reduce(torch.ones(3))
