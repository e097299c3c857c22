"""``scaled_dot_product_attention`` of ragged tensors: nothing is padded."""

from __future__ import annotations

from typing import Any

from torchlike._ops.nn.attention.varlen import varlen_attention
from torchlike.nested._internal.nested_tensor import NestedTensor
from torchlike.nested._internal.rules.table import rule, torch
from torchlike.tensor import Tensor

_EXPECTED = "Expected query, key, and value to "


def _check(query: Any, key: Any, value: Any, attn_mask: Any) -> None:
    every = {"query": query, "key": key, "value": value}
    if not all(isinstance(t, NestedTensor) for t in every.values()):
        said = [f"{name}.is_nested: {t.is_nested}" for name, t in every.items()]
        raise ValueError(
            f"{_EXPECTED}be nested tensors, but got {said[0]}, {said[1]}, and {said[2]} instead."
        )
    if len({t.dtype for t in every.values()}) > 1:
        said = [f"{name}.dtype: {t.dtype}" for name, t in every.items()]
        raise ValueError(
            f"{_EXPECTED}have the same dtype, but got {said[0]}, {said[1]}, and {said[2]} instead."
        )
    if min(t.dim() for t in every.values()) < 3:
        raise ValueError(
            f"{_EXPECTED}all be at least 3 dimensional, but got query.dim: {query.dim()}, "
            f"key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if len({t._ragged_idx for t in every.values()}) > 1:
        raise ValueError(
            f"{_EXPECTED}all be ragged on the same dimension, but got ragged dims "
            f"{query._ragged_idx}, {key._ragged_idx}, and {value._ragged_idx}, respectively."
        )
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")


def _rows_first(input: NestedTensor) -> Any:
    """Return the values as (total, heads, size), with one head where there are no heads."""
    values: Any = input._held
    return values.unsqueeze(1) if input.dim() == 3 else values.transpose(0, 1)


@rule("scaled_dot_product_attention")
def scaled_dot_product_attention(
    func: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: Any = False,
    *,
    scale: float | None = None,
    enable_gqa: Any = False,
) -> Tensor:
    """Compute attention within each part of (n, heads, ragged, size) or (n, ragged, size).

    ValueError for tensors of other kinds, and for a mask.
    """
    _check(query, key, value, attn_mask)
    if query.dim() > 4 or query._ragged_idx != query.dim() - 2:
        raise RuntimeError(
            "scaled_dot_product_attention(): takes nested tensors of size (batch, heads, ragged, "
            f"features) or (batch, ragged, features), not {tuple(query.shape)}"
        )
    q, k, v = map(_rows_first, (query, key, value))
    if not query.shape[0] == key.shape[0] == value.shape[0] or (
        key.ragged_size != value.ragged_size and k.shape[0] != v.shape[0]
    ):
        raise RuntimeError(
            f"{_EXPECTED}have parts that fit, but their sizes are {tuple(query.shape)}, "
            f"{tuple(key.shape)} and {tuple(value.shape)}"
        )
    if (
        q.shape[-1] != k.shape[-1]
        or k.shape[1] != v.shape[1]
        or (q.shape[1] % k.shape[1] if enable_gqa else q.shape[1] != k.shape[1])
    ):
        raise RuntimeError(
            f"{_EXPECTED}have heads and features that fit, but their sizes are "
            f"{tuple(query.shape)}, {tuple(key.shape)} and {tuple(value.shape)}"
        )
    seed = torch["randint"](1 << 31, (1,), device=q.device) if dropout_p else None
    out, _ = varlen_attention(
        q,
        k,
        v,
        query._offsets[:-1],
        query.all_lengths(),
        key._offsets[:-1],
        key.all_lengths(),
        seed,
        float(dropout_p),
        scale,
        None,
        0 if is_causal else None,
        False,
    )
    return query._with(out.squeeze(1) if query.dim() == 3 else out.transpose(0, 1))
