"""Fails in one way: ``failing.py WAY``."""

import os
import signal
import sys
import time

import torch
import torch.distributed as dist

way = sys.argv[1]
dist.init_process_group("gloo")
rank = dist.get_rank()
dist.all_reduce(torch.ones(3))
print(f"pid {os.getpid()}", flush=True)
if way == "again" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and rank == 1:
    sys.exit(4)
if rank == 1:
    if way == "raise":
        raise ValueError("an error of rank one")
    if way == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if way == "exit":
        sys.exit(3)
    if way == "absent":
        time.sleep(60)
if way == "wait":
    time.sleep(60)
if way == "absent":
    work = dist.all_reduce(torch.ones(3), async_op=True)
    from datetime import timedelta

    work.wait(timedelta(seconds=1))
dist.all_reduce(torch.ones(3))
print(f"rank {rank} has ended, {os.environ['TORCHELASTIC_RESTART_COUNT']}", flush=True)
