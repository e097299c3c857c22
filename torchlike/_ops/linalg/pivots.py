"""Pivots of factorizations, which say where rows went: what they must be.

Where a pivot names a row that there is not, LAPACK reads and writes outside of the matrix, and XLA
takes another row.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from torchlike._ops.value_checks import refuse_where, values_of


def require_shape(pivots: Any, shape: tuple[int, ...], name: str, matrix: str) -> None:
    """Raise RuntimeError unless there is one pivot for each column of each matrix."""
    if pivots.shape != shape:
        raise RuntimeError(
            f"{name}: Expected {matrix}.shape[:-1] and pivots.shape to be the same, but got "
            f"pivots with shape {list(pivots.shape)} instead"
        )


def _refuse_outside(pivots: Any, matrix: Any, low: str, high: str) -> None:
    """Refuse, with RuntimeError, a pivot below 1, in the words ``low``, or beyond the matrix' rows,
    in the words ``high``."""
    if pivots.dtype.kind not in "iu" or matrix.ndim < 2:
        return  # what else is wrong, the op itself says
    refuse_where(pivots < 1, RuntimeError, low)
    refuse_where(pivots > matrix.shape[-2], RuntimeError, high)


def or_nan(found: Any, pivots: Any, rows: int) -> jax.Array:
    """Return ``found`` for each matrix; NaN where its pivots are not rows of it, for which a
    compiled program cannot raise."""
    good = ((pivots >= 1) & (pivots <= rows)).all(-1)
    return jnp.where(good[..., None, None], found, jnp.nan)


def check_unpacked(lu: Any, pivots: Any) -> None:
    """Check the pivots of ``lu_unpack``."""
    words = (
        "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
        "Did you properly pass the result of lu_factor?"
    )
    _refuse_outside(values_of(pivots), lu, words, words)


def check_solved(lu: Any, pivots: Any, *_: Any) -> None:
    """Check the pivots of ``lu_solve``."""
    low, high = (
        f"Pivots given to lu_solve must all be {limit}. "
        "Did you properly pass the result of lu_factor?"
        for limit in ("greater or equal to 1", "smaller or equal to LU.size(-2)")
    )
    _refuse_outside(values_of(pivots), lu, low, high)


def check_indefinite(ld: Any, pivots: Any, *_: Any) -> None:
    """Check the pivots of ``ldl_solve``, where negative pivots stand for blocks of two."""
    low, high = (
        f"Pivots given to ldl_solve must all satisfy {limit}. "
        "Did you properly pass the result of ldl_factor?"
        for limit in ("|pivot| >= 1", "|pivot| <= LD.size(-2)")
    )
    _refuse_outside(abs(values_of(pivots)), ld, low, high)
