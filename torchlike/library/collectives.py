"""Collectives as operators of ``torch.ops._c10d_functional``, ``c10d_functional`` and ``c10d``:
tensor subclasses name them in tables of what they handle."""

from __future__ import annotations

from collections.abc import Sequence

from torchlike.distributed import _functional_collectives as functional
from torchlike.library.registration import Library
from torchlike.tensor import Tensor

_library = Library("_c10d_functional", "DEF")
for _schema in (
    "all_gather_into_tensor(Tensor input, int group_size, str group_name) -> Tensor",
    "all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor",
    "all_to_all_single(Tensor input, SymInt[] output_split_sizes, SymInt[] input_split_sizes, "
    "str group_name) -> Tensor",
    "broadcast(Tensor input, int src, str group_name) -> Tensor",
    "reduce_scatter_tensor(Tensor input, str reduce_op, int group_size, str group_name) -> Tensor",
    "wait_tensor(Tensor tensor) -> Tensor",
    "_wrap_tensor_autograd(Tensor input) -> Tensor",
):
    _library.define(_schema)

#: The older names, which give a group by its ranks.
_older = Library("c10d_functional", "DEF")
for _schema in (
    "all_gather_into_tensor(Tensor self, str tag, int[] ranks, int group_size) -> Tensor",
    "all_reduce(Tensor self, str reduceOp, str tag, int[] ranks, int group_size) -> Tensor",
    "wait_tensor(Tensor self) -> Tensor",
):
    _older.define(_schema)

_in_place = Library("c10d", "DEF")
#: Without a kernel: a call says so. torch.distributed.scatter is the function.
_in_place.define(
    "scatter_(Tensor[] output_tensors, Tensor[] input_tensors, str process_group, int root_rank, "
    "bool async_op=True, int timeout=-1) -> Tensor[]"
)


def all_gather_into_tensor(input: Tensor, group_size: int, group_name: str) -> Tensor:
    """Return all ranks' tensors, concatenated along the first dimension."""
    return functional.all_gather_tensor(input, 0, group_name)


def all_reduce(input: Tensor, reduce_op: str, group_name: str) -> Tensor:
    """Reduce over the group into a new tensor."""
    return functional.all_reduce(input, reduce_op, group_name)


def all_to_all_single(
    input: Tensor,
    output_split_sizes: Sequence[int],
    input_split_sizes: Sequence[int],
    group_name: str,
) -> Tensor:
    """Exchange parts of the first dimension with every rank."""
    return functional.all_to_all_single(input, output_split_sizes, input_split_sizes, group_name)


def broadcast(input: Tensor, src: int, group_name: str) -> Tensor:
    """Return the tensor of rank ``src``."""
    return functional.broadcast(input, src, group_name)


def reduce_scatter_tensor(
    input: Tensor, reduce_op: str, group_size: int, group_name: str
) -> Tensor:
    """Return this rank's part of the reduction, cut along the first dimension."""
    return functional.reduce_scatter_tensor(input, reduce_op, 0, group_name)


for _kernel in (
    all_gather_into_tensor,
    all_reduce,
    all_to_all_single,
    broadcast,
    reduce_scatter_tensor,
):
    _library.impl(_kernel.__name__, _kernel)
_library.impl("_wrap_tensor_autograd", lambda input: input.clone())
for _space in (_library, _older):
    _space.impl("wait_tensor", lambda tensor: tensor.clone())
_older.impl(
    "all_gather_into_tensor",
    lambda self, tag, ranks, group_size: functional.all_gather_tensor(self, 0, ranks),
)
_older.impl(
    "all_reduce",
    lambda self, reduceOp, tag, ranks, group_size: functional.all_reduce(self, reduceOp, ranks),
)
