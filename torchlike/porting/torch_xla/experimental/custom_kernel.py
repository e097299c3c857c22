"""``torch_xla.experimental.custom_kernel``: attention, by whichever kernel is best here."""

from __future__ import annotations

from typing import Any

from torchlike.nn.functional import scaled_dot_product_attention
from torchlike.porting.torch_xla._absent import absent

__getattr__ = absent("torch_xla.experimental.custom_kernel")


def flash_attention(
    q: Any,
    k: Any,
    v: Any,
    causal: bool = False,
    q_segment_ids: Any = None,
    kv_segment_ids: Any = None,
    sm_scale: float = 1.0,
    *,
    ab: Any = None,
    partition_spec: Any = None,
    mesh: Any = None,
) -> Any:
    """Compute ``scaled_dot_product_attention`` of query, key and value (B, H, L or S, E), not
    scaled unless ``sm_scale`` says so. ``ab`` (B, H, L, S) is added to the scores; places of
    another segment (``q_segment_ids`` (B, L), ``kv_segment_ids`` (B, S)) are hidden.

    ValueError where segments of one of the two are given. ``partition_spec`` and ``mesh`` are
    XLA's own choice.
    """
    if (q_segment_ids is None) != (kv_segment_ids is None):
        raise ValueError("q_segment_ids and kv_segment_ids are given both, or neither")
    mask = ab
    if q_segment_ids is not None:
        same = (q_segment_ids[:, :, None] == kv_segment_ids[:, None, :])[:, None]
        mask = same if ab is None else ab.masked_fill(~same, float("-inf"))
    if causal and mask is not None:
        rows, columns = q.shape[2], k.shape[2]
        below = q.new_ones(rows, columns).tril().bool()
        hidden = mask & below if mask.dtype == below.dtype else mask.masked_fill(~below, -1e30)
        return scaled_dot_product_attention(q, k, v, hidden, scale=sm_scale)
    return scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=sm_scale)
