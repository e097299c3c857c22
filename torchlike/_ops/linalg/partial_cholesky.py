"""What of a Cholesky factor can be computed where there is none: the columns before the first
leading minor that is not positive-definite, and the order of that minor.

XLA's factorization leaves NaN and does not say where. Column by column (LAPACK's potf2) the answer
is known: the columns before are the factor's, on the diagonal stands what had no root, and behind
it what the matrix had there. The loop runs no step where every matrix has a factor.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax


def completed(factor: Any, matrix: Any) -> tuple[Any, Any]:
    """Return the factors, with those that are NaN computed as far as they go, and the orders of the
    minors.

    factor, matrix: (..., n, n), lower triangular. The order is 0 where there is a factor.
    """
    n, batch = matrix.shape[-1], matrix.shape[:-2]
    if not n:
        return factor, jnp.zeros(batch, np.int32)
    failed = jnp.isnan(lax.stop_gradient(factor)).any((-2, -1))
    start = jnp.where(failed.any(), 0, n)
    state = (start, lax.stop_gradient(matrix), jnp.zeros(batch, np.int32))
    _, partial, order = lax.while_loop(lambda s: s[0] < n, _column, state)
    return (
        jnp.where(failed[..., None, None], partial, factor),
        jnp.where(failed, order, 0),
    )


def _column(state: Any) -> tuple[Any, ...]:
    """Compute the next column of each matrix that has not failed yet."""
    j, x, order = state
    at = jnp.arange(x.shape[-1])
    rows = jnp.where(at < j, x, 0)  # the columns that are done
    row = jnp.take(rows, j, -2)
    pivot = jnp.take(jnp.take(x, j, -2), j, -1).real - jnp.sum((row * jnp.conj(row)).real, -1)
    open_, fails = order == 0, ~(pivot > 0)
    root = jnp.sqrt(jnp.where(fails, 1, pivot))
    done = jnp.einsum("...ik,...k->...i", rows, jnp.conj(row), precision=lax.Precision.HIGHEST)
    column = jnp.take(x, j, -1)
    below = jnp.where(
        (open_ & ~fails)[..., None], (column - done) / root[..., None].astype(x.dtype), column
    )
    diagonal = jnp.where(fails, pivot, root).astype(x.dtype)
    on_it = open_[..., None] & (at == j)
    column = jnp.where(on_it, diagonal[..., None], jnp.where(at > j, below, column))
    x = jnp.where(at == j, column[..., None], x)
    return j + 1, x, jnp.where(open_ & fails, (j + 1).astype(np.int32), order)
