"""Embedding look-ups, alone and in bags."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes, modes
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Float, Input, OptInput, OptInt, Str
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.nn.embedding import sparse_rows
from torchlike._ops.reduce.reduction import vector_norm
from torchlike._ops.shape.joining import cat
from torchlike._ops.value_checks import refuse_outside, refuse_where, values_of
from torchlike.tensor import Tensor, wrap

_F = ("nn.functional",)


def _check_range(indices: Any, rows: int) -> None:
    refuse_outside(indices, 0, rows, IndexError, "index out of range in self")


def _check_indices(indices: Any, name: str) -> None:
    if indices.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got torch.{scalar_type_of(indices)}Tensor instead (while checking "
            f"arguments for {name})"
        )


def _rows(weight: Any, indices: Any) -> jax.Array:
    """Return ``weight[indices]``; NaN rows for indices out of range, where nothing can be raised
    (jit)."""
    count = weight.shape[0]
    # Negative ones must not wrap round. int32 is enough, and half the traffic.
    places = jnp.where(indices < 0, count, indices).astype(np.int32)
    fill = jnp.nan if weight.dtype.kind not in "iub" else None
    return weight.at[places].get(mode="fill", fill_value=fill)


@jax.custom_jvp
def _with_gradient_scale(x: Any, scale: Any) -> jax.Array:
    """Return ``x``, with its gradient multiplied by ``scale``."""
    return x


@_with_gradient_scale.defjvp
def _with_gradient_scale_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    x, scale = primals
    return x, tangents[0] * scale


def _looked_up(weight: Any, indices: Any, padding_idx: int | None, by_frequency: bool) -> jax.Array:
    """Look up rows, with the gradient rules of ``padding_idx`` and ``scale_grad_by_freq``."""
    out = _rows(weight, indices)
    if padding_idx is not None:
        padding = (indices == padding_idx)[..., None]
        out = jnp.where(padding, lax.stop_gradient(out), out)
    if by_frequency:
        counts = jnp.zeros(weight.shape[0], np.int32).at[indices].add(1)
        out = _with_gradient_scale(out, (1 / counts[indices]).astype(out.dtype)[..., None])
    return out


def _check_embedding(input: Any, weight: Any, *rest: Any) -> None:
    if weight.ndim == 2 and input.dtype.kind in "iu":
        _check_range(input, weight.shape[0])


@op(
    "embedding_op",
    namespaces=(),
    method=False,
    check=_check_embedding,
    needs={"weight": ["input"]},
    grad_name="EmbeddingBackward0",
    saved_names={"input": "indices"},
)
def embedding_op(input: Input, weight: Input, padding_idx: OptInt, scale_grad_by_freq: Bool):
    """Return ``weight[input]``; the row ``padding_idx`` gets no gradient."""
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices(input, "embedding")
    return _looked_up(weight, input, padding_idx, scale_grad_by_freq)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def _scaled_rows(weight: Any, used: Any, max_norm: float, norm_type: float) -> jax.Array:
    """Return the weight with its rows in use scaled down to a norm of ``max_norm``: new values,
    tangents as they were."""
    norms = vector_norm(weight, norm_type, (1,), True)
    return jnp.where(used & (norms > max_norm), weight * (max_norm / (norms + 1e-7)), weight)


@_scaled_rows.defjvp
def _(max_norm: float, norm_type: float, primals: Any, tangents: Any) -> tuple[Any, Any]:
    return _scaled_rows(*primals, max_norm, norm_type), tangents[0]


@op("embedding_renorm_op", namespaces=(), method=False, check=_check_embedding)
def embedding_renorm_op(input: Input, weight: Input, max_norm: Float, norm_type: Float):
    """Return ``weight`` with the rows that ``input`` names scaled down to a norm of
    ``max_norm``."""
    used = jnp.zeros(weight.shape[0], bool).at[input.reshape(-1)].set(True)[:, None]
    return _scaled_rows(weight, used, max_norm, norm_type)


def _renormalize(weight: Tensor, input: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale down the rows that ``input`` names, in place and outside autograd, as PyTorch does it
    before looking up."""
    with modes.unrecorded():
        scaled = embedding_renorm_op(input, weight, max_norm, norm_type)
    weight._write(scaled._value_now())


@composite(namespaces=_F, method=False, python_signature=True)
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: Any = False,
    sparse: Any = False,
) -> Tensor:
    """Return the rows of ``weight`` (V, D) at integer ``input`` (…): (…, D).

    The row ``padding_idx`` gets no gradient. With ``max_norm`` the rows used are first scaled down
    in place. IndexError for an index outside [0, V) (NaN rows inside jit).
    ``sparse``: a weight that is a leaf gets a gradient in coordinate form (not inside jit).

    Example:
      >>> torch.nn.functional.embedding(torch.tensor([1, 1]), torch.eye(2))
      tensor([[0., 1.],
              [0., 1.]])
    """
    if padding_idx is not None:
        n = weight.shape[0]
        if not -n <= padding_idx < n:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= n
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return _rows_of(input, weight, padding_idx, scale_grad_by_freq, sparse)


def _rows_of(
    input: Tensor, weight: Tensor, padding_idx: int | None, scale_grad_by_freq: Any, sparse: Any
) -> Tensor:
    if not (sparse and sparse_rows.wants_sparse(weight, "embedding")):
        return embedding_op(input, weight, padding_idx, scale_grad_by_freq)
    if scale_grad_by_freq:
        raise RuntimeError(
            "embedding_backward: scale_grad_by_freq not supported with sparse gradients"
        )
    rows = embedding_op(input, weight.detach(), None, False)
    return sparse_rows.recorded(rows, weight, input, padding_idx)


@composite("embedding", method=False)
def embedding_toplevel(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: Any = False,
    sparse: Any = False,
) -> Tensor:
    """Call ``nn.functional.embedding`` with torch.embedding's order of arguments."""
    padding = None if padding_idx < 0 else padding_idx
    return _rows_of(indices, weight, padding, scale_grad_by_freq, sparse)


@composite("embedding_renorm_", method=False)
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale the rows of ``input`` at ``indices`` down to a norm of ``max_norm``, in place."""
    _renormalize(input, indices, max_norm, norm_type)
    return input


# -- bags ------------------------------------------------------------------------------------------


def _check_offsets(offsets: Any, count: int) -> None:
    """Raise RuntimeError unless bags begin at the first index and follow one another within
    them."""
    starts = values_of(offsets)
    if not starts.size or starts.dtype.kind not in "iu":
        return
    first, last = starts[0], starts[-1]
    refuse_where(
        first != 0,
        RuntimeError,
        "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
        "position 0. However, got {0}",
        first,
    )
    refuse_where(
        last > count,
        RuntimeError,
        f"offsets[-1] can not be greater than input's length {count} but got offsets[-1] of {{0}}",
        last,
    )
    words = "offsets must not decrease: each bag begins where the one before ends"
    refuse_where(starts[1:] < starts[:-1], RuntimeError, words)


def _check_bag(
    input: Any, weight: Any, offsets: Any, weights: Any, mode: str, padding_idx: Any, *rest: Any
) -> None:
    _check_offsets(offsets, input.size)
    if weight.ndim == 2:
        words = (
            "Index {at} of input takes value {0} which is not in the valid range "
            f"[0, {weight.shape[0]})"
        )
        # PyTorch's general kernel has other words than the one that adds floats up.
        if mode == "max" or padding_idx is not None or weight.dtype == np.float64:
            words = (
                "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {0}"
            )
        refuse_outside(input, 0, weight.shape[0], RuntimeError, words)


def _places(indices: Any) -> jax.Array:
    return jnp.arange(indices.shape[0], dtype=np.int32)


def _membership(
    indices: Any, offsets: Any, bags: int, padding_idx: int | None, include_last_offset: bool
) -> tuple[Any, Any]:
    """Return the bag of each index, and whether it counts there."""
    at = jnp.arange(indices.shape[0], dtype=offsets.dtype)
    bag = (jnp.searchsorted(offsets[:bags], at, side="right") - 1).astype(np.int32)
    counted = jnp.ones(indices.shape[0], bool) if padding_idx is None else indices != padding_idx
    return bag, counted & (at < offsets[-1]) if include_last_offset else counted


def _maxima(rows: Any, bag: Any, counted: Any, bags: int) -> jax.Array:
    """Return, as (B, D), the place in the list of indices of each bag's maximum, beyond its end
    where there is none. The first of equal ones, which takes the gradient in PyTorch."""
    low = jnp.where(counted[:, None], rows, -jnp.inf)
    most = jax.ops.segment_max(low, bag, bags)[bag]
    # NaN is the largest, and equal to no other.
    is_best = ((low == most) | (jnp.isnan(low) & jnp.isnan(most))) & counted[:, None]
    place = jnp.where(is_best, _places(rows)[:, None], rows.shape[0])
    return jax.ops.segment_min(place, bag, bags)


@op(
    "embedding_bag_op",
    namespaces=(),
    method=False,
    check=_check_bag,
    grad_name="EmbeddingBagBackward0",
)
def embedding_bag_op(
    input: Input,
    weight: Input,
    offsets: Input,
    per_sample_weights: OptInput,
    mode: Str,
    padding_idx: OptInt,
    scale_grad_by_freq: Bool,
    include_last_offset: Bool,
):
    """Return the sum, mean or maximum of the rows of each bag of a flat list of indices."""
    _check_indices(input, "embedding_bag")
    _check_indices(offsets, "embedding_bag")
    if not jnp.issubdtype(weight.dtype, jnp.floating):
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: "
            f"Half, BFloat16, Float, Double; but got torch.{scalar_type_of(weight)}Tensor instead "
            "(while checking arguments for embedding_bag)"
        )
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument "
            f"#1 'per_sample_weights'; but type torch.{scalar_type_of(weight)}Tensor does not "
            f"equal torch.{scalar_type_of(per_sample_weights)}Tensor (while checking arguments for "
            "embedding_bag)"
        )
    bags = offsets.shape[0] - (1 if include_last_offset else 0)
    if bags == 0:
        return jnp.zeros((0, weight.shape[1]), weight.dtype)
    rows = _looked_up(weight, input, None, scale_grad_by_freq)
    if weight.dtype.itemsize == 2:  # added up in float32, rounded once
        rows = rows.astype(np.float32)
    bag, counted = _membership(input, offsets, bags, padding_idx, include_last_offset)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    if mode == "max":
        chosen = (
            _places(input)[:, None] == _maxima(lax.stop_gradient(rows), bag, counted, bags)[bag]
        )
        found = jax.ops.segment_sum(jnp.where(chosen, rows, 0), bag, bags)
        return found.astype(weight.dtype)
    total = jax.ops.segment_sum(jnp.where(counted[:, None], rows, 0), bag, bags)
    if mode == "sum":
        return total.astype(weight.dtype)
    count = jax.ops.segment_sum(counted.astype(np.int32), bag, bags)
    return (total / jnp.maximum(count, 1)[:, None].astype(total.dtype)).astype(weight.dtype)


@composite(namespaces=_F, method=False, python_signature=True)
def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: Any = False,
    mode: str = "mean",
    sparse: Any = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: Any = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Return the sums, means or maxima of the rows of each bag: (B, N) indices, or a flat list with
    the ``offsets`` where bags begin. (B, D).

    RuntimeError for an index out of range, and for offsets that do not begin at 0, exceed the input
    or decrease (not checked inside jit).

    ``sparse``: a weight that is a leaf gets a gradient in coordinate form (not inside jit).

    Differs from PyTorch: with ``include_last_offset`` the last bag ends at ``offsets[-1]``, as is
    documented there too; some of its kernels (float64, ``padding_idx``) go on to the input's end.
    """
    _check_bags(input, weight, per_sample_weights)
    if input.dim() == 2:
        input, offsets, per_sample_weights = _in_a_row(input, offsets, per_sample_weights)
    else:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        if offsets.dtype is not input.dtype and not offsets.dtype.is_floating_point:
            wide = dtypes.promote_types(input.dtype, offsets.dtype)
            input, offsets = input.to(wide), offsets.to(wide)
    if include_last_offset and offsets.shape[0] == 0:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    _check_mode(mode, scale_grad_by_freq, sparse, per_sample_weights)
    padding_idx = padding_row(padding_idx, weight.shape[0])
    if max_norm is not None:
        _renormalize(weight, input, max_norm, norm_type)
    return bags_of(
        input,
        weight,
        offsets,
        per_sample_weights,
        mode,
        padding_idx,
        scale_grad_by_freq,
        include_last_offset,
        sparse,
    )


def _check_bags(input: Tensor, weight: Tensor, per_sample_weights: Tensor | None) -> None:
    """Raise ValueError in PyTorch's words for shapes that are none of a table and bags."""
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    if not weight.dim() == 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if input.dim() not in (1, 2):
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )


def _check_mode(
    mode: str, scale_grad_by_freq: Any, sparse: Any, per_sample_weights: Tensor | None
) -> None:
    """Raise in PyTorch's words for a mode that is none, and for what it does not go with."""
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )


def _in_a_row(
    input: Tensor, offsets: Tensor | None, per_sample_weights: Tensor | None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return bags of one length, (B, N), as a flat list, with the offsets where they begin."""
    if offsets is not None:
        raise ValueError(
            "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
            "of fixed length sequences. However, found offsets of type torch.Tensor"
        )
    count, length = input.shape
    if length == 0:
        raise RuntimeError("step must be nonzero")  # between the bags' beginnings
    offsets = wrap(jnp.arange(0, count * length, length, dtype=input.dtype.numpy))
    if per_sample_weights is not None:
        per_sample_weights = per_sample_weights.reshape(-1)
    return input.reshape(-1), offsets, per_sample_weights


def padding_row(padding_idx: int | None, n: int) -> int | None:
    """Return the row that is left out of bags, counted from 0. RuntimeError for one that the weight
    does not have."""
    if padding_idx is None or -n <= padding_idx < n:
        return padding_idx if padding_idx is None else padding_idx % n
    raise RuntimeError(
        f"padding_idx must be within the number of embeddings, {-n} through {n - 1}, but got "
        f"{padding_idx}"
    )


def bags_of(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor,
    per_sample_weights: Tensor | None,
    mode: str,
    padding_idx: int | None,
    scale_grad_by_freq: Any,
    include_last_offset: Any,
    sparse: Any,
) -> Tensor:
    """Compute ``embedding_bag`` of arguments that fit together."""
    if sparse and sparse_rows.wants_sparse(weight, "embedding_bag"):
        # The bags of rows that were looked up one by one; a row of zeros for those left out.
        rows, count = _rows_of(input, weight, padding_idx, scale_grad_by_freq, True), len(input)
        places = wrap(jnp.arange(count, dtype=offsets.dtype.numpy))
        if padding_idx is not None:
            rows = cat([rows, rows.new_zeros((1, weight.shape[1]))])
            places, padding_idx = places.masked_fill(input == padding_idx, count), count
        input, weight = places, rows
    return embedding_bag_op(
        input,
        weight,
        offsets,
        per_sample_weights,
        mode,
        padding_idx,
        scale_grad_by_freq,
        include_last_offset,
    )


@op("embedding_bag_members", namespaces=(), method=False, differentiable=False)
def embedding_bag_members(
    input: Input,
    weight: Input,
    offsets: Input,
    mode: Str,
    padding_idx: OptInt,
    include_last_offset: Bool,
):
    """Return the bag of each index (-1 for none), how many are in each, and its maxima's rows (0
    for none).

    Sizes are 0 for sums, and sizes stand for the rows where no maximum is looked for, as PyTorch's
    lower layer has it.
    """
    bags = offsets.shape[0] - (1 if include_last_offset else 0)
    dtype, maxima = input.dtype, (bags, weight.shape[1]) if mode == "max" else (bags,)
    if not bags or not input.shape[0]:
        return jnp.full(input.shape, -1, dtype), jnp.zeros(bags, dtype), jnp.zeros(maxima, dtype)
    bag, counted = _membership(input, offsets, bags, padding_idx, include_last_offset)
    size = jax.ops.segment_sum(counted.astype(dtype), bag, bags)
    if mode != "max":
        size = jnp.zeros_like(size) if mode == "sum" else size
        return bag.astype(dtype), size, size
    place = _maxima(_rows(weight, input), bag, counted, bags)
    return bag.astype(dtype), size, input.at[place].get(mode="fill", fill_value=0)
