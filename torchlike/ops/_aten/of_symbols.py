"""Tensors of symbolic numbers: of the operators that a trace records, or of the sizes at hand."""

from __future__ import annotations

from typing import Any

from torchlike._compat.symbolic import SymFloat, is_symbolic
from torchlike._core import dtypes, overrides
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._ops.creation.from_data import symbolic_tensor
from torchlike.tensor import Tensor


@symbolic_tensor.by
def symbolic(data: Any, dtype: Any, device: Any) -> Tensor | None:
    """Return a tensor of numbers of which some are symbolic; None where none is. ValueError for a
    ragged list."""
    return of_symbols(data, dtype, device) if has_symbols(data) else None


def has_symbols(data: Any) -> bool:
    """True for a symbolic number, and for a list or tuple with one."""
    return any(map(has_symbols, data)) if isinstance(data, (list, tuple)) else is_symbolic(data)


def of_symbols(data: Any, dtype: Any, device: Any) -> Tensor:
    """Return a tensor of numbers of which some are symbolic. ValueError for a ragged list."""
    if dtype is None:
        dtype = dtypes.get_default_dtype() if _has_floats(data) else dtypes.int64
    functions = NAMESPACES[""]
    if isinstance(data, (list, tuple)):
        parts = [of_symbols(part, dtype, device) for part in data]
        if len({part.shape for part in parts}) > 1:
            raise ValueError("expected sequence of equal length at each dimension")
        return functions["stack"](parts)
    if is_symbolic(data) and not (overrides.state.dispatch_modes or overrides.state.outside):
        data = float(data) if isinstance(data, SymFloat) else int(data)
    return functions["scalar_tensor"](data, dtype=dtype, device=device)


def _has_floats(data: Any) -> bool:
    if isinstance(data, (list, tuple)):
        return any(map(_has_floats, data))
    return isinstance(data, (float, SymFloat))
