"""Sums of sparse and dense arrays, as gradients are added up in backward."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from torchlike._core.sparse_array import SparseArray
from torchlike.tensor import wrap


@jax.jit
def _scattered(whole: Any, at: Any, values: Any) -> jax.Array:
    """Return ``whole`` with values added at their places."""
    return whole.at[tuple(at)].add(values) if at.shape[0] else whole + values.sum(0)


def dense(x: SparseArray) -> jax.Array:
    """Return the dense array, duplicates added."""
    return _scattered(jnp.zeros(x.shape, x.dtype), *x.parts())


def total(a: Any, b: Any) -> Any:
    """Add two arrays of which one at least is sparse: the sum is sparse when both are."""
    if type(a) is not SparseArray:
        return _scattered(a, *b.parts())
    if type(b) is not SparseArray:
        return _scattered(b, *a.parts())
    (at, held), (at2, held2) = a.parts(), b.parts()
    return SparseArray(
        wrap(jnp.concatenate([at, at2], 1)), wrap(jnp.concatenate([held, held2])), a.shape, False
    )
