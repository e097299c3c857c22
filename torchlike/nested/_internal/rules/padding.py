"""To and from padded tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.nested._internal.nested_tensor import NestedTensor
from torchlike.nested._internal.rules.table import rule, torch
from torchlike.tensor import Tensor


def to_padded(input: NestedTensor, padding: Any, width: int) -> Any:
    """Pad the parts: (n, …, width, …), each with padding behind it, or cut off. Parts may have
    holes between them."""
    at = input._ragged_idx
    values: Any = input._held.movedim(at - 1, 0)  # type: ignore[attr-defined]
    places: Any = torch["arange"](width)
    here = places < input.all_lengths().unsqueeze(1)  # type: ignore[attr-defined]
    if values.shape[0]:
        rows = (input._offsets[:-1].unsqueeze(1) + places).clamp(max=values.shape[0] - 1)  # type: ignore[attr-defined]
        padded = values[rows]
    else:
        padded = values.new_zeros((input.shape[0], width, *values.shape[1:]))
    here = here.reshape(*here.shape, *[1] * (values.dim() - 1))
    filler = torch["full"]((), padding, dtype=values.dtype)
    return torch["where"](here, padded, filler).movedim(1, at)


def from_padded(padded: Any, offsets: Any, ragged_idx: int, total: int) -> Tensor:
    """Return the values (…, total, …) of padded parts (n, …, width, …), from their offsets."""
    rows = padded.movedim(ragged_idx, 1)
    places: Any = torch["arange"](total)
    owner = torch["searchsorted"](offsets[1:].contiguous(), places, right=True)
    owner = owner.clamp(max=rows.shape[0] - 1)
    place = (places - offsets[owner]).clamp(0, rows.shape[1] - 1)  # also of rows of no part
    return rows[owner, place].movedim(0, ragged_idx - 1)


@rule("to_padded_tensor", "nested_to_padded_tensor")
def to_padded_tensor(
    func: Any, input: NestedTensor, padding: float, output_size: Any = None, out: Any = None
) -> Tensor:
    """Pad the parts. Raises RuntimeError for a tensor with holes. The width is that of
    ``output_size``, else the greatest length where that is known without reading offsets, else the
    total, as in PyTorch."""
    if input._lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    known = input._maybe_max_seqlen
    if output_size is not None:
        width = output_size[input._ragged_idx]
    else:
        width = input._held.shape[input._ragged_idx - 1] if known is None else known
    return to_padded(input, padding, width)


@rule("masked_select")
def masked_select(func: Callable[..., Any], input: Any, mask: Any) -> NestedTensor:
    """Select the entries that a mask shows of each part; where it shows none the part is empty."""
    if input.dim() > 2:
        raise RuntimeError("masked_select only support 2-D selections currently")
    if tuple(input.shape) != tuple(mask.shape):
        raise RuntimeError(
            f"Mask with shape {mask.shape} is not compatible with input's shape {input.shape}"
        )
    before: Any = torch["cat"]([mask._held.new_zeros(1).long(), mask._held.cumsum(0)])
    return NestedTensor(func(input._held, mask._held), before[input._offsets])
