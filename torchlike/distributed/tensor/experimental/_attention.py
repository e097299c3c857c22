"""Context parallelism: attention of a sequence that is cut along a dimension of a mesh.

Keys and values are gathered, and each device, or process, computes the rows of its own queries.
Where one process has all devices that is a sharding (queries and results cut, keys and values
not), and XLA does the rest. Between processes each holds a part of the sequence as an ordinary
tensor, the gathering is a collective with a gradient, and positions tell what a query may see.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import modes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._ops.nn.attention import sharded_attention
from torchlike._runtime import logs
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributed.collective_kernels import AXIS
from torchlike.distributed.device_mesh import DeviceMesh
from torchlike.distributed.lent_meshes import lend
from torchlike.distributed.nn.functional import all_gather
from torchlike.distributed.programs import run
from torchlike.distributed.tensor._api import full_tensor, place_, where
from torchlike.distributed.tensor._layouts import laid_out
from torchlike.distributed.tensor._specs import checked, equally_cut
from torchlike.distributed.tensor.placement_types import Replicate, Shard
from torchlike.tensor import Tensor, wrap

log = logs.logger("kernels")
#: The dimension of queries, keys and values that is cut: that of the sequence.
_SEQUENCE = -2


class _RotateMethod(Enum):
    ALL_TO_ALL = auto()
    ALL_GATHER = auto()


class _ContextParallelOptions:
    """What scripts set: ``enable_load_balance`` (a process holds one part of the first half and one
    of the second, so that causal attention is as much work for all). The others only tune."""

    def __init__(self) -> None:
        self.convert_to_f32 = True
        self.enable_load_balance = True
        self.rotate_method = _RotateMethod.ALL_GATHER


_cp_options = _ContextParallelOptions()


def set_rotate_method(rotate_method: str) -> None:
    """Accept "allgather" or "alltoall", and gather either way. NotImplementedError for another
    name."""
    if rotate_method not in ("allgather", "alltoall"):
        raise NotImplementedError(
            f"Context Parallel does not support using {rotate_method} for kv shards rotation"
        )
    if rotate_method == "alltoall":
        log.info("set_rotate_method('alltoall'): keys and values are gathered all the same")
    _cp_options.rotate_method = (
        _RotateMethod.ALL_GATHER if rotate_method == "allgather" else _RotateMethod.ALL_TO_ALL
    )


def _order(length: int, n: int) -> np.ndarray:
    """Return the positions that each of ``n`` processes holds of a sequence: a row for each.
    AssertionError where the length does not divide."""
    pieces = 2 * n if _cp_options.enable_load_balance else n
    if length % pieces:
        raise AssertionError(
            f"context_parallel: a sequence of {length} over {n} processes does not divide into "
            f"{pieces} equal parts"
            + (
                ", two for each: pad it, or set _cp_options.enable_load_balance = False"
                if pieces > n
                else ": pad it"
            )
        )
    parts = np.arange(length).reshape(pieces, -1)
    if pieces == n:
        return parts
    return np.concatenate([parts[:n], parts[: n - 1 : -1]], 1)


@contextlib.contextmanager
def context_parallel(
    mesh: DeviceMesh,
    *,
    buffers: list[Tensor] | None = None,
    buffer_seq_dims: list[int] | None = None,
    no_restore_buffers: set[Tensor] | None = None,
) -> Iterator[None]:
    """Have ``scaled_dot_product_attention`` work on sequences cut along a mesh of one dimension, in
    a ``with`` block.

    ``buffers`` are cut in place, each in its dimension of ``buffer_seq_dims``, and become what they
    were at the end, but for ``no_restore_buffers``. Queries, keys and values are (…, sequence,
    features) of this process' part of the sequence; keys and values are gathered.

    Raises:
        ValueError: other numbers of ``buffers`` and ``buffer_seq_dims``; ``no_restore_buffers``
            that are no buffers.
        AssertionError: a sequence that does not divide, into two parts for each process with
            ``_cp_options.enable_load_balance``, as it is at first.
        NotImplementedError: from the attention, for a mask or dropout.

    Differs from PyTorch: works on CPUs. A process that drives all devices holds whole buffers, in
    their order: their devices hold the parts.
    """
    given, dims = buffers or [], buffer_seq_dims or []
    kept = {id(b) for b in no_restore_buffers or ()}
    if len(given) != len(dims):
        raise ValueError("`seq_dims` must have the same number of elements as `buffers`.")
    if not kept <= set(map(id, given)):
        raise ValueError("`no_restore_buffers` must be a subset of `buffers`.")
    if mesh.ndim != 1:
        raise ValueError(f"context_parallel expects a mesh of one dimension, but got {mesh}")
    modes.running_capture().refuse("context_parallel()", "it around the compiled function")
    with no_grad():
        before = [None if id(b) in kept else b.detach().clone() for b in given]
        for b, dim in zip(given, dims, strict=True):
            _cut(b, dim, mesh)
    try:
        with sharded_attention.by(_Attention(mesh)):
            yield
    finally:
        with no_grad():
            for b, former in zip(given, before, strict=True):
                if former is not None:
                    _restore(b, former, mesh)


def _cut(b: Tensor, dim: int, mesh: DeviceMesh) -> None:
    """Leave of a buffer what this process, or each device, holds of it."""
    if mesh.is_local:
        lend(mesh.jax_mesh)
        placements = checked([Shard(dim)], mesh, b.dim())
        place_(b, mesh, equally_cut(placements, mesh, tuple(b.shape)))
        return
    rows = _order(b.shape[dim], mesh.size())[mesh.get_local_rank()]
    own = b.detach().index_select(dim, NAMESPACES[""]["tensor"](rows))
    b.resize_(own.shape)
    b.copy_(own)


def _restore(b: Tensor, former: Tensor, mesh: DeviceMesh) -> None:
    if mesh.is_local:
        b.data = former.new_empty(0)  # what is assigned to a DTensor in its own size is placed
        b.data = former
    else:
        b.resize_(former.shape)
        b.copy_(former)


class _Attention:
    """``scaled_dot_product_attention`` of sequences that are cut along a mesh."""

    def __init__(self, mesh: DeviceMesh) -> None:
        self._mesh = mesh
        self._group = None if mesh.is_local else mesh.get_group()

    def __call__(
        self,
        attention: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Any,
        dropout_p: float,
        is_causal: Any,
        scale: float | None,
        enable_gqa: Any,
    ) -> Tensor:
        if attn_mask is not None:
            raise NotImplementedError(
                "scaled_dot_product_attention(attn_mask=...) in context_parallel(): the mask would "
                "have to be cut as the sequence is. Use instead: is_causal=True, or attention "
                "outside of it"
            )
        if dropout_p:
            raise NotImplementedError(
                "scaled_dot_product_attention(dropout_p=...) in context_parallel(): use "
                "dropout_p=0.0, and dropout on the result"
            )
        if self._mesh.is_local:
            cut, whole = [Shard(query.dim() + _SEQUENCE)], [Replicate()]
            q, k, v = (
                laid_out(t, self._mesh, at)
                for t, at in ((query, cut), (key, whole), (value, whole))
            )
            out = attention(q, k, v, None, 0.0, is_causal, scale=scale, enable_gqa=enable_gqa)
            return laid_out(out, self._mesh, cut)
        k, v = (
            NAMESPACES[""]["cat"](list(all_gather(t, self._group)), _SEQUENCE) for t in (key, value)
        )
        mask = self._seen(query, key) if is_causal else None
        return attention(query, k, v, mask, 0.0, False, scale=scale, enable_gqa=enable_gqa)

    def _seen(self, query: Tensor, key: Tensor) -> Tensor:
        """Return the mask of the keys, in the order in which they are gathered, that a query of
        this process may see. NotImplementedError for sequences of two lengths."""
        length = query.shape[_SEQUENCE]
        if key.shape[_SEQUENCE] != length:
            raise NotImplementedError(
                f"causal attention of {length} queries and {key.shape[_SEQUENCE]} keys of each "
                "process in context_parallel(): use sequences of one length"
            )
        n = self._mesh.size()
        order = _order(n * length, n)
        if not modes.is_capturing():
            own = order[self._mesh.get_local_rank()]
            return NAMESPACES[""]["tensor"](order.reshape(1, -1) <= own[:, None])

        def body(table: Any) -> tuple[Any, ...]:  # one program for all ranks
            own = lax.dynamic_index_in_dim(table, lax.axis_index(AXIS), keepdims=False)
            return (table.reshape(1, -1) <= own[:, None],)

        assert self._group is not None
        (found,), _ = run(self._group, "positions", (n, length), [jnp.asarray(order)], body)
        return wrap(found)


def context_parallel_unshard(
    mesh: DeviceMesh, buffers: list[Tensor], seq_dims: Sequence[int], load_balancer: Any = None
) -> list[Tensor]:
    """Gather whole tensors, in the sequence's order, of the parts that processes hold of results.
    NotImplementedError for a load balancer of one's own."""
    if load_balancer is not None:
        raise NotImplementedError(
            "context_parallel_unshard(load_balancer=...): use _cp_options.enable_load_balance"
        )
    with no_grad():
        if mesh.is_local:
            return [full_tensor(b) if where(b) is not None else b.clone() for b in buffers]
        found = []
        for b, dim in zip(buffers, seq_dims, strict=True):
            order = _order(b.shape[dim] * mesh.size(), mesh.size())
            parts = list(all_gather(b.detach(), mesh.get_group()))
            back = NAMESPACES[""]["tensor"](np.argsort(order.reshape(-1)))
            found.append(NAMESPACES[""]["cat"](parts, dim).index_select(dim, back))
        return found
