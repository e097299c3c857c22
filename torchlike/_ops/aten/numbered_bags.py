"""``torch.embedding_bag``: bags of embeddings as PyTorch's lower layer has them, with numbered
modes and four results."""

from __future__ import annotations

from typing import Any

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite
from torchlike._ops.nn.embedding import sparse_rows
from torchlike._ops.nn.embedding.embedding import bags_of, embedding_bag_members, padding_row
from torchlike.tensor import Tensor

_MODES = ("sum", "mean", "max")


def _checked(weight: Tensor, indices: Tensor, offsets: Tensor, samples: Any, last: Any) -> None:
    for position, (name, t) in enumerate(
        (("weight", weight), ("indices", indices), ("offsets", offsets)), 1
    ):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"embedding_bag(): argument '{name}' (position {position}) must be Tensor, not "
                f"{type(t).__name__}"
            )
    if weight.dim() != 2:
        raise RuntimeError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if indices.dim() == 2:
        raise NotImplementedError("embedding_bag() of 2-D indices: give it indices.flatten()")
    if indices.dim() != 1:
        raise RuntimeError(
            f"input has to be a 1D or 2D Tensor, but got Tensor of dimension {indices.dim()}"
        )
    if offsets.dim() != 1:
        raise RuntimeError(
            f"offsets has to be a 1D Tensor, but got Tensor of dimension {offsets.dim()}"
        )
    if last and not offsets.shape[0]:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    if samples is not None and samples.shape != indices.shape:
        raise RuntimeError(
            f"per_sample_weights must have the shape of the indices, {tuple(indices.shape)}, but "
            f"got {tuple(samples.shape)}"
        )


def _mode(number: Any, samples: Any) -> str:
    """Return the name of a mode given by number. TypeError and RuntimeError for what is no mode's
    number."""
    if type(number) is not int:
        raise TypeError(
            f"embedding_bag(): argument 'mode' must be int, not {type(number).__name__}"
        )
    if not 0 <= number < len(_MODES):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    if samples is not None and number:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    return _MODES[number]


def _summed_at_once(weight: Tensor, samples: Any, padding_idx: int | None) -> bool:
    """Return whether PyTorch's kernel adds bags up without a list of which index is in which
    bag."""
    return (
        padding_idx is None
        and weight.dtype in (dtypes.float32, dtypes.float16, dtypes.bfloat16)
        and weight.stride(1) == 1
        and (samples is None or samples.stride(0) == 1)
    )


@composite("embedding_bag", method=False)
def embedding_bag_toplevel(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: Any = False,
    mode: int = 0,
    sparse: Any = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: Any = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Apply ``nn.functional.embedding_bag`` to a flat list, with numbered modes: 0 sum, 1 mean, 2
    max.

    Gives the bags (B, D), each index' bag (empty where sums need none), the number of indices in
    each bag (0 for sums), and for maxima the row (B, D) of each, else that number again.

    NotImplementedError for maxima with a sparse gradient: PyTorch gives that of a sum.
    """
    _checked(weight, indices, offsets, per_sample_weights, include_last_offset)
    name = _mode(mode, per_sample_weights)
    if name == "max":
        if sparse and sparse_rows.wants_sparse(weight, "embedding_bag"):
            raise NotImplementedError("embedding_bag() of mode 2 (max): leave sparse=True out")
        scale_grad_by_freq = False  # has no effect in PyTorch
    padding_idx = padding_row(padding_idx, weight.shape[0])
    wide = dtypes.promote_types(indices.dtype, offsets.dtype)
    indices, offsets = indices.to(wide), offsets.to(wide)
    bags = bags_of(
        indices,
        weight,
        offsets,
        per_sample_weights,
        name,
        padding_idx,
        scale_grad_by_freq,
        include_last_offset,
        sparse,
    )
    member, size, rows = embedding_bag_members(
        indices, weight.detach(), offsets, name, padding_idx, include_last_offset
    )
    if name == "sum" and _summed_at_once(weight, per_sample_weights, padding_idx):
        member = member[:0].clone()
    return bags, member, size, rows
