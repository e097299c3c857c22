"""Where PyTorch runs its attention kernel for inference, whose queries without a key give NaN.

All else is as in the other kernels, so only these queries are marked.
"""

from __future__ import annotations

from typing import Any

from torchlike._core import dtypes, modes
from torchlike.autograd.grad_mode import is_grad_enabled
from torchlike.nn.modules.padding_fast_path import get_fastpath_enabled
from torchlike.tensor import Tensor


def takes_native_kernel(layer: Any, alone: bool, query: Tensor, masks: tuple[Any, Any]) -> bool:
    """Return whether PyTorch would run its native kernel for this call of a MultiheadAttention,
    with a mask of bools.

    ``alone``: whether query, key and value are one tensor.
    """
    given = [mask for mask in masks if mask is not None]
    if not given or not alone or layer.training or not layer.batch_first or query.dim() != 3:
        return False
    if any(mask.dtype is not dtypes.bool for mask in given):
        return False
    weights = (layer.in_proj_weight, layer.in_proj_bias, layer.out_proj.weight, layer.out_proj.bias)
    return (
        get_fastpath_enabled()
        and layer._qkv_same_embed_dim
        and layer.num_heads % 2 == 0
        and layer.bias_k is None
        and layer.bias_v is None
        and not layer.add_zero_attn
        and query.dtype is layer.in_proj_weight.dtype
        and modes.current.autocast is None
        and not (
            is_grad_enabled() and any(t is not None and t.requires_grad for t in (query, *weights))
        )
    )


def without_keys(heads: int, masks: tuple[Any, Any]) -> Tensor:
    """Return which queries have no key in one of the heads: (N, L, 1), or a shape that broadcasts
    to it."""
    padding, mask = masks
    if mask is not None and mask.dim() == 3:
        mask = mask.unflatten(0, (-1, heads))
    if padding is not None:
        padding = padding[:, None, None]
        mask = padding if mask is None else padding | mask
    assert mask is not None
    hidden = mask.all(-1, keepdim=True)
    return hidden.any(1) if hidden.dim() == 4 else hidden
