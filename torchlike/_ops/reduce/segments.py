"""Reductions over segments of a dimension."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import errors
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Input, Int, OptFloat, Str
from torchlike._ops.checks import floats_only, scalar_type_of
from torchlike._ops.value_checks import refuse_where, values_of
from torchlike.tensor import Tensor

_INITIAL = {"max": -np.inf, "min": np.inf, "sum": 0.0, "mean": 0.0, "prod": 1.0}
#: What two of them are called besides.
_NAMES = {"amax": "max", "amin": "min"}


@jax.custom_jvp
def _moving_as(x: Any) -> jax.Array:
    """Return zeros with the derivative of ``x``, which ``x - x`` has not where x is infinite or
    NaN."""
    return jnp.zeros_like(x)


@_moving_as.defjvp
def _moving_as_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    return _moving_as(*primals), tangents[0]


def _extreme(x: Any, slot: Any, count: int, start: Any, largest: bool) -> jax.Array:
    """Return the maxima or minima of segments; the gradient is shared evenly by the elements that
    are the extremum."""
    plain = jax.ops.segment_max if largest else jax.ops.segment_min
    known = lax.stop_gradient(x)
    value = plain(known, slot, count)
    value = jnp.maximum(value, start) if largest else jnp.minimum(value, start)
    lost = jax.ops.segment_sum(jnp.isnan(known).astype(np.int32), slot, count) > 0
    value = jnp.where(lost, jnp.nan, value)
    mine = value[slot.clip(0, max(count - 1, 0))]
    chosen = (known == mine) | (jnp.isnan(known) & jnp.isnan(mine))
    ties = jax.ops.segment_sum(chosen.astype(x.dtype), slot, count)
    passed = jnp.where(chosen, _moving_as(x), 0)
    return value + jax.ops.segment_sum(passed, slot, count) / jnp.maximum(ties, 1)


def _product(x: Any, slot: Any, lengths: Any, start: Any) -> jax.Array:
    """Return the products of segments, by a scan that begins anew at each segment: differentiable
    also where there are zeros, which a scatter of products is not."""
    ends = jnp.cumsum(lengths)
    begins = jnp.concatenate([jnp.ones(1, bool), slot[1:] != slot[:-1]])
    begins = jnp.broadcast_to(begins.reshape(-1, *(1,) * (x.ndim - 1)), x.shape)

    def joined(a: Any, b: Any) -> tuple[Any, ...]:
        # Selected before it is multiplied: a NaN gives no gradient to the segment before.
        return jnp.where(b[1], 1, a[0]) * b[0], a[1] | b[1]

    products, _ = lax.associative_scan(joined, (x, begins))
    last = products[jnp.clip(ends - 1, 0, x.shape[0] - 1)]
    empty = (lengths == 0).reshape(-1, *(1,) * (x.ndim - 1))
    return start * jnp.where(empty, 1, last)


def _row(x: Any, lengths: Any, reduce: str, initial: float | None) -> jax.Array:
    """Reduce the segments along the first axis: x: (N, …), lengths: (S,) -> (S, …)."""
    count = lengths.shape[0]
    shape = (count, *x.shape[1:])
    start = jnp.full(shape, _INITIAL[reduce] if initial is None else initial, x.dtype)
    if not x.shape[0] or not count:
        found = start
    else:
        slot = jnp.searchsorted(jnp.cumsum(lengths), jnp.arange(x.shape[0]), side="right")
        if reduce in ("max", "min"):
            return _extreme(x, slot, count, start, reduce == "max")
        if reduce == "prod":
            return _product(x, slot, lengths, start)
        found = start + jax.ops.segment_sum(x, slot, count)
    if reduce == "mean":
        size = lengths.reshape(-1, *(1,) * (x.ndim - 1)).astype(x.dtype)
        alone = found if initial is not None else jnp.full_like(found, jnp.nan)
        return jnp.where(size == 0, alone, found / jnp.where(size == 0, 1, size))
    return found


def _check(data: Any, lengths: Any, reduce: str, axis: int, initial: Any, unsafe: bool) -> None:
    values = values_of(lengths)
    if unsafe:
        return
    refuse_where(values < 0, RuntimeError, "lengths contains negative value!")
    at = axis % max(data.ndim, 1)
    if values.ndim:
        refuse_where(
            values.sum(-1) != data.shape[at],
            RuntimeError,
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size"
            "(lengths.dim()-1) when !unsafe.",
        )


@op(
    "segment_reduce_op",
    namespaces=(),
    method=False,
    grad_name="SegmentReduceBackward0",
    residuals=True,
    check=_check,
)
def segment_reduce_op(
    data: Input, lengths: Input, reduce: Str, axis: Int, initial: OptFloat, unsafe: Bool
):
    """Reduce consecutive stretches of ``axis``."""
    floats_only(data, "_segment_reduce_cpu")
    if lengths.dtype not in (np.int32, np.int64):
        raise NotImplementedError(
            '"_segment_reduce_lengths_cpu_kernel1" not implemented for '
            f"'{scalar_type_of(lengths)}'"
        )
    at = errors.wrap_dim(axis, data.ndim)
    if at != lengths.ndim - 1:
        raise RuntimeError(
            f"segment_reduce(): Expected axis to be the last dimension of lengths but got {at}."
        )
    if data.shape[:at] != lengths.shape[:-1]:
        raise RuntimeError(
            "segment_reduce(): Expected data and lengths to have the same leading sizes"
        )
    wide = data.astype(np.float32) if data.dtype.itemsize == 2 else data
    function = lambda x, n: _row(x, n, reduce, initial)  # noqa: E731 - mapped below
    for _ in range(at):
        function = jax.vmap(function)
    return function(wide, lengths).astype(data.dtype)


@composite(namespaces=("",), aliases=("_segment_reduce",), method=False)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: Any = False,
    initial: Any = None,
) -> Tensor:
    """Return the "amax", "mean", "amin", "sum" or "prod" of consecutive segments of ``axis``.

    The segments are given by their ``lengths`` (..., S) or ``offsets`` (..., S + 1); what lies
    beyond the last is left out. ``initial`` begins each reduction; without it an empty segment is
    NaN for "mean", else the reduction's identity.

    RuntimeError for neither, for other reductions, and, unless ``unsafe``, for lengths that do not
    fill the axis; NotImplementedError for integers.
    """
    reduce = _NAMES.get(reduce, reduce)
    if reduce not in _INITIAL:
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
        )
    if lengths is None and offsets is None:
        raise RuntimeError(
            "segment_reduce(): Either lengths or offsets must be defined."
            if indices is None
            else "segment_reduce(): indices based reduction is not supported yet."
        )
    if lengths is None:
        assert offsets is not None
        lengths = offsets.diff(dim=-1)
        unsafe = True
    start = None if initial is None else float(initial)
    return segment_reduce_op(data, lengths, reduce, axis, start, bool(unsafe))
