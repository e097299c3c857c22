"""Pivots of factorizations, which say where rows went: what they must be.

Where a pivot names a row that there is not, LAPACK reads and writes outside of the matrix, and XLA
takes another row.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def require_shape(pivots: Any, shape: tuple[int, ...], name: str, matrix: str) -> None:
    """RuntimeError unless there is one pivot for each column of each matrix."""
    if pivots.shape != shape:
        raise RuntimeError(
            f"{name}: Expected {matrix}.shape[:-1] and pivots.shape to be the same, but got "
            f"pivots with shape {list(pivots.shape)} instead"
        )


def outside(pivots: Any, matrix: Any) -> str | None:
    """ "low" where a pivot is below 1, "high" where one is beyond the matrix' rows, or None."""
    values = np.asarray(pivots)
    if values.dtype.kind not in "iu" or not values.size or matrix.ndim < 2:
        return None  # what else is wrong, the op itself says
    if values.min() < 1:
        return "low"
    return "high" if values.max() > matrix.shape[-2] else None


def or_nan(found: Any, pivots: Any, rows: int) -> jax.Array:
    """``found``, for each matrix; NaN where its pivots are no rows, which a compiled program cannot
    raise for."""
    good = ((pivots >= 1) & (pivots <= rows)).all(-1)
    return jnp.where(good[..., None, None], found, jnp.nan)


def check_unpacked(lu: Any, pivots: Any) -> None:
    """The check of ``lu_unpack``."""
    if outside(pivots, lu):
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
            "Did you properly pass the result of lu_factor?"
        )


def check_solved(lu: Any, pivots: Any, *_: Any) -> None:
    """The check of ``lu_solve``."""
    where = outside(pivots, lu)
    if where:
        limit = "greater or equal to 1" if where == "low" else "smaller or equal to LU.size(-2)"
        raise RuntimeError(
            f"Pivots given to lu_solve must all be {limit}. "
            "Did you properly pass the result of lu_factor?"
        )


def check_indefinite(ld: Any, pivots: Any, *_: Any) -> None:
    """The check of ``ldl_solve``, where negative pivots stand for blocks of two."""
    where = outside(np.abs(np.asarray(pivots)), ld)
    if where:
        limit = "|pivot| >= 1" if where == "low" else "|pivot| <= LD.size(-2)"
        raise RuntimeError(
            f"Pivots given to ldl_solve must all satisfy {limit}. "
            "Did you properly pass the result of ldl_factor?"
        )
