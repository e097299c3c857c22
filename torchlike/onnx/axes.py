"""``dynamic_axes`` of ``torch.onnx.export``: which dimensions of which inputs may have any size."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from torchlike.export.any_size import CallSizes
from torchlike.tensor import Tensor


def named(
    axes: Mapping[str, Any], input_names: Sequence[str] | None, tensors: Sequence[Tensor]
) -> CallSizes:
    """Return the sizes that ``dynamic_axes`` mean. ValueError for a name that is no input's while
    no other is either, a dimension that is not there, or one name for two sizes."""
    names = list(input_names or ())
    if not any(name in names for name in axes):
        raise ValueError(
            f"dynamic_axes has {', '.join(map(repr, axes))}, but input_names are {names}: name the "
            "inputs by input_names=[...]"
        )
    rows: list[list[int | str]] = []
    at_hand: dict[str, int] = {}
    for i, tensor in enumerate(tensors):
        name = names[i] if i < len(names) else ""
        said = axes.get(name, {})
        if not isinstance(said, Mapping):
            said = {d: f"{name}_dynamic_axes_{k + 1}" for k, d in enumerate(said)}
        row: list[int | str] = list(tensor.shape)
        for d, label in said.items():
            if not -tensor.dim() <= d < tensor.dim():
                raise ValueError(f"dynamic_axes has dimension {d} of {name}, of {tensor.dim()}")
            symbol = re.sub(r"\W", "_", str(label))
            symbol = symbol if symbol.isidentifier() else f"d_{symbol}"
            size = tensor.shape[d]
            if at_hand.setdefault(symbol, size) != size:
                raise ValueError(
                    f"dynamic_axes calls two dimensions {label!r}, which are {at_hand[symbol]} and "
                    f"{size} in the example"
                )
            row[d] = symbol
        rows.append(row)
    return CallSizes(rows, at_hand, {})
