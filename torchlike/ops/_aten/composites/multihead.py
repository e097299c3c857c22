"""Attention of several heads, down to the operators that PyTorch's Python code runs."""

from __future__ import annotations

import math
from typing import Any

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._ops.nn.attention import multihead
from torchlike.ops._aten.handlers import composite
from torchlike.tensor import Tensor

_functional, _torch = NAMESPACES["nn.functional"], NAMESPACES[""]


def _projected(q: Tensor, k: Tensor, v: Tensor, weight: Tensor, bias: Any) -> Any:
    """Project queries, keys and values by one matrix of three: in one product, two or three."""
    linear = _functional["linear"]
    width = q.size(-1)
    if k is v:
        if q is k:
            return _parted(linear(q, weight, bias), 3, width)
        first, rest = weight.split([width, width * 2])
        of_first, of_rest = (None, None) if bias is None else bias.split([width, width * 2])
        return (linear(q, first, of_first), *_parted(linear(k, rest, of_rest), 2, width))
    weights = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [linear(*given) for given in zip((q, k, v), weights, biases, strict=True)]


def _parted(joined: Tensor, count: int, width: int) -> list[Tensor]:
    """Return the parts of a product, each in memory of its own."""
    parts = joined.unflatten(-1, (count, width)).unsqueeze(0).transpose(0, -2).squeeze(-2)
    parts = parts.contiguous()
    return [parts[i] for i in range(count)]


def _longer(mask: Any, padding: Any) -> tuple[Any, Any]:
    """Return the masks for one more key, which they do not hide."""
    pad = _functional["pad"]
    return (
        None if mask is None else pad(mask, (0, 1)),
        None if padding is None else pad(padding, (0, 1)),
    )


def _additive(mask: Any, name: str, like: Tensor) -> Any:
    """Return an additive mask."""
    if mask is None or mask.dtype is not dtypes.bool:
        return multihead._canonical_mask(mask, name, None, "", like.dtype, check_other=False)
    zeros = _torch["zeros_like"](mask, dtype=like.dtype)
    return zeros.masked_fill_(mask, -math.inf)


@composite("F.multi_head_attention_forward")
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Any]:
    """Compute multi-head attention (L, N, E), as ``torch.nn.functional`` does."""
    batched = multihead._mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    target, batch, embed = query.shape
    padding = _additive(key_padding_mask, "key_padding_mask", query)
    mask = _additive(attn_mask, "attn_mask", query)
    if is_causal and mask is None:
        raise RuntimeError(multihead.NEEDS_MASK)
    if is_causal and padding is None and not need_weights:
        mask = None
    elif padding is not None:
        is_causal = False
    width = multihead.width_of_heads(
        query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight
    )
    if use_separate_proj_weight:
        biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        given = zip(
            (query, key, value), (q_proj_weight, k_proj_weight, v_proj_weight), biases, strict=True
        )
        q, k, v = (_functional["linear"](*g) for g in given)
    else:
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    mask = None if mask is None else _for_all_heads(mask, batch * num_heads, target, key.shape[0])
    if bias_k is not None and bias_v is not None:
        k = _torch["cat"]([k, bias_k.repeat(1, batch, 1)])
        v = _torch["cat"]([v, bias_v.repeat(1, batch, 1)])
        mask, padding = _longer(mask, padding)
    heads = batch * num_heads
    q = q.view(target, heads, width).transpose(0, 1)
    k = k.view(k.shape[0], heads, width).transpose(0, 1) if static_k is None else static_k
    v = v.view(v.shape[0], heads, width).transpose(0, 1) if static_v is None else static_v
    if add_zero_attn:
        k, v = (
            _torch["cat"](
                [t, _torch["zeros"]((heads, 1, width), dtype=t.dtype, device=t.device)], 1
            )
            for t in (k, v)
        )
        mask, padding = _longer(mask, padding)
    if padding is not None:
        mask = _with_padding(mask, padding, batch, num_heads, k.size(1))
    dropped = dropout_p if training else 0.0
    weights = None
    if need_weights:
        attended, weights = _weighted(q, k, v, mask, dropped)
        attended = attended.transpose(0, 1).reshape(target * batch, embed)
    else:
        attended = _by_kernel(q, k, v, mask, dropped, is_causal, (batch, num_heads, width))
        attended = attended.permute(2, 0, 1, 3).reshape(batch * target, embed)
    output = _functional["linear"](attended, out_proj_weight, out_proj_bias)
    output = output.view(target, batch, output.size(1))
    if weights is not None:
        weights = weights.view(batch, num_heads, target, k.size(1))
        weights = weights.mean(dim=1) if average_attn_weights else weights
    if batched:
        return output, weights
    return output.squeeze(1), None if weights is None else weights.squeeze(0)


def _for_all_heads(mask: Tensor, heads: int, target: int, source: int) -> Tensor:
    """Return a mask of three dimensions. RuntimeError for one of another size."""
    expected = (target, source) if mask.dim() == 2 else (heads, target, source)
    if tuple(mask.shape) != expected:
        raise RuntimeError(
            f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}."
        )
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _with_padding(mask: Any, padding: Tensor, batch: int, num_heads: int, source: int) -> Tensor:
    if tuple(padding.shape) != (batch, source):
        raise AssertionError(
            f"Expected key_padding_mask to be of shape {(batch, source)}, but got "
            f"{tuple(padding.shape)}"
        )
    wide = padding.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1)
    wide = wide.reshape(batch * num_heads, 1, source)
    return wide if mask is None else mask + wide


def _weighted(q: Tensor, k: Tensor, v: Tensor, mask: Any, p: float) -> tuple[Tensor, Tensor]:
    """Return the attention's result and its weights."""
    scaled = q * math.sqrt(1.0 / float(q.shape[-1]))
    if mask is None:
        weights = _torch["bmm"](scaled, k.transpose(-2, -1))
    else:
        weights = _torch["baddbmm"](mask, scaled, k.transpose(-2, -1))
    weights = _functional["softmax"](weights, dim=-1)
    if p > 0.0:
        weights = _functional["dropout"](weights, p=p)
    return _torch["bmm"](weights, v), weights


def _by_kernel(
    q: Tensor, k: Tensor, v: Tensor, mask: Any, p: float, is_causal: bool, sizes: Any
) -> Tensor:
    batch, num_heads, width = sizes
    if mask is not None:
        first = mask.size(0)
        if first == 1 and mask.dim() == 3:
            mask = mask.unsqueeze(0)
        else:
            mask = mask.view(batch, num_heads, -1, k.size(1))
    q = q.view(batch, num_heads, q.size(1), width)
    k = k.view(batch, num_heads, k.size(1), width)
    v = v.view(batch, num_heads, v.size(1), width)
    return _functional["scaled_dot_product_attention"](q, k, v, mask, p, is_causal)
