"""Collectives that gradients flow through. In a world of one they are copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike._core import modes
from torchlike.autograd.function import Function
from torchlike.distributed import collective_kernels
from torchlike.distributed import collectives as dist
from torchlike.distributed.groups import ProcessGroup, member
from torchlike.distributed.programs import run
from torchlike.distributed.reductions import ReduceOp
from torchlike.tensor import Tensor, wrap


def _copies(tensor: Tensor, n: int) -> list[Tensor]:
    return [tensor.new_empty(tuple(tensor.shape)) for _ in range(n)]


def _only_at(tensor: Tensor, rank: int, group: ProcessGroup) -> Tensor:
    """Return the tensor in one process, zeros in the others. A program is one for all of them."""
    if not modes.is_capturing() or group.size() < 2:
        here = group.ranks[group.rank()] == rank
        return tensor if here else tensor.new_zeros(tuple(tensor.shape))
    at = group.ranks.index(rank)
    (found,), _ = run(group, "only_at", (at,), [tensor._read()], collective_kernels.only_at(at))
    return wrap(found).reshape(tuple(tensor.shape))


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, op: Any, group: Any) -> Tensor:
        ctx.op, ctx.group = op, group
        made = tensor.clone()
        dist.all_reduce(made, op, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return _AllReduce.apply(grad, ctx.op, ctx.group), None, None


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, src: int, group: Any) -> Tensor:
        ctx.src, ctx.group = src, group
        made = tensor.clone()
        dist.broadcast(made, src, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        summed = _Reduce.apply(grad, ctx.src, ReduceOp.SUM, ctx.group)
        return _only_at(summed, ctx.src, member(ctx.group)), None, None


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, op: Any, group: Any) -> Tensor:
        ctx.dst, ctx.group = dst, group
        made = tensor.clone()
        dist.reduce(made, dst, op, group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return _Broadcast.apply(grad, ctx.dst, ctx.group), None, None, None


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, group: Any) -> tuple[Tensor, ...]:
        ctx.group = group
        outputs = _copies(tensor, member(group).size())
        dist.all_gather(outputs, tensor.contiguous(), group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        own = grads[0].new_empty(tuple(grads[0].shape))
        dist.reduce_scatter(own, [g.contiguous() for g in grads], ReduceOp.SUM, ctx.group)
        return own, None


class _AllGatherBase(Function):
    @staticmethod
    def forward(ctx: Any, output: Tensor, tensor: Tensor, group: Any) -> Tensor:
        ctx.group, ctx.shape = group, tensor.shape
        made = output.new_empty(tuple(output.shape))
        dist.all_gather_into_tensor(made, tensor.contiguous(), group)
        return made

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        own = grad.new_zeros(tuple(ctx.shape))
        dist.reduce_scatter_tensor(own, grad.contiguous(), ReduceOp.SUM, ctx.group)
        return None, own, None


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, dst: int, group: Any) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        found = member(group)
        outputs = [tensor.new_zeros(tuple(tensor.shape)) for _ in range(found.size())]
        here = found.ranks[found.rank()] == dst
        dist.gather(tensor.contiguous(), outputs if here else None, dst, group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return _Scatter.apply(ctx.dst, ctx.group, *grads), None, None


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        found = member(group)
        here = found.ranks[found.rank()] == src
        own = tensors[0].new_zeros(tuple(tensors[0].shape))
        dist.scatter(own, [t.contiguous() for t in tensors] if here else None, src, group)
        return own

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, *_Gather.apply(grad, ctx.src, ctx.group)


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, *tensors: Tensor) -> Tensor:
        ctx.group = group
        own = tensors[0].new_empty(tuple(tensors[0].shape))
        dist.reduce_scatter(own, [t.contiguous() for t in tensors], op, group)
        return own

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, *_AllGather.apply(grad, ctx.group)


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [t.shape for t in tensors]
        outputs = [tensors[0].new_zeros(tuple(shape)) for shape in shapes]
        dist.all_to_all(outputs, [t.contiguous() for t in tensors], group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *grads)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(
        ctx: Any, group: Any, shape: Any, out_sizes: Any, in_sizes: Any, tensor: Tensor
    ) -> Tensor:
        ctx.args = group, tensor.shape, in_sizes, out_sizes
        output = tensor.new_zeros(tuple(shape))
        dist.all_to_all_single(output, tensor.contiguous(), out_sizes, in_sizes, group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        return None, None, None, None, _AllToAllSingle.apply(*ctx.args, grad)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors of all processes. ValueError before ``init_process_group``."""
    return _AllGather.apply(tensor, group)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """Return the tensors of all processes, in one of them; zeros in the others."""
    return _Gather.apply(tensor, dst, group)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the sum over all processes."""
    return _AllReduce.apply(tensor, ReduceOp.SUM if op is None else op, group)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """Return the sum over all processes, in one of them; the own tensor in the others."""
    return _Reduce.apply(tensor, dst, ReduceOp.SUM if op is None else op, group)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Return the tensor of one process."""
    return _Broadcast.apply(tensor, src, group)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Return this process' tensor of one process' list of tensors."""
    return _Scatter.apply(src, group, *tensors)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """Return this process' tensor of the sums of all processes' lists."""
    return _ReduceScatter.apply(op, group, *input_list)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """Return the tensors that each process has in its list for this one. The outputs say the
    shapes."""
    shapes = [t.shape for t in output_tensor_list]
    return _AllToAll.apply(group, shapes, *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
) -> Tensor:
    """Do ``all_to_all`` of the parts of one tensor. The output says the shape."""
    return _AllToAllSingle.apply(group, output.shape, output_split_sizes, input_split_sizes, input)


def _all_gather_base(output_tensor: Tensor, input_tensor: Tensor, group: Any = None) -> Tensor:
    """Do ``all_gather`` into one tensor."""
    return _AllGatherBase.apply(output_tensor, input_tensor, group)


__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "all_to_all_single",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]
