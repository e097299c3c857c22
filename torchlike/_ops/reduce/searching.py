"""Places in sorted sequences: searchsorted and bucketize."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Input, OptInput, require_tensor
from torchlike._ops.checks import real_only
from torchlike._ops.promotion import result_dtype
from torchlike._ops.value_checks import refuse_outside
from torchlike.tensor import Tensor, wrap


def _insertion_points(rows: Any, values: Any, right: bool) -> jax.Array:
    """Find for each value its place in its row, by halving: (r, n) and (r, m) give (r, m).

    A value before which everything belongs goes to the end, and nothing is before NaN or after it:
    so a NaN that is looked for goes to the end, where NumPy and JAX put it before other NaN.
    """
    n = rows.shape[-1]

    def halve(_: Any, bounds: Any) -> tuple[Any, ...]:
        start, end = bounds
        middle = (start + end) // 2
        found = jnp.take_along_axis(rows, jnp.minimum(middle, n - 1), -1)
        before = ~(found > values if right else found >= values)
        inside = start < end
        return (
            jnp.where(inside & before, middle + 1, start),
            jnp.where(inside & ~before, middle, end),
        )

    start = jnp.zeros(values.shape, np.int32 if n < 2**31 else np.int64)
    if not n or not values.size:
        return start
    return lax.fori_loop(0, n.bit_length(), halve, (start, jnp.full_like(start, n)))[0]


def _check_sorter(sequence: Any, input: Any, sorter: Any, *_: Any) -> None:
    if sorter is not None:
        words = "torch.searchsorted(): sorter index out of range"
        refuse_outside(sorter, 0, sequence.shape[-1], RuntimeError, words)


def _check_shapes(sequence: Any, input: Any, sorter: Any) -> None:
    if sorter is not None:
        if sorter.shape != sequence.shape:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got "
                f"boundary tensor {list(sequence.shape)}and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.dtype != np.int64:
            raise RuntimeError(
                "torch.searchsorted(): sorter must be a tensor of long dtype but "
                f"got dtype {dtypes.scalar_type(sorter.dtype)}"
            )
    if not input.ndim and sequence.ndim != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
            f"dimension is 1, but we got boundaries tensor dim({sequence.ndim}) and input value's "
            "dim(0) numel(1)"
        )
    if not sequence.ndim:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should have positive "
            "dimension, but got 0 dimension"
        )
    if sequence.ndim > 1 and sequence.shape[:-1] != input.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 "
            "dimensions of boundaries tensor and input value tensor must match, but we got "
            f"boundaries tensor {list(sequence.shape)} and input value tensor {list(input.shape)}"
        )


@op("searchsorted_op", namespaces=(), method=False, differentiable=False, check=_check_sorter)
@real_only("searchsorted_out_cpu")
def searchsorted_op(
    sorted_sequence: Input, input: Input, sorter: OptInput, out_int32: Bool, right: Bool
):
    """Return the indices at which values would be inserted into sorted sequences."""
    sequence = sorted_sequence
    _check_shapes(sequence, input, sorter)
    if sorter is not None:
        sequence = jnp.take_along_axis(sequence, sorter, -1)
    dtype = result_dtype(sequence, input).numpy
    n, leading = sequence.shape[-1], math.prod(sequence.shape[:-1])
    rows = sequence.astype(dtype).reshape(leading, n)
    values = input.astype(dtype).reshape(leading, math.prod(input.shape) // max(leading, 1))
    found = _insertion_points(rows, values, right)
    return found.reshape(input.shape).astype(np.int32 if out_int32 else np.int64)


def _as_values(value: Any, like: Tensor, function: str, position: int) -> Tensor:
    """Return a number to search for as a 0-dim tensor of the sequence's dtype, or of float32 where
    it is a float and the sequence is of integers; an integer wraps. TypeError for what is neither a
    number nor a tensor."""
    if isinstance(value, complex):
        raise NotImplementedError("\"searchsorted_out_cpu\" not implemented for 'ComplexFloat'")
    if not isinstance(value, (int, float, np.number, np.bool_)):
        return require_tensor(value, function, "input", position)
    dtype = like.dtype.numpy
    if isinstance(value, float) and like.dtype.category < 2:
        dtype = np.dtype(np.float32)
    elif dtype.kind in "iu":
        value = np.array(int(value) % (1 << 8 * dtype.itemsize), f"u{dtype.itemsize}").view(dtype)
    return wrap(jnp.asarray(value, dtype))


@composite(method=False)
def searchsorted(
    sorted_sequence: Tensor,
    input: Any = None,
    *,
    out_int32: Any = False,
    right: Any = False,
    side: Any = None,
    out: Any = None,
    sorter: Tensor | None = None,
    self: Any = None,
) -> Tensor:
    """Return the indices at which values would be inserted to keep the last dimension of
    ``sorted_sequence`` sorted.

    ``right`` (or ``side="right"``) inserts after equal values. RuntimeError when leading dimensions
    or dtypes differ.
    """
    require_tensor(sorted_sequence, "searchsorted", "sorted_sequence")
    if side not in (None, "left", "right"):
        raise RuntimeError(
            "torch.searchsorted(): side can only be 'left' or 'right' but got " + str(side)
        )
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left "
            "while right was True"
        )
    values = _as_values(self if input is None else input, sorted_sequence, "searchsorted", 2)
    right = right or side == "right"
    return searchsorted_op(sorted_sequence, values, sorter, out_int32, right, out=out)


@composite(method=False, differentiable=False)
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: Any = False, right: Any = False, out: Any = None
) -> Tensor:
    """Return the index of the bucket of each value; a value on a boundary belongs to the bucket
    below it, or with ``right`` to the one above."""
    require_tensor(boundaries, "bucketize", "boundaries", 2)
    if boundaries.dim() != 1:
        raise RuntimeError(
            f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})"
        )
    values = _as_values(input, boundaries, "bucketize", 1)
    return searchsorted_op(boundaries, values, None, out_int32, right, out=out)
