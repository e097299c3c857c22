"""Prints, as JSON, what PyTorch's rank 0 of eight says of placements and sizes of parts.

PyTorch's group of processes that only pretends to be one answers without the others. The script
runs once with PyTorch and once (in a process of eight devices) with torchlike.
"""

import json
import sys

if sys.argv[1] == "torch":
    import torch
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=8, store=FakeStore())
    from torch import nn
    from torch.distributed import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        SequenceParallel,
        parallelize_module,
    )
else:
    import torchlike as torch
    from torchlike import nn
    from torchlike.distributed import init_device_mesh
    from torchlike.distributed.fsdp import fully_shard
    from torchlike.distributed.tensor import Replicate, Shard, distribute_tensor
    from torchlike.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        SequenceParallel,
        parallelize_module,
    )

mesh = init_device_mesh("cpu", (2, 4), mesh_dim_names=("dp", "tp"))
line = init_device_mesh("cpu", (8,))


def part(t):
    if sys.argv[1] == "torch":
        return list(t.to_local().shape)
    return list(t.jax().addressable_shards[0].data.shape)


def said(t):
    return [str(t.placements), part(t), list(t.shape), repr(t.device_mesh), t.requires_grad]


found = {
    "mesh": [
        repr(mesh),
        repr(mesh["tp"]),
        mesh["tp"].mesh.tolist(),
        mesh["dp"].mesh.tolist(),
        list(mesh.get_coordinate()),
        mesh.size(),
        mesh["tp"].get_local_rank(),
    ]
}
kinds = (Replicate(), Shard(0), Shard(1), Shard(-1))
for a in kinds:
    for b in kinds:
        d = distribute_tensor(torch.zeros(16, 8), mesh, [a, b])
        found[f"distributed {a} {b}"] = said(d)
        for c in (Replicate(), Shard(0)):
            found[f"redistributed {a} {b} {c}"] = said(d.redistribute(placements=[c, Replicate()]))
found["a slice"] = said(distribute_tensor(torch.zeros(16, 8), mesh["tp"], [Shard(1)]))
parameter = nn.Parameter(distribute_tensor(torch.zeros(16, 8), line, [Shard(0)]))
found["a parameter"] = said(parameter)
found["its data"] = said(parameter.data)


def build():
    return nn.Sequential(
        nn.Embedding(32, 16), nn.LayerNorm(16), nn.Linear(16, 64), nn.Linear(64, 16)
    )


def parallel(net):
    return parallelize_module(
        net,
        mesh["tp"],
        {
            "0": RowwiseParallel(input_layouts=Replicate()),
            "1": SequenceParallel(),
            "2": ColwiseParallel(),
            "3": RowwiseParallel(),
        },
    )


nets = {
    "styles": parallel(build()),
    "sharded": fully_shard(build(), mesh=line),
    "replicas": fully_shard(build(), mesh=mesh),
    "both": fully_shard(parallel(build()), mesh=mesh["dp"]),
}
for kind, net in nets.items():
    found[f"class {kind}"] = type(net).__name__
    for name, p in net.named_parameters():
        found[f"{kind} {name}"] = said(p)
    found[f"state {kind}"] = list(net.state_dict())


def error_of(function):
    try:
        function()
    except Exception as error:
        return [type(error).__name__, str(error).partition("!")[0][:60]]
    return None


x = torch.zeros(8, requires_grad=True)
found["errors"] = [
    error_of(lambda: distribute_tensor(torch.zeros(8), mesh, [Shard(0)])),
    error_of(lambda: distribute_tensor(x * 2, line, [Shard(0)])),
    error_of(lambda: distribute_tensor(torch.zeros(8), line).redistribute()),
    error_of(lambda: mesh["pp"]),
    error_of(lambda: init_device_mesh("cpu", (8,), mesh_dim_names=("a", "b"))),
    error_of(lambda: parallelize_module(build(), line, 3)),
    error_of(lambda: parallelize_module(nn.ReLU(), line, ColwiseParallel())),
]
sys.stdout.write(json.dumps(found) + "\n")
