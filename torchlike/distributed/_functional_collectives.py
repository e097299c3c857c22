"""Collectives that give new tensors and leave their inputs as they are.

Differs from PyTorch: results are plain tensors; whoever reads one waits for it, so ``wait_tensor``
has nothing to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike._ops.creation.filled import empty
from torchlike._ops.shape.joining import cat
from torchlike.distributed import collectives as dist
from torchlike.distributed.groups import ProcessGroup, World, get_global_rank, member
from torchlike.distributed.nn import functional
from torchlike.distributed.point_to_point import irecv, isend
from torchlike.distributed.reductions import named
from torchlike.tensor import Tensor


def _group(given: Any) -> ProcessGroup:
    """Return a group that is given as itself, by its name, by its ranks, or as a mesh of one
    dimension."""
    if given is None or isinstance(given, ProcessGroup):
        return member(given)
    if isinstance(given, str):
        return World.groups[int(given)]
    if hasattr(given, "get_group"):
        return member(given.get_group())
    if isinstance(given, tuple) and len(given) == 2 and hasattr(given[0], "get_group"):
        return member(given[0].get_group(given[1]))
    ranks = [int(r) for r in given]
    for found in World.groups.values():
        if found.ranks == ranks:
            return found
    raise ValueError(f"no process group has the ranks {ranks}: make it with new_group")


def wait_tensor(tensor: Tensor) -> Tensor:
    """Return the tensor as it is: collectives give results that are there."""
    return tensor


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """Reduce (``"sum"``, ``"avg"``, …) over the group into a new tensor."""
    made = self.detach().clone()
    dist.all_reduce(made, named(reduceOp), _group(group))
    return made


def all_reduce_coalesced(
    self: Sequence[Tensor], reduceOp: str, group: Any, tag: str = ""
) -> list[Tensor]:
    """Do ``all_reduce`` of several tensors at once."""
    made = [t.detach().clone() for t in self]
    dist.all_reduce_coalesced(made, named(reduceOp), _group(group))
    return made


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """Return the tensor of rank ``src``, as a new one."""
    made = self.detach().clone()
    dist.broadcast(made, src, _group(group))
    return made


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """Return all ranks' tensors, concatenated along a dimension."""
    found = _group(group)
    n = found.size()
    made = empty((n * self.shape[0], *self.shape[1:]), dtype=self.dtype)
    dist.all_gather_into_tensor(made, self.detach().contiguous(), found)
    return made if gather_dim == 0 else cat(list(made.chunk(n)), gather_dim)


def all_gather_tensor_autograd(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """Do ``all_gather_tensor`` with gradients."""
    return cat(list(functional.all_gather(self, _group(group))), gather_dim)


def reduce_scatter_tensor(
    self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""
) -> Tensor:
    """Return this rank's part of the reduction, which is cut along a dimension. AssertionError
    where it does not divide."""
    found = _group(group)
    parts = _parts(self.detach(), scatter_dim, found.size())
    made = empty(tuple(parts[0].shape), dtype=self.dtype)
    dist.reduce_scatter(made, parts, named(reduceOp), found)
    return made


def reduce_scatter_tensor_autograd(
    self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""
) -> Tensor:
    """Do ``reduce_scatter_tensor`` with gradients."""
    found = _group(group)
    parts = _parts(self, scatter_dim, found.size())
    return functional.reduce_scatter(parts[0], parts, named(reduceOp), found)


def _parts(tensor: Tensor, dim: int, n: int) -> list[Tensor]:
    if tensor.shape[dim] % n:
        raise AssertionError(
            f"input dimension {dim} ({tensor.shape[dim]} must be a multiple of group_size {n})"
        )
    return [part.contiguous() for part in tensor.chunk(n, dim)]


def all_to_all_single(
    self: Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = ""
) -> Tensor:
    """Do ``torch.distributed.all_to_all_single`` into a new tensor."""
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    made = empty((rows, *self.shape[1:]), dtype=self.dtype)
    dist.all_to_all_single(
        made, self.detach(), output_split_sizes, input_split_sizes, _group(group)
    )
    return made


def all_to_all_single_autograd(
    self: Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any, tag: str = ""
) -> Tensor:
    """Do ``all_to_all_single`` with gradients."""
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    made = empty((rows, *self.shape[1:]), dtype=self.dtype)
    return functional.all_to_all_single(
        made, self, output_split_sizes, input_split_sizes, _group(group)
    )


def permute_tensor(self: Tensor, src_dst: Sequence[int], group: Any, tag: str = "") -> Tensor:
    """Send the tensor of each rank i to rank ``src_dst[i]``, and return the one that this rank
    receives."""
    found = _group(group)
    made = self.detach().clone()
    to = get_global_rank(found, src_dst[found.rank()])
    source = get_global_rank(found, list(src_dst).index(found.rank()))
    if to == found.ranks[found.rank()]:
        return made
    isend(self.detach(), to, found)
    work = irecv(made, source, found)
    if work is not None:
        work.wait()
    return made


all_gather_single, reduce_scatter_single = all_gather_tensor, reduce_scatter_tensor

#: What a result is: see the module.
AsyncCollectiveTensor = Tensor
