"""Scaled dot-product attention: one op, which computes its weights again in backward.

Keeping them (76 MB a layer for 64 heads of 256×256 tokens, beside 13 for query, key and value) made
an eager GPT step of 8 layers take twice the memory, and no less time: 46.3 ms against 45.0.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import modes
from torchlike._core.dispatch.registry import NAMESPACES, composite, op
from torchlike._core.dispatch.schema import Bool, DType, Float, Input, OptFloat, OptInput, Str
from torchlike._core.dtypes import c_name
from torchlike._ops import memory_order
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.linalg.products import accumulated
from torchlike._ops.nn.attention import kernels, sharded_attention
from torchlike._ops.nn.attention.weighting import (
    Masks,
    limit_of,
    powers_of,
    softmax_parts,
    weighted,
)
from torchlike._ops.promotion import check_broadcast
from torchlike._runtime import targets
from torchlike._runtime.reference import follows
from torchlike.tensor import Tensor


def _check(query: Any, key: Any, value: Any, mask: Any, enable_gqa: bool) -> None:
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{c_name(query.dtype)} key.dtype: {c_name(key.dtype)} and value.dtype: "
            f"{c_name(value.dtype)} instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if query.dtype.kind == "c":
        raise NotImplementedError(
            f"\"softmax_lastdim_kernel_impl\" not implemented for '{scalar_type_of(query)}'"
        )
    if query.dtype.kind in "iub":
        raise RuntimeError(f"expected scalar type Float but found {scalar_type_of(query)}")
    if mask is not None and mask.dtype not in (np.bool_, np.float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {c_name(mask.dtype)} and  query.dtype: {c_name(query.dtype)} "
            "instead."
        )
    if enable_gqa:
        heads, shared = query.shape[-3], (key.shape[-3], value.shape[-3])
        if any(heads % n for n in shared):
            raise RuntimeError(
                "Number of heads in key and value must divide the number of heads in query"
            )
    else:
        for other in (key, value):
            check_broadcast(*(jnp.empty((*t.shape[:-2], 1, 1)) for t in (query, other)))
    if query.shape[-1] != key.shape[-1]:
        batch = math.prod(key.shape[:-2])
        raise RuntimeError(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{batch}, {query.shape[-1]}] but got: [{batch}, {key.shape[-1]}]."
        )


def _shared(heads: int, x: Any, enable_gqa: bool) -> jax.Array:
    """Return key or value with one head for each head of the query."""
    if enable_gqa and x.shape[-3] != heads:
        return jnp.repeat(x, heads // x.shape[-3], -3)
    return x


def _heads(query: Any, enable_gqa: bool) -> int:
    return query.shape[-3] if enable_gqa else 1


def _factor(query: Any, scale: float | None) -> float:
    # Without features all products are 0, whatever they are multiplied by.
    return 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale


def _masks(query: Any, key: Any, mask: Any, wide: Any) -> Masks:
    if mask is None:
        return Masks()
    batch = jnp.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    check_broadcast(jnp.empty((*batch, query.shape[-2], key.shape[-2])), mask)
    return (
        Masks(limit=limit_of(mask, wide))
        if mask.dtype == np.bool_
        else (Masks(bias=mask.astype(wide)))
    )


def _powers(
    query: Any, key: Any, mask: Any, is_causal: bool, scale: float | None
) -> tuple[Any, Any]:
    """Return what `powers_of` makes of the products of query and key, in float32 or wider."""
    factor = _factor(query, scale)
    wide = np.dtype(np.float32) if query.dtype.itemsize < 4 else query.dtype
    if wide == query.dtype:
        query = query * jnp.asarray(factor, wide)
    scores = accumulated(query, jnp.swapaxes(key, -1, -2), None if wide == query.dtype else wide)
    if wide != query.dtype:  # a scaled 16-bit query would be rounded once more
        scores = scores * jnp.asarray(factor, wide)
    return powers_of(scores, _masks(query, key, mask, wide), 0 if is_causal else None)


@op(
    "attention_op",
    namespaces=(),
    method=False,
    memory_order=memory_order.of_query,
    grad_name="ScaledDotProductFlashAttentionForCpuBackward0",
)
def attention_op(
    query: Input,
    key: Input,
    value: Input,
    attn_mask: OptInput,
    is_causal: Bool,
    scale: OptFloat,
    enable_gqa: Bool,
    allowed: Str = "",
):
    """Compute ``softmax(query @ key.T * scale + mask) @ value``. ``allowed``: what
    `kernels.switch_state`
    returns, which the choice of a kernel depends on."""
    _check(query, key, value, attn_mask, enable_gqa)
    case = kernels.Case(query, key, value, attn_mask, is_causal, False)
    kernel = kernels.choose(case)
    if kernel != "plain":
        if attn_mask is not None:
            _masks(
                query, _shared(_heads(query, enable_gqa), key, enable_gqa), attn_mask, np.float32
            )
        return kernels.run(kernel, case, _factor(query, scale))
    plain = functools.partial(_plain, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
    if targets.is_accelerator():
        # XLA would keep the scores of each layer twice, in float32, from forward to backward.
        plain = jax.checkpoint(plain)
    return plain(query, key, value, attn_mask)


def _plain(
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> jax.Array:
    """Compute attention with the weights whole."""
    heads = _heads(query, enable_gqa)
    key, value = _shared(heads, key, enable_gqa), _shared(heads, value, enable_gqa)
    if value.dtype.itemsize < 4:
        powers, total = _powers(query, key, mask, is_causal, scale)
        # A float16 sum over 2,048 undivided weights overflows, and its gradient underflows.
        return jnp.matmul((powers / total).astype(value.dtype), value)
    query = query * jnp.asarray(_factor(query, scale), query.dtype)
    return weighted(query, key, value, _masks(query, key, mask, query.dtype), is_causal)


@op(
    "dropped_attention_op",
    namespaces=(),
    method=False,
    grad_name="ScaledDotProductEfficientAttentionBackward0",
)
def dropped_attention_op(
    query: Input,
    key: Input,
    value: Input,
    attn_mask: OptInput,
    seed: Input,
    dropout_p: Float,
    is_causal: Bool,
    scale: OptFloat,
    enable_gqa: Bool,
):
    """Compute attention with dropout in blocks: ``seed`` decides which weights are dropped."""
    _check(query, key, value, attn_mask, enable_gqa)
    case = kernels.Case(query, key, value, attn_mask, is_causal, True)
    words = seed.reshape(-1)[0].astype(np.uint32)
    return kernels.run("chunked", case, _factor(query, scale), words, dropout_p)


@op(
    "attention_weights_op",
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="SafeSoftmaxBackward0",
)
def attention_weights_op(
    query: Input,
    key: Input,
    value: Input,
    attn_mask: OptInput,
    is_causal: Bool,
    scale: OptFloat,
    enable_gqa: Bool,
):
    """Return the attention weights alone, for attention with dropout."""
    _check(query, key, value, attn_mask, enable_gqa)
    key = _shared(query.shape[-3] if enable_gqa else 1, key, enable_gqa)
    powers, total = _powers(query, key, attn_mask, is_causal, scale)
    return (powers / total).astype(query.dtype)


@op("attend_op", namespaces=(), method=False, grad_name="UnsafeViewBackward0")
def attend_op(weights: Input, value: Input, enable_gqa: Bool):
    """Return ``weights @ value``."""
    value = _shared(weights.shape[-3] if enable_gqa else 1, value, enable_gqa)
    return jnp.matmul(weights.astype(value.dtype), value)


@op("modified_attention_op", namespaces=(), method=False, grad_name="FlexAttentionBackward")
def modified_attention_op(scores: Input, value: Input, dtype: DType):
    """Compute attention from its scores (…, L, S), which are -inf where masked: the result in
    ``dtype``, and the logarithms of the sums (…, L), in the precision of the scores."""
    powers, total, top = softmax_parts(scores, True)
    # The logarithm of 0 would have a gradient of NaN, chosen or not.
    filled = jnp.where(total == 0, 1, total)
    logs = jnp.where(total == 0, -jnp.inf, jnp.log(filled) + top)
    out = jnp.matmul((powers / filled).astype(dtype), value.astype(dtype))
    return out, logs[..., 0]


@composite(namespaces=("nn.functional",), method=False, autocast={"cpu": "low", "cuda": "low"})
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: Any = False,
    *,
    scale: float | None = None,
    enable_gqa: Any = False,
) -> Tensor:
    """Compute attention (Vaswani et al. 2017). query (…, L, E), key (…, S, E), value (…, S, V): (…,
    L, V).

    ``attn_mask`` broadcasts to (…, L, S): a bool mask keeps where True, a float mask is added.
    ``is_causal`` masks above the diagonal that starts at the top left. ``scale`` is 1 / sqrt(E)
    unless given. With ``enable_gqa`` groups of query heads share key and value heads. Rows masked
    whole give 0. ``dropout_p`` drops weights, whether or not a module is training.

    RuntimeError for both ``attn_mask`` and ``is_causal``, but for inputs of 4 dimensions without
    dropout and a gradient of the mask, where both mask (flash attention on the CPU of PyTorch 2.13,
    not of 2.14);
    ValueError where the mask is a ``torch.nn.attention.bias.CausalBias``.

    Example:
      >>> q, k, v = torch.ones(1, 4, 8), torch.ones(1, 6, 8), torch.ones(1, 6, 2)
      >>> torch.nn.functional.scaled_dot_product_attention(q, k, v).shape
      torch.Size([1, 4, 2])
    """
    if is_causal and attn_mask is not None:
        if hasattr(attn_mask, "variant"):  # its class lies in a room above this one
            raise ValueError("CausalBias should not be used with causal=True")
        learned = attn_mask.requires_grad and modes.current.grad_enabled
        refused = follows("attention refuses two masks")
        if query.dim() != 4 or dropout_p or learned or refused:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                "is_causal=True"
            )
    if (instead := sharded_attention.active()) is not None:
        with sharded_attention.itself():
            return instead(
                scaled_dot_product_attention,
                query,
                key,
                value,
                attn_mask,
                dropout_p,
                is_causal,
                scale,
                enable_gqa,
            )
    if not dropout_p:
        if state := kernels.switch_state():
            return attention_op(query, key, value, attn_mask, is_causal, scale, enable_gqa, state)
        return attention_op(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p:g}")
    if not targets.is_cpu() and (
        kernels.choose(kernels.Case(query, key, value, attn_mask, is_causal, True)) != "plain"
    ):
        # By name, like dropout below.
        seed = NAMESPACES[""]["randint"](1 << 31, (1,), device=query.device)
        return dropped_attention_op(
            query, key, value, attn_mask, seed, dropout_p, is_causal, scale, enable_gqa
        )
    weights = attention_weights_op(query, key, value, attn_mask, is_causal, scale, enable_gqa)
    # By name: the random family registers dropout, and may be imported after this one.
    dropped = NAMESPACES["nn.functional"]["dropout"](weights, dropout_p)
    return attend_op(dropped, value, enable_gqa)
