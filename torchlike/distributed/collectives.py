"""Collectives of a world of one: what each process has is what all have."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from torchlike._core.tensor import Tensor
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributed.groups import ProcessGroup, check_root, member, refuse_peer


class RedOpType:
    """A way in which the values of several processes become one."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"RedOpType.{self.name}"


class ReduceOp:
    """The ways."""

    RedOpType = RedOpType
    SUM = RedOpType("SUM")
    AVG = RedOpType("AVG")
    PRODUCT = RedOpType("PRODUCT")
    MIN = RedOpType("MIN")
    MAX = RedOpType("MAX")
    BAND = RedOpType("BAND")
    BOR = RedOpType("BOR")
    BXOR = RedOpType("BXOR")


reduce_op = ReduceOp


class Work:
    """A collective under way (``async_op=True``): done."""

    def wait(self, timeout: Any = None) -> bool:
        """True at once."""
        return True

    def is_completed(self) -> bool:
        """True."""
        return True

    is_success = is_completed

    def result(self) -> list[Any]:
        """Nothing: results are in the tensors given."""
        return []


def _tensor(value: Any, name: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )
    return value


def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


@no_grad()
def _move(target: Any, source: Any, what: str) -> None:
    """Copy what the one process sends to where it receives it."""
    _tensor(target, "output")
    _tensor(source, "input")
    if target.dtype is not source.dtype:
        raise RuntimeError(f"{what}: invalid tensor type (expected {source.dtype}, got "
                           f"{target.dtype})")  # fmt: skip
    if target.numel() != source.numel():
        raise RuntimeError(
            f"{what}: invalid tensor size at index 0 (expected ({', '.join(map(str, source.shape))}"
            f"), got ({', '.join(map(str, target.shape))}))"
        )
    target.copy_(source.reshape(target.shape))


def _one(tensors: Any, what: str) -> Tensor | None:
    if not isinstance(tensors, Sequence):
        raise TypeError(f"{what}: expected a list of tensors, got {type(tensors)}")
    if len(tensors) != 1:
        raise RuntimeError(
            f"{what}: invalid output tensor list at index 0 (expected length 1, got {len(tensors)})"
        )
    return tensors[0]


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all processes are here."""
    member(group)
    return _done(async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """``barrier`` that says who is missing."""
    member(group)


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Every process gets the reduction of all tensors, in place: of one, itself."""
    _tensor(tensor, "tensor")
    member(group)
    return _done(async_op)


def all_reduce_coalesced(
    tensors: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """``all_reduce`` of several tensors."""
    for t in tensors:
        _tensor(t, "tensors")
    member(group)
    return _done(async_op)


def reduce(
    tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM, group: Any = None,
    async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """``all_reduce`` for one process."""
    _tensor(tensor, "tensor")
    member(group)
    check_root(dst, "reduce")
    return _done(async_op)


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Every process gets the tensor of one. RuntimeError for a source that is not there."""
    _tensor(tensor, "tensor")
    member(group)
    check_root(src, "broadcast")
    return _done(async_op)


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Every process gets the tensors of all in a list. RuntimeError for a list of another length
    than the world, or for shapes that differ."""
    member(group)
    _move(_one(tensor_list, "allgather"), tensor, "allgather")
    return _done(async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """``all_gather`` into one tensor."""
    member(group)
    _move(output_tensor, input_tensor, "all_gather_into_tensor")
    return _done(async_op)


all_gather_single = all_gather_into_tensor


def gather(
    tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int | None = None,
    group: Any = None, async_op: bool = False, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """``all_gather`` for one process. ValueError where that gives no list."""
    member(group)
    check_root(dst, "gather")
    if gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _move(_one(gather_list, "gather"), tensor, "gather")
    return _done(async_op)


def scatter(
    tensor: Tensor, scatter_list: list[Tensor] | None = None, src: int | None = None,
    group: Any = None, async_op: bool = False, group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Each process gets one of the tensors of one. ValueError where that gives no list."""
    member(group)
    check_root(src, "scatter")
    if scatter_list is None:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _move(tensor, _one(scatter_list, "scatter"), "scatter")
    return _done(async_op)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Each process gets one part of the reduction."""
    member(group)
    _move(output, _one(input_list, "reduce_scatter"), "reduce_scatter")
    return _done(async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """``reduce_scatter`` of one tensor."""
    member(group)
    _move(output, input, "reduce_scatter_tensor")
    return _done(async_op)


reduce_scatter_single = reduce_scatter_tensor


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Each process sends one tensor to each."""
    member(group)
    _move(_one(output_tensor_list, "all_to_all"), _one(input_tensor_list, "all_to_all"),
          "all_to_all")  # fmt: skip
    return _done(async_op)


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None,
    group: Any = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """``all_to_all`` of the parts of one tensor."""
    member(group)
    _move(output, input, "all_to_all_single")
    return _done(async_op)


# -- any object ------------------------------------------------------------------------------------


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """``all_gather`` of anything that can be copied."""
    member(group)
    _one(object_list, "all_gather_object")
    object_list[0] = copy.deepcopy(obj)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None,
    group: Any = None, group_dst: int | None = None,
) -> None:  # fmt: skip
    """``gather`` of anything that can be copied."""
    member(group)
    check_root(dst, "gather_object")
    if object_gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    all_gather_object(object_gather_list, obj, group)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None,
    group_src: int | None = None,
) -> None:  # fmt: skip
    """``broadcast`` of a list of anything: the one process has it."""
    member(group)
    check_root(src, "broadcast")


def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None,
    src: int | None = None, group: Any = None, group_src: int | None = None,
) -> None:  # fmt: skip
    """``scatter`` of anything that can be copied."""
    member(group)
    check_root(src, "scatter")
    if scatter_object_input_list is None or not scatter_object_output_list:
        raise ValueError("the source gives a list of one object, and every process a place for it")
    scatter_object_output_list[0] = copy.deepcopy(_one(scatter_object_input_list, "scatter"))


# -- from one process to another -------------------------------------------------------------------


def send(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0,
    group_dst: int | None = None,
) -> None:  # fmt: skip
    """ValueError: there is no other process to send to."""
    _tensor(tensor, "tensor")
    member(group)
    refuse_peer("destination")


def recv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0,
    group_src: int | None = None,
) -> int:  # fmt: skip
    """ValueError: there is no other process to receive from."""
    _tensor(tensor, "tensor")
    member(group)
    refuse_peer("source")
    return 0


isend, irecv = send, recv
