"""Which dimensions of the inputs of ``torch.onnx.export`` may have any size: ``dynamic_axes``, and
names in ``dynamic_shapes``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from torchlike.export.any_size import CallSizes, SizeRange
from torchlike.export.dynamic_dims import DimHint
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
            symbol = _symbol(label)
            size = tensor.shape[d]
            if at_hand.setdefault(symbol, size) != size:
                raise ValueError(
                    f"dynamic_axes calls two dimensions {label!r}, which are {at_hand[symbol]} and "
                    f"{size} in the example"
                )
            row[d] = symbol
        rows.append(row)
    return CallSizes(rows, at_hand, {name: SizeRange(inferred=True) for name in at_hand})


def with_names(spec: Any) -> Any:
    """Return ``dynamic_shapes`` with each name of a dimension as a ``Dim.DYNAMIC`` of that name."""
    if isinstance(spec, str):
        return DimHint("DYNAMIC", label=_symbol(spec))
    if isinstance(spec, Mapping):
        return {key: with_names(said) for key, said in spec.items()}
    if isinstance(spec, (list, tuple)):
        return tuple(map(with_names, spec))
    return spec


def _symbol(label: Any) -> str:
    """Return a label as the name of a symbol."""
    symbol = re.sub(r"\W", "_", str(label))
    return symbol if symbol.isidentifier() else f"d_{symbol}"
