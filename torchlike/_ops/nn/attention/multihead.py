"""Attention of several heads between projections, as one function of all its weights."""

from __future__ import annotations

import math
import warnings
from typing import Any

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite
from torchlike._ops.linalg.matmul import linear
from torchlike._ops.nn.attention.attention import scaled_dot_product_attention
from torchlike._ops.nn.image.padding import pad
from torchlike._ops.random.dropout import dropout
from torchlike._ops.shape.joining import cat
from torchlike.tensor import Tensor

NEEDS_MASK = (
    "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
    "`generate_square_subsequent_mask` to create this mask."
)


def _none_or_dtype(input: Tensor | None) -> dtypes.dtype | None:
    """Return the dtype of a mask, or None where none is given."""
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    """Return a mask to be added: -inf where a bool mask says True (do not attend)."""
    if mask is None:
        return None
    if mask.dtype is not dtypes.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type "
            "for both instead."
        )
    if mask.is_floating_point():
        return mask
    return mask.new_zeros(mask.shape, dtype=target_type).masked_fill(mask, float("-inf"))


def _mha_shape_check(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Return whether there is a batch dimension. AssertionError when the inputs disagree on it."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            "query should be unbatched 2D or batched 3D tensor but received "
            f"{query.dim()}-D query tensor"
        )
    batched = query.dim() == 3
    n, kind = (3, "batched (3-D)") if batched else (2, "unbatched (2-D)")
    if key.dim() != n or value.dim() != n:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {n}-D but found "
            f"{key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {n - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead"
        )
    needed, found = (num_heads, query.size(0), key.size(0)), getattr(attn_mask, "shape", ())
    if not batched and len(found) == 3 and found != needed:
        raise AssertionError(f"Expected `attn_mask` shape to be {needed} but got {found}")
    return batched


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Project queries, keys and values by one weight (3 * E, E); in one product where all are one
    tensor."""
    if q is k and k is v:
        return tuple(linear(q, w, b).chunk(3, -1))
    biases = (None, None, None) if b is None else b.chunk(3)
    return tuple(linear(*given) for given in zip((q, k, v), w.chunk(3), biases, strict=True))


def _in_projection(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Project queries, keys and values by a weight each."""
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _check_more_keys(
    bias_k: Tensor | None, bias_v: Tensor | None, static_k: Tensor | None, static_v: Tensor | None
) -> None:
    """Refuse, with AssertionError, a learned key without its value, or beside keys that are
    given."""
    for name, bias, other, absent in (
        ("bias_k", bias_k, bias_v, "bias_v"),
        ("bias_v", bias_v, bias_k, "bias_k"),
    ):
        if bias is not None and other is None:
            raise AssertionError(f"{name} is set but {absent} is None")
    for name, static in (("key", static_k), ("value", static_v)):
        if bias_k is not None and static is not None:
            raise AssertionError(f"bias cannot be added to static {name}.")


def _mask_for_heads(
    mask: Tensor | None, batch: int, heads: int, target: int, source: int
) -> Tensor | None:
    """Return an additive mask that broadcasts to (batch, heads, target, source)."""
    if mask is None:
        return None
    expected = (target, source) if mask.dim() == 2 else (batch * heads, target, source)
    if tuple(mask.shape) != expected:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}."
        )
    return mask if mask.dim() == 2 else mask.unflatten(0, (batch, heads))


def _static(given: Tensor, name: str, batch: int, heads: int, width: int) -> Tensor:
    """Return keys or values given as (batch * heads, S, width), in heads. AssertionError for other
    sizes."""
    for what, expected, found in (
        ("(0)", batch * heads, given.size(0)),
        ("(2)", width, given.size(2)),
    ):
        if found != expected:
            raise AssertionError(f"expecting {name}.size{what} of {expected}, but got {found}")
    return given.unflatten(0, (batch, heads))


def width_of_heads(
    query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_heads: int, is_separate: bool
) -> int:
    """Return the number of features of each head. AssertionError for features that the heads cannot
    share, and for keys and values of different shapes (with projections of their own: of different
    lengths or batches)."""
    embed = query.shape[-1]
    if embed != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {embed}")
    width = embed // num_heads
    if width * num_heads != embed:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {num_heads}")
    if is_separate:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                f"{value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    return width


def _more_keys(q: Tensor, bias_k: Any, bias_v: Any, add_zero_attn: bool) -> list[Any]:
    """Return further keys that every query may attend to, each with its value: learned ones, then
    zeros."""
    batch, num_heads, _, width = q.shape
    more: list[Any] = []
    if bias_k is not None and bias_v is not None:
        more.append(
            [b.reshape(1, num_heads, 1, width).expand(batch, -1, -1, -1) for b in (bias_k, bias_v)]
        )
    if add_zero_attn:
        more.append([q.new_zeros(batch, num_heads, 1, width)] * 2)
    return more


@composite(
    namespaces=("nn.functional",),
    method=False,
    python_signature="""query key value embed_dim_to_check num_heads in_proj_weight in_proj_bias
        bias_k bias_v add_zero_attn dropout_p out_proj_weight out_proj_bias | training=True
        key_padding_mask=None need_weights=True attn_mask=None is_causal=False
        use_separate_proj_weight=False q_proj_weight=None k_proj_weight=None v_proj_weight=None
        static_k=None static_v=None average_attn_weights=True""",
)
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Compute multi-head attention (Vaswani et al., 2017) of query (L, N, E), key and value (S, N,
    …).

    ``attn_mask`` (L, S) or (N · num_heads, L, S) and ``key_padding_mask`` (N, S): bool masks hide
    where True, float masks are added. Gives (L, N, E) and, with ``need_weights``, the weights
    (N, L, S), or (N, num_heads, L, S) unless ``average_attn_weights``. Without a batch, N is left
    out everywhere. ``static_k``, ``static_v`` (N · num_heads, S, E / num_heads) stand in for the
    projected keys and values.

    RuntimeError and AssertionError for masks and inputs that do not fit.
    """
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    _check_more_keys(bias_k, bias_v, static_k, static_v)
    padding: Any = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", query.dtype
    )
    mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
    if is_causal and mask is None:
        raise RuntimeError(NEEDS_MASK)
    by_hint = is_causal and padding is None and not need_weights
    if not batched:
        same = query is key and key is value
        query = query.unsqueeze(1)
        key, value = (query, query) if same else (key.unsqueeze(1), value.unsqueeze(1))
        padding = None if padding is None else padding.unsqueeze(0)
    target, batch, embed = query.shape
    width = width_of_heads(
        query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight
    )
    q: Any
    if use_separate_proj_weight:
        separate: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
        biases = () if in_proj_bias is None else in_proj_bias.chunk(3)
        q, k, v = _in_projection(query, key, value, *separate, *biases)
    else:
        packed: Any = in_proj_weight
        q, k, v = _in_projection_packed(query, key, value, packed, in_proj_bias)
    q, k, v = (t.unflatten(-1, (num_heads, width)).permute(1, 2, 0, 3) for t in (q, k, v))
    k = k if static_k is None else _static(static_k, "static_k", batch, num_heads, width)
    v = v if static_v is None else _static(static_v, "static_v", batch, num_heads, width)
    source = k.size(2)
    merged: Any = _mask_for_heads(None if by_hint else mask, batch, num_heads, target, source)
    if padding is not None:
        if tuple(padding.shape) != (batch, source):
            raise AssertionError(
                f"Expected key_padding_mask to be of shape {(batch, source)}, but got "
                f"{tuple(padding.shape)}"
            )
        padding = padding.unflatten(1, (1, 1, source))
        merged = padding if merged is None else merged + padding
    more = _more_keys(q, bias_k, bias_v, add_zero_attn)
    if more:
        k = cat([k, *(pair[0] for pair in more)], 2)
        v = cat([v, *(pair[1] for pair in more)], 2)
        merged = None if merged is None else pad(merged, (0, len(more)))
    dropped = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scores = (q * math.sqrt(1.0 / width)) @ k.transpose(-2, -1)
        weights = (scores if merged is None else scores + merged).softmax(-1)
        if dropped:
            weights = dropout(weights, dropped)
        attended = weights @ v
        if average_attn_weights:
            weights = weights.mean(1)
        weights = weights if batched else weights.squeeze(0)
    else:
        attended = scaled_dot_product_attention(q, k, v, merged, dropped, by_hint and not more)
    joined = attended.permute(2, 0, 1, 3).reshape(target, batch, embed)
    output = linear(joined, out_proj_weight, out_proj_bias)
    return (output if batched else output.squeeze(1)), weights
