"""The terms of results on a mesh of two dimensions. The same file runs under PyTorch's torchrun."""

from terms_cases import W, X, all_said, said
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor


def on(t, *placements):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
    return distribute_tensor(t, mesh, placements)


def case_products():
    x, w = on(X, Shard(0), Shard(1)), on(W, Replicate(), Shard(0))
    y = x @ w
    whole = y.redistribute(placements=[Shard(0), Replicate()])
    return all_said(y, y + y, y * 2, whole, y.redistribute(placements=[Replicate()] * 2))


def case_sums():
    x = on(X, Shard(0), Shard(1))
    return all_said(x.sum(), x.sum(0), x.sum(1), x.mean(), x.max())


def case_cut_twice():
    x, w = on(X, Shard(1), Shard(1)), on(W, Shard(0), Shard(0))
    y = x @ w
    return all_said(y, y.t(), y.sum(), y.redistribute(placements=[Replicate(), Partial()]))


def case_gradients():
    x = on(X, Shard(0), Shard(1)).requires_grad_()
    w = on(W, Replicate(), Shard(0)).requires_grad_()
    y = x @ w
    y.redistribute(placements=[Shard(0), Replicate()]).pow(2).sum().backward()
    return said(x.grad), w.grad.full_tensor().tolist()
