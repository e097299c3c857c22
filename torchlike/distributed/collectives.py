"""Collectives of tensors, each a compiled program over the group's devices (``programs``).

In a world of one, what each process has is what all have: they are copies, and compile nothing.
In a process that is not in the group they do nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from torchlike._core import modes
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributed import collective_kernels, host_exchange
from torchlike.distributed.groups import ProcessGroup, gloo, member, root
from torchlike.distributed.programs import finished, may_donate, run
from torchlike.distributed.reductions import ReduceOp, check
from torchlike.distributed.works import Work
from torchlike.tensor import Tensor

_NO_LIST = "Argument ``{}`` must be specified on {} rank."


def _tensor(value: Any, name: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )
    return value


#: The parameters that are lists, where they are not called by which tensors they have.
_LISTS = {
    ("allgather", "output"): "tensor_list",
    ("reduce_scatter", "input"): "input_list",
    ("gather", "output"): "gather_list",
    ("scatter", "input"): "scatter_list",
}


def _tensors(value: Any, name: str) -> Sequence[Tensor]:
    """Return a list of tensors. TypeError for what is none."""
    if isinstance(value, Sequence) and all(isinstance(t, (Tensor, Sequence)) for t in value):
        return value
    found = f" with elements of type {[type(t) for t in value]}." if type(value) is list else None
    raise TypeError(
        f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
        f"             but got {type(value)}{found or ' instead.'}"
    )


def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


def _array(tensor: Tensor, what: str) -> jax.Array:
    """Return a tensor's values, for a program. NotImplementedError for a sparse or meta tensor."""
    if tensor.is_sparse or tensor.is_meta:
        kind = "sparse" if tensor.is_sparse else "meta"
        raise NotImplementedError(f"{what}: a {kind} tensor. Use instead: its dense values")
    array = tensor._read()
    if tensor._storage.is_ordinary and len(getattr(array, "devices", set)()) > 1:
        # A plain tensor that a program over a mesh has written: each process has all of it.
        return array.addressable_data(0)
    return array


def _put(tensor: Tensor, array: Any) -> None:
    """Have a tensor hold a result, which may still be under way."""
    shape = tuple(tensor.shape)
    tensor._write(array if array.shape == shape else array.reshape(shape))


def _same(tensors: Sequence[Tensor], like: Tensor, what: str) -> None:
    """Raise ValueError unless all have the dtype of one, RuntimeError where shapes differ."""
    for i, t in enumerate(tensors):
        _tensor(t, "tensor_list")
        if t.dtype is not like.dtype and not (t.is_complex() or like.is_complex()):
            raise ValueError(
                f"Invalid usage of tensors with different dtypesFound {t.dtype} and  {like.dtype}"
            )
        if t.dtype is not like.dtype:
            raise RuntimeError(
                f"{gloo(what)}: invalid tensor type at index {i} (expected {like.dtype}, got "
                f"{t.dtype})"
            )
        if t.shape != like.shape:
            raise RuntimeError(
                f"{gloo(what)}: invalid tensor size at index {i} (expected "
                f"({', '.join(map(str, like.shape))}), got ({', '.join(map(str, t.shape))}))"
            )


def _of_length(tensors: Any, size: int, what: str, which: str) -> Sequence[Tensor]:
    _tensors(tensors, _LISTS.get((what, which), f"{which}_tensor_list"))
    if len(tensors) != size:
        if what in ("gather", "scatter"):
            raise RuntimeError(
                f"{gloo(what)}: Incorrect {which} list size {len(tensors)}. {which.capitalize()} "
                f"list size should be {size}, same as size of the process group."
            )
        raise RuntimeError(
            f"{gloo(what)}: invalid {which} tensor list at index 0 (expected length "
            f"{size}, got {len(tensors)})"
        )
    return tensors


def _times(larger: Tensor, smaller: Tensor, size: int, what: str) -> None:
    """Refuse tensors of which the larger has not ``size`` times the elements of the other, in its
    dtype."""
    _tensor(larger, "output_tensor")
    _tensor(smaller, "input_tensor")
    if larger.dtype is not smaller.dtype:
        raise RuntimeError(f"{what}: output tensor must have the same type as input tensor")
    if larger.numel() != size * smaller.numel():
        raise RuntimeError(
            f"{what}: the larger tensor must be the smaller one's size times the group's, "
            f"{size}: got {tuple(larger.shape)} and {tuple(smaller.shape)}"
        )


@no_grad()
def _move(target: Any, source: Any, what: str) -> None:
    """Copy what the one process sends to where it receives it."""
    _tensor(target, "output")
    _tensor(source, "input")
    if target.dtype is not source.dtype:
        raise RuntimeError(
            f"{gloo(what)}: invalid tensor type (expected {source.dtype}, got {target.dtype})"
        )
    if target.numel() != source.numel():
        raise RuntimeError(
            f"{gloo(what)}: invalid tensor size at index 0 (expected "
            f"({', '.join(map(str, source.shape))}"
            f"), got ({', '.join(map(str, target.shape))}))"
        )
    target.copy_(source.reshape(target.shape))


def _refuse_capture(group: ProcessGroup, what: str, instead: str) -> None:
    """Raise JitCaptureError while a program is captured: it is one for all ranks, and Python gives
    one of them a list."""
    if group.size() > 1:
        asked = f"torch.distributed.{what}, which is not the same on all ranks,"
        modes.running_capture().refuse(asked, instead)


def _one(tensors: Any, what: str) -> Tensor | None:
    return _of_length(tensors, 1, what, "output")[0]


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all processes are here. DistBackendError after the group's timeout, naming those
    that are not."""
    found = member(group)
    if found.size() < 2 or found.rank() < 0:
        return _done(async_op)
    arrived = host_exchange.arrive(found, "barrier")
    if async_op:
        return Work(finish=arrived)
    arrived(None)
    return None


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Wait for all processes as ``barrier`` does, with a timeout of its own."""
    found = member(group)
    if found.size() < 2 or found.rank() < 0:
        return
    limit = found.timeout if timeout is None else timeout
    host_exchange.arrive(found, "monitoredBarrier")(limit.total_seconds())


def all_reduce(
    tensor: Tensor,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce all processes' tensors, in place and in every process; of one process, the tensor
    itself.

    Args:
      tensor: of one shape and dtype in all processes.
      op: ``ReduceOp.SUM``, ``AVG``, ``PRODUCT``, ``MIN``, ``MAX`` and kin.
      group: the processes; all by default.
      async_op: whether the call returns at once.

    Returns:
      a `Work` to wait for with ``async_op``; else None.

    Raises:
      ValueError: there is no process group.
    """
    _tensor(tensor, "tensor")
    check(op, tensor.dtype)
    found = member(group)
    if found.size() < 2 or found.rank() < 0:
        return _done(async_op)
    return all_reduce_coalesced([tensor], op, found, async_op)


def all_reduce_coalesced(
    tensors: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Do ``all_reduce`` of several tensors at once."""
    for t in tensors:
        _tensor(t, "tensors")
        check(op, t.dtype)
    found = member(group)
    if found.size() < 2 or found.rank() < 0:
        return _done(async_op)
    donates = may_donate(tensors)
    arrays = [_array(t, "all_reduce") for t in tensors]
    body = collective_kernels.all_reduce(op.name, found.size())
    results, call = run(found, "all_reduce", (op.name,), arrays, body, donates)
    for t, result in zip(tensors, results, strict=True):
        _put(t, result)
    return finished(results, call, tensors, async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Do ``all_reduce`` for one process; the others' tensors stay as they are."""
    _tensor(tensor, "tensor")
    found = member(group)
    if found.rank() < 0:
        return None
    to = root(found, dst, group_dst, "reduce", "dst")
    if found.size() < 2:
        return _done(async_op)
    check(op, tensor.dtype)
    body = collective_kernels.reduce(op.name, found.size(), to)
    results, call = run(found, "reduce", (op.name, f"dst {to}"), [_array(tensor, "reduce")], body)
    _put(tensor, results[0])
    return finished(results, call, [tensor], async_op)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give every process the tensor of one. RuntimeError for a source that is not there."""
    _tensor(tensor, "tensor")
    found = member(group)
    if found.rank() < 0:
        return None
    at = root(found, src, group_src, "broadcast", "src")
    if found.size() < 2:
        return _done(async_op)
    return _broadcast_coalesced([tensor], at, found, async_op)


def _broadcast_coalesced(
    tensors: Sequence[Tensor], at: int, group: ProcessGroup, async_op: bool = False
) -> Work | None:
    """Give every process the tensors of one, by its rank in the group."""
    arrays = [_array(t, "broadcast") for t in tensors]
    body = collective_kernels.broadcast(at, group.size())
    results, call = run(group, "broadcast", (f"src {at}",), arrays, body)
    if group.rank() != at or call is None:  # a program is one for all ranks
        for t, result in zip(tensors, results, strict=True):
            _put(t, result)
    return finished(results, call, tensors, async_op)


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Give every process the tensors of all in a list. RuntimeError for a list of another length
    than the world, or for shapes that differ."""
    found = member(group)
    if found.rank() < 0:
        return None
    if found.size() < 2:
        _move(_one(tensor_list, "allgather"), tensor, "allgather")
        return _done(async_op)
    _tensor(tensor, "tensor")
    outputs = _of_length(tensor_list, found.size(), "allgather", "output")
    _same(outputs, tensor, "allgather")
    body = collective_kernels.all_gather_list(found.size())
    results, call = run(found, "all_gather", (), [_array(tensor, "all_gather")], body)
    for t, result in zip(outputs, results, strict=True):
        _put(t, result)
    return finished(results, call, outputs, async_op)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Do ``all_gather`` of several tensors: ``output_tensor_lists[r][i]`` becomes the i-th of rank
    r."""
    found = member(group)
    if found.rank() < 0:
        return None
    ranks = _of_length(output_tensor_lists, found.size(), "all_gather_coalesced", "output")
    for outputs in ranks:
        _of_length(outputs, len(input_tensor_list), "all_gather_coalesced", "output")
    work = _done(async_op)
    for i, tensor in enumerate(input_tensor_list):
        work = all_gather([outputs[i] for outputs in ranks], tensor, group, async_op)
    return work


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """Do ``all_gather`` into one tensor, concatenated or along a new first dimension."""
    found = member(group)
    if found.rank() < 0:
        return None
    if found.size() < 2:
        _move(output_tensor, input_tensor, "all_gather_into_tensor")
        return _done(async_op)
    _times(output_tensor, input_tensor, found.size(), "all_gather_into_tensor")
    array = _array(input_tensor, "all_gather_into_tensor")
    results, call = run(found, "all_gather_into_tensor", (), [array], collective_kernels.all_gather)
    _put(output_tensor, results[0])
    return finished(results, call, [output_tensor], async_op)


all_gather_single = all_gather_into_tensor


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Do ``all_gather`` for one process. ValueError where that gives no list, or another does."""
    found = member(group)
    if found.rank() < 0:
        return None
    to = root(found, dst, group_dst, "gather", "dst")
    _refuse_capture(found, "gather", "all_gather, which gives all ranks the same")
    if found.rank() == to and gather_list is None:
        raise ValueError(_NO_LIST.format("gather_list", "destination"))
    if found.size() < 2:
        _move(_one(gather_list, "gather"), tensor, "gather")
        return _done(async_op)
    if found.rank() != to and gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    _tensor(tensor, "tensor")
    outputs: Sequence[Tensor] = []
    if found.rank() == to:
        outputs = _of_length(gather_list, found.size(), "gather", "output")
        _same(outputs, tensor, "gather")
    body = collective_kernels.all_gather_list(found.size())
    results, call = run(found, "gather", (f"dst {to}",), [_array(tensor, "gather")], body)
    for t, result in zip(outputs, results, strict=False):
        _put(t, result)
    return finished(results, call, outputs, async_op)


def gather_single(
    tensor: Tensor,
    gather_tensor: Tensor | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Do ``gather`` into one tensor, concatenated or along a new first dimension. ValueError where
    the destination gives none, RuntimeError for one that is not contiguous, of another dtype or not
    as large as the tensors of all."""
    found = member(group)
    if found.rank() < 0:
        return None
    if found.rank() != root(found, dst, group_dst, "gather_single", "dst"):
        return gather(tensor, None, dst, group, async_op, group_dst)
    if gather_tensor is None:
        raise ValueError("gather_tensor must be specified on the destination rank")
    _times(gather_tensor, tensor, found.size(), "gather_single")
    if not gather_tensor.is_contiguous():
        raise RuntimeError("gather_single: the output tensor must be contiguous")
    rows = list(gather_tensor.view(found.size(), *tensor.shape).unbind())
    return gather(tensor, rows, dst, group, async_op, group_dst)


def gather_into_tensor(
    tensor: Tensor,
    gather_tensor: Tensor | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Do ``gather_single`` under its older name: FutureWarning."""
    warnings.warn(
        "`torch.distributed.gather_into_tensor` is deprecated. "
        "Please use `torch.distributed.gather_single` instead.",
        FutureWarning,
        stacklevel=2,
    )
    return gather_single(tensor, gather_tensor, dst, group, async_op, group_dst)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each process one of the tensors of one. ValueError where that gives no list, or another
    does."""
    found = member(group)
    if found.rank() < 0:
        return None
    at = root(found, src, group_src, "scatter", "src")
    _refuse_capture(found, "scatter", "broadcast, or reduce_scatter")
    if found.rank() == at and scatter_list is None:
        raise ValueError(_NO_LIST.format("scatter_list", "source"))
    if found.size() < 2:
        _move(tensor, _one(scatter_list, "scatter"), "scatter")
        return _done(async_op)
    if found.rank() != at and scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    _tensor(tensor, "tensor")
    if found.rank() == at:
        given = _of_length(scatter_list, found.size(), "scatter", "input")
        _same(given, tensor, "scatter")
        arrays = [_array(t, "scatter") for t in given]
    else:
        arrays = [jnp.zeros(tuple(tensor.shape), tensor.dtype.numpy)] * found.size()
    results, call = run(found, "scatter", (f"src {at}",), arrays, collective_kernels.scatter(at))
    _put(tensor, results[0])
    return finished(results, call, [tensor], async_op)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Give each process one part of the reduction."""
    found = member(group)
    if found.rank() < 0:
        return None
    if found.size() < 2:
        _move(output, _one(input_list, "reduce_scatter"), "reduce_scatter")
        return _done(async_op)
    _tensor(output, "output")
    given = _of_length(input_list, found.size(), "reduce_scatter", "input")
    _same(given, output, "reduce_scatter")
    check(op, output.dtype)
    arrays = [_array(t, "reduce_scatter") for t in given]
    body = collective_kernels.reduce_scatter_list(op.name, found.size())
    results, call = run(found, "reduce_scatter", (op.name,), arrays, body)
    _put(output, results[0])
    return finished(results, call, [output], async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Do ``reduce_scatter`` of one tensor, whose first dimension is cut among the processes."""
    found = member(group)
    if found.rank() < 0:
        return None
    if found.size() < 2:
        _move(output, input, "reduce_scatter_tensor")
        return _done(async_op)
    _times(input, output, found.size(), "reduce_scatter_tensor")
    check(op, output.dtype)
    array = _array(input, "reduce_scatter_tensor").reshape(found.size(), -1)
    body = collective_kernels.reduce_scatter(op.name, found.size())
    results, call = run(found, "reduce_scatter_tensor", (op.name,), [array], body)
    _put(output, results[0])
    return finished(results, call, [output], async_op)


reduce_scatter_single = reduce_scatter_tensor


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send one tensor from each process to each. The shapes may differ, where sender and receiver
    have the same."""
    found = member(group)
    if found.rank() < 0:
        return None
    if found.size() < 2:
        _move(
            _one(output_tensor_list, "all_to_all"),
            _one(input_tensor_list, "all_to_all"),
            "all_to_all",
        )
        return _done(async_op)
    outputs = _of_length(output_tensor_list, found.size(), "all_to_all", "output")
    given = _of_length(input_tensor_list, found.size(), "all_to_all", "input")
    for t in (*outputs, *given):
        _tensor(t, "tensor")
    return _exchanged(outputs, given, found, "all_to_all", async_op)


def _exchanged(
    outputs: Sequence[Tensor],
    given: Sequence[Tensor],
    group: ProcessGroup,
    what: str,
    async_op: bool,
    then: Callable[[], None] | None = None,
) -> Work | None:
    """Send each process a tensor of a shape of its own, and receive as many. While a program is
    captured the shapes are all the same."""
    if modes.is_capturing() and len({t.shape for t in (*outputs, *given)}) == 1:
        arrays = [_array(t, what) for t in given]
        results, _ = run(group, what, (), arrays, collective_kernels.all_to_all_list)
        for t, result in zip(outputs, results, strict=True):
            _put(t, result)
        return _done(async_op)
    collect = host_exchange.exchange(group, what, given, outputs)

    def finish(seconds: float | None) -> None:
        collect(seconds)
        if then is not None:
            then()

    if async_op:
        return Work(finish=finish, results=outputs)
    finish(None)
    return None


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Do ``all_to_all`` of the parts of one tensor: equal ones, or of the sizes given along the
    first dimension. RuntimeError for sizes that do not add up."""
    found = member(group)
    if found.rank() < 0:
        return None
    if found.size() < 2:
        _move(output, input, "all_to_all_single")
        return _done(async_op)
    _tensor(output, "output")
    _tensor(input, "input")
    n = found.size()
    if not output_split_sizes and not input_split_sizes:
        for t, which in ((input, "input"), (output, "output")):
            if t.dim() == 0 or t.shape[0] % n:
                raise RuntimeError(
                    f"Tensor's dim 0 does not divide equally across group size "
                    f"({which} {tuple(t.shape)}, {n} processes)"
                )
        _times(output, input, 1, "all_to_all_single")
        array = _array(input, "all_to_all_single")
        results, call = run(found, "all_to_all_single", (), [array], collective_kernels.all_to_all)
        _put(output, results[0])
        return finished(results, call, [output], async_op)
    given = _parts(input, input_split_sizes, n)
    places = _parts(output, output_split_sizes, n)
    return _exchanged(places, given, found, "all_to_all_single", async_op)


def _parts(tensor: Tensor, sizes: Sequence[int] | None, n: int) -> Sequence[Tensor]:
    """Return views of a tensor's parts along its first dimension."""
    if not sizes:
        if tensor.shape[0] % n:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        sizes = [tensor.shape[0] // n] * n
    if len(sizes) != n:
        raise RuntimeError(f"Number of tensor splits not equal to group size: {len(sizes)}, {n}")
    if sum(sizes) != tensor.shape[0]:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    return tensor.split(list(sizes))


__all__ = [
    "ReduceOp",
    "Work",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_single",
    "all_reduce",
    "all_reduce_coalesced",
    "all_to_all",
    "all_to_all_single",
    "barrier",
    "broadcast",
    "gather",
    "gather_into_tensor",
    "gather_single",
    "monitored_barrier",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_single",
    "reduce_scatter_tensor",
    "scatter",
]
