"""The same meshes, DTensors and fully sharded modules over two processes of two devices each."""

import os
import socket
import subprocess
import sys

import pytest

SCRIPT = """
import importlib
import sys
import jax
rank, address = int(sys.argv[1]), sys.argv[2]
jax.distributed.initialize(address, 2, rank)

import torchlike as torch
from torchlike import nn
from torchlike._runtime import provided
from torchlike.distributed import checkpoint as dcp
from torchlike.distributed import init_device_mesh
from torchlike.distributed.fsdp import fully_shard
from torchlike.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
line = init_device_mesh("cpu", (4,))
assert not mesh.is_local
importlib.import_module("torchlike.ops._aten.calling")
waiting = [p.what for p in provided.ALL if not p.providers]
assert waiting == ["gives a thread's queue of deferred calls, or None"]  # no thread defers
assert mesh.get_coordinate() == (rank, 0)
assert line.get_local_rank() == 2 * rank

w = torch.arange(32.0).reshape(8, 4)
d = distribute_tensor(w, line, [Shard(0)])
assert d.to_local().equal(w[4 * rank : 4 * rank + 4])
assert d.full_tensor().equal(w)
assert (d * 2).sum().full_tensor() == 992
part = DTensor.from_local(torch.full((4, 2), float(rank)), mesh, [Shard(0), Replicate()])
assert part.shape == (8, 2)
assert part.full_tensor()[:, 0].tolist() == [0.0] * 4 + [1.0] * 4
for placements in ([Shard(0), Replicate()], [Replicate(), Shard(1)], [Shard(1), Shard(0)]):
    leaf = distribute_tensor(w, mesh, placements).requires_grad_()
    whole = (leaf * 2).full_tensor()
    assert not isinstance(whole, DTensor)
    (whole * torch.full((8, 4), 3.0)).sum().backward()
    assert leaf.grad.placements == tuple(placements)
    assert leaf.grad.full_tensor().equal(torch.full((8, 4), 6.0))
x, v = torch.arange(32.0).reshape(4, 8), torch.arange(16.0).reshape(8, 2)
y = distribute_tensor(x, line, [Shard(1)]) @ distribute_tensor(v, line, [Shard(0)])
own = slice(4 * rank, 4 * rank + 4)  # of the process' two devices
assert y.placements == (Partial(),) and y.to_local().equal(x[:, own] @ v[own])
assert (y * 2).to_local().equal(y.to_local() * 2) and y.full_tensor().equal(x @ v)


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))


def stepping(net):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


plain, cut = build(), fully_shard(build(), mesh=line)
own = DTensor.from_local(w[4 * rank : 4 * rank + 4], line, [Shard(0)])
for way in (lambda f: f, torch.jit):
    first, second = way(stepping(plain)), way(stepping(cut))
    for _ in range(2):
        assert torch.allclose(first(w), second(own).full_tensor(), rtol=1e-5)
assert cut[0].weight.detach().to_local().shape == (4, 4)
try:
    dcp.save({"w": d}, checkpoint_id="never")
except RuntimeError as error:
    assert "a world of 1 of the 2 processes" in str(error)
else:
    raise AssertionError("each process wrote an index")
try:
    cut(w)
except NotImplementedError as error:
    assert "DTensor.from_local" in str(error)
else:
    raise AssertionError("a plain batch was taken")
"""


@pytest.mark.full
def test_two_processes_of_two_devices():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        address = f"localhost:{s.getsockname()[1]}"
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    env = {**os.environ, "XLA_FLAGS": flags}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(rank), address],
            env=env,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [child.communicate(timeout=200)[1] for child in children]
    finally:
        for child in children:
            child.kill()
    assert [child.returncode for child in children] == [0, 0], "\n".join(said)
