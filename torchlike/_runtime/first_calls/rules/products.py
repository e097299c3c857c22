"""Products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._runtime import blas_threads
from torchlike._runtime.first_calls.rules.registry import (
    Equation,
    Method,
    NoNumpyRule,
    rule,
    working,
)


def matmul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute ``np.matmul``, after which no thread of NumPy's takes a core from XLA."""
    return blas_threads.product(np.matmul, x, y)


@rule("dot_general")
def _dot_general(eqn: Equation) -> Callable[..., Any]:
    (summed_a, summed_b), (batch_a, batch_b) = eqn.params["dimension_numbers"]
    shape, dtype = eqn.shape, np.dtype(eqn.dtype)
    wide = working(dtype)
    if wide == np.bool_:
        raise NoNumpyRule("products of bools")
    a, b = eqn.operands
    free_a = [d for d in range(len(a.shape)) if d not in summed_a and d not in batch_a]
    free_b = [d for d in range(len(b.shape)) if d not in summed_b and d not in batch_b]
    sizes = [a.shape[d] for d in batch_a]
    rows, columns = math.prod(a.shape[d] for d in free_a), math.prod(b.shape[d] for d in free_b)
    length = math.prod(a.shape[d] for d in summed_a)
    if length == 0 or 0 in shape:
        zeros = np.zeros(shape, dtype)
        return lambda x, y: zeros
    left = _as_matrices(a, wide, (*batch_a, *free_a, *summed_a), (*sizes, rows, length))
    right = _as_matrices(b, wide, (*batch_b, *summed_b, *free_b), (*sizes, length, columns))
    if shape == (*sizes, rows, columns) and wide == dtype:
        if left is right is None:
            return matmul
        left, right = left or _itself, right or _itself
        return lambda x, y: matmul(left(x), right(y))
    left, right = left or _itself, right or _itself
    return lambda x, y: matmul(left(x), right(y)).reshape(shape).astype(dtype, copy=False)


def _itself(x: Any) -> Any:
    return x


def _as_matrices(aval: Any, dtype: np.dtype, order: Any, shape: Any) -> Callable[[Any], Any] | None:
    """Return the function that converts an operand to matrices, its dimensions in this order; None
    where they are that as they are."""
    in_order = tuple(order) == tuple(range(len(order)))
    ordered = tuple(aval.shape[d] for d in order)
    if aval.dtype == dtype:
        if ordered == shape:
            return None if in_order else Method("transpose", order)
        if in_order:
            return Method("reshape", shape)
    return lambda x: x.astype(dtype, copy=False).transpose(order).reshape(shape)
