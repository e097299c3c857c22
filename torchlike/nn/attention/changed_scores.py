"""Scores as score_mod and a BlockMask leave them, whole or a block of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.nn.attention.block_mask import BlockMask
from torchlike.nn.attention.masks import over_scores
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]


def changed_scores(
    score_mod: Callable[..., Any] | None,
    block_mask: BlockMask | None,
    scores: Tensor,
    indices: Sequence[Tensor],
    dense: Sequence[Tensor] | None = None,
) -> Tensor:
    """Return the scores (B, H, Q, KV), whose places are ``indices`` (four vectors): changed, and
    -inf where masked. ``dense``: `dense_blocks` of the mask, where they are at hand."""
    if score_mod is not None:
        scores = over_scores(score_mod, True)(scores, *indices)
    if block_mask is None:
        return scores
    dense = dense_blocks(block_mask) if dense is None else dense
    asked = over_scores(block_mask.mask_mod, False)(*indices)
    allowed = _of_scores(dense[0], block_mask, indices) & asked
    for full in dense[1:]:
        allowed = allowed | _of_scores(full, block_mask, indices)
    return _torch["where"](allowed, scores, -math.inf)


def dense_blocks(block_mask: BlockMask) -> list[Tensor]:
    """Return which blocks (…, rows of blocks, columns of blocks) the mask's function is asked
    about, and which are attended to whole, if the mask knows of such."""
    full = block_mask.full_blocks()
    return [block_mask.to_dense()] if full is None else [block_mask.to_dense(), full]


def _of_scores(blocks: Tensor, block_mask: BlockMask, indices: Sequence[Tensor]) -> Tensor:
    """Expand a value for each block into one for each score: (…, Q, KV), bool."""
    row, column = (i // size for i, size in zip(indices[2:], block_mask.BLOCK_SIZE, strict=True))
    return blocks.to(dtypes.bool)[..., row.unsqueeze(1), column]
