"""Softmax of a tensor in coordinate form, over the elements that are there."""

from __future__ import annotations

import math
from typing import Any

from torchlike._core import dtypes, errors
from torchlike._ops.linalg.sparse_products import grouped_softmax
from torchlike.sparse._tensor import SparseTensor
from torchlike.tensor import Tensor


def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """Compute the softmax along ``dim``: elements that are not there count as minus infinity.

    RuntimeError for a tensor of another layout; IndexError for a dimension out of range.
    """
    return _softmax("softmax", input, dim, dtype, False)


def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """Compute the logarithm of ``softmax``; errors as there."""
    return _softmax("log_softmax", input, dim, dtype, True)


def _softmax(name: str, input: Any, dim: int, dtype: Any, log: bool) -> SparseTensor:
    if not isinstance(input, SparseTensor):
        layout = getattr(input, "layout", type(input).__name__)
        raise NotImplementedError(f"torch.sparse.{name}: expected coordinate form, got {layout}")
    tidy = input.coalesce()
    values = tidy._held if dtype is None else tidy._held.to(dtype)
    if not values.dtype.is_floating_point:
        raise RuntimeError(f"\"{name}\" not implemented for '{dtypes.scalar_type(values.dtype)}'")
    d, n = errors.wrap_dim(dim, tidy.dim()), tidy.sparse_dim()
    if d >= n:
        function = values.log_softmax if log else values.softmax
        return tidy._with(function(d - n + 1))
    sizes = [size for i, size in enumerate(tidy.shape[:n]) if i != d]
    groups: Any = tidy._at[0] * 0
    for i in range(n):
        if i != d:
            groups = groups * tidy.shape[i] + tidy._at[i]
    found: Tensor = grouped_softmax(values, groups, max(math.prod(sizes), 1), log)
    return tidy._with(found)
