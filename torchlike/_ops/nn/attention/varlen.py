"""Attention of packed sequences as an op: rows of all sequences one after another."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike._core.dispatch.registry import op
from torchlike._core.dispatch.schema import Bool, Float, Input, OptFloat, OptInput, OptInt
from torchlike._ops.nn.attention import ragged


@op("varlen_attention", namespaces=(), method=False, grad_name="FlashAttentionBackward0")
def varlen_attention(
    query: Input,
    key: Input,
    value: Input,
    starts_q: Input,
    lengths_q: Input,
    starts_k: Input,
    lengths_k: Input,
    seed: OptInput,
    dropout_p: Float,
    scale: OptFloat,
    left: OptInt,
    right: OptInt,
    from_end: Bool,
):
    """Compute attention of query (T, heads, E), key (S, shared heads, E), value (S, shared heads,
    V), and where the sequences lie in them: (T, heads, V), and the logarithms of the sums (T,
    heads).

    A query sees ``left`` keys before its own place and ``right`` after it, or all (None); that
    place is counted from the end of the keys if ``from_end``.
    """
    heads, shared = query.shape[1], key.shape[1]
    factor = 1 / math.sqrt(max(query.shape[-1], 1)) if scale is None else scale
    settings = ragged.RaggedAttentionSettings(factor, left, right, from_end, dropout_p)

    def by_head(x: Any, groups: int) -> Any:
        moved = jnp.moveaxis(x, 0, 1)
        return moved.reshape(shared, groups, x.shape[0], x.shape[2])

    group = heads // max(shared, 1)
    queries, keys = (
        ragged.Sequences(s.astype(np.int32), n.astype(np.int32))
        for s, n in ((starts_q, lengths_q), (starts_k, lengths_k))
    )
    words = None if seed is None else seed.reshape(-1)[0].astype(np.uint32)
    found: Any = ragged.attend(
        by_head(query, group), by_head(key, 1), by_head(value, 1), queries, keys, words, settings
    )
    out, logs = found
    rows = query.shape[0]
    out = jnp.moveaxis(out.reshape(heads, rows, value.shape[-1]), 1, 0)
    return out, jnp.moveaxis(logs.reshape(heads, rows), 1, 0)
