"""Distances within one set of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike import dtypes
from torchlike.dispatch.registry import composite, op
from torchlike.dispatch.schema import Input, Number
from torchlike.ops.gathering import type_name
from torchlike.ops.reduction import vector_norm as norm_of_vectors
from torchlike.tensor import Tensor


@op("pdist_op", namespaces=(), method=False, residuals=True, grad_name="PdistBackward0")
def pdist_op(input: Input, p: Number):
    """Distances of all pairs of rows, row by row of the upper triangle."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if input.dtype not in (np.float32, np.float64):
        raise RuntimeError(
            f"pdist only supports floating-point dtypes, got: {type_name(input)}"
            if dtypes.kind_of(input.dtype) != "f" else
            f"\"pdist\" not implemented for '{type_name(input)}'"
        )  # fmt: skip
    if p.value < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = np.triu_indices(input.shape[0], 1)
    if not first.size or not input.shape[1]:
        return input.sum() * 0 + np.zeros(first.size, input.dtype)
    return norm_of_vectors(input[first] - input[second], p.value, (1,), False)


@composite(namespaces=("", "nn.functional"), method=False)
def pdist(input: Tensor, p: Any = 2.0) -> Tensor:
    """The p-norm distance of every pair of rows: (N, M) to (N (N - 1) / 2,).

    RuntimeError for a negative p and for other than 2 dimensions.
    """
    return pdist_op(input, float(p))
