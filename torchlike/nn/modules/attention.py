"""Multi-head attention."""

from __future__ import annotations

import math
from typing import Any

from torchlike._ops.nn.attention.multihead import multi_head_attention_forward
from torchlike.nn import init
from torchlike.nn.modules.linear import NonDynamicallyQuantizableLinear
from torchlike.nn.modules.module import Module
from torchlike.nn.modules.native_attention import takes_native_kernel, without_keys
from torchlike.nn.modules.utils import new_parameter
from torchlike.tensor import Tensor


class MultiheadAttention(Module):
    """Attention of several heads between projections (Vaswani et al., 2017).

    Query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim); with ``batch_first`` the batch
    comes first; without a batch two dimensions. Gives the output in the query's shape and, unless
    ``need_weights=False``, the attention weights (N, L, S).

    A query all of whose keys are masked gives NaN with weights. Without them it gives zeros before
    the last projection, but NaN where PyTorch runs its kernel for inference (`native_attention`).

    Example:
      >>> attention = torch.nn.MultiheadAttention(8, num_heads=2, batch_first=True)
      >>> x = torch.ones(1, 5, 8)
      >>> output, weights = attention(x, x, x)
      >>> output.shape, weights.shape
      (torch.Size([1, 5, 8]), torch.Size([1, 5, 5]))
    """

    in_proj_weight: Any
    q_proj_weight: Any
    k_proj_weight: Any
    v_proj_weight: Any
    in_proj_bias: Any
    bias_k: Any
    bias_v: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        shapes = {
            "q_proj_weight": (embed_dim, embed_dim),
            "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
            "in_proj_weight": (3 * embed_dim, embed_dim),
        }
        for name, shape in shapes.items():
            wanted = (name == "in_proj_weight") == self._qkv_same_embed_dim
            self.register_parameter(name, new_parameter(shape, device, dtype) if wanted else None)
        self.register_parameter(
            "in_proj_bias", new_parameter(3 * embed_dim, device, dtype) if bias else None
        )
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        for name in ("bias_k", "bias_v"):
            self.register_parameter(
                name, new_parameter((1, 1, embed_dim), device, dtype) if add_bias_kv else None
            )
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw Glorot's weights for the projections and zero the biases (out_proj has drawn its own
        before)."""
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        if query.is_nested or key.is_nested or value.is_nested:
            raise AssertionError(
                "MultiheadAttention does not support NestedTensor outside of its fast path. The "
                "fast path was not hit because it is a kernel of PyTorch's: use "
                "scaled_dot_product_attention"
            )
        alone = query is key is value
        turned = self.batch_first and query.dim() == 3
        masks = (key_padding_mask, attn_mask)
        if turned:
            # Self-attention stays recognisable: one transpose where one tensor is given thrice.
            made = {id(t): t for t in (query, key, value)}
            made = {key: t.transpose(1, 0) for key, t in made.items()}
            query, key, value = made[id(query)], made[id(key)], made[id(value)]
        output, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        output = output.transpose(1, 0) if turned else output
        if not need_weights and takes_native_kernel(self, alone, query, masks):
            output = output.masked_fill(without_keys(self.num_heads, masks), math.nan)
        return output, weights
