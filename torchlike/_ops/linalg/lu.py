"""The LU factorization: factors and pivots, what they unpack to, what they solve."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Input
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.linalg import pivots as pivots_of
from torchlike._ops.linalg.decompositions import (
    adjoint,
    raise_failure,
    require_matrix,
    require_matrix_shape,
)
from torchlike._ops.memory_order import in_columns, solution_from_left
from torchlike._ops.outputs import write_out
from torchlike._ops.reduce.reduction import _named as named
from torchlike.tensor import Tensor


@op(
    "lu_factor_op",
    memory_order=in_columns,
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgLuFactorExBackward0",
    autocast={"cpu": "float32"},
)
def lu_factor_op(input: Input):
    """Return L and U in one matrix, pivots (counted from 1), and an info code."""
    require_matrix(input, "linalg.lu_factor")
    lu, pivots, _ = factored(input)
    return lu, (pivots + 1).astype(np.int32), singular_at(lu)


def factored(x: Any) -> tuple[Any, Any, Any]:
    """Return the results of ``lax.linalg.lu``, and NaN wherever a pivot that is NaN leads: LAPACK
    takes such a pivot for a zero, and goes on with the numbers that are there."""
    lu, pivots, permutation = lax.linalg.lu(x)
    unknown = jnp.isnan(jnp.diagonal(lax.stop_gradient(lu), axis1=-2, axis2=-1))
    if not unknown.shape[-1]:
        return lu, pivots, permutation
    first = jnp.where(unknown.any(-1), jnp.argmax(unknown, -1), max(lu.shape[-2:]))[..., None, None]
    rows, columns = jnp.arange(lu.shape[-2])[:, None], jnp.arange(lu.shape[-1])
    return jnp.where((rows > first) & (columns >= first), jnp.nan, lu), pivots, permutation


def singular_at(lu: Any) -> jax.Array:
    """Return per matrix 0, or which diagonal element of U (counted from 1) is the first that is
    zero."""
    zero = jnp.diagonal(lax.stop_gradient(lu), axis1=-2, axis2=-1) == 0
    if not zero.shape[-1]:
        return jnp.zeros(zero.shape[:-1], np.int32)
    return jnp.where(zero.any(-1), jnp.argmax(zero, -1) + 1, 0).astype(np.int32)


def _require_pivot(pivot: Any, name: str) -> None:
    if not pivot:
        raise RuntimeError(f"{name}: LU without pivoting is not implemented on the CPU")


_LU_FACTOR = named("linalg_lu_factor", "LU pivots")
_LU_FACTOR_EX = named("linalg_lu_factor_ex", "LU pivots info")
_LINALG_LU = named("linalg_lu", "P L U")
_LU_UNPACK = named("lu_unpack", "P L U")


@composite(namespaces=("linalg",), method=False)
def lu_factor_ex(
    A: Tensor, *, pivot: Any = True, check_errors: Any = False, out: Any = None
) -> Any:
    """Return the compact LU factorization with pivots and an info code instead of an error."""
    _require_pivot(pivot, "linalg.lu_factor")
    found = _LU_FACTOR_EX(*lu_factor_op(A))
    if check_errors:
        _raise_lu(found.info, "lu_factor_ex")
    return write_out(out, found)


def _raise_lu(info: Tensor, name: str) -> None:
    raise_failure(
        info,
        f"torch.linalg.{name}: {{batch}}U[{{code}},{{code}}] is zero and using it on lu_solve "
        "would result in a division by zero. If you still want to perform the factorization, "
        "consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)",
        RuntimeError,
    )


@composite(namespaces=("linalg",), method=False)
def lu_factor(A: Tensor, *, pivot: Any = True, out: Any = None) -> Any:
    """Return the compact LU factorization with pivots. RuntimeError for a singular matrix."""
    lu, pivots, info = lu_factor_ex(A, pivot=pivot)
    _raise_lu(info, "lu_factor")
    return write_out(out, _LU_FACTOR(lu, pivots))


@op("lu_unpack_op", namespaces=(), method=False, needs="nothing", grad_name="LuUnpackBackward0")
def lu_unpack_op(lu: Input):
    """Return L and U from the compact form."""
    require_matrix_shape(lu, "torch.lu_unpack", "LU_data")
    rows, columns = lu.shape[-2:]
    k = min(rows, columns)
    lower = jnp.tril(lu[..., :k], -1) + jnp.eye(rows, k, dtype=lu.dtype)
    return lower, jnp.triu(lu[..., :k, :])


@op(
    "lu_permutation",
    namespaces=(),
    method=False,
    differentiable=False,
    check=pivots_of.check_unpacked,
)
def lu_permutation(lu: Input, pivots: Input):
    """Return the permutation matrix P of the pivots, in the dtype of ``lu``."""
    require_matrix_shape(lu, "torch.lu_unpack", "LU_data")
    if pivots.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 "
            "dtype. Note: this function is intended to be used with the output produced by "
            "torch.linalg.lu_factor"
        )
    rows = lu.shape[-2]
    each = (*lu.shape[:-2], min(lu.shape[-2:]))
    pivots_of.require_shape(pivots, each, "torch.lu_unpack", "LU_data")
    permutation = lax.linalg.lu_pivots_to_permutation(pivots - 1, rows)
    # Row permutation[i] of A is row i of L @ U.
    p = jnp.swapaxes(jnp.eye(rows, dtype=lu.dtype)[permutation], -1, -2)
    return pivots_of.or_nan(p, pivots, rows)


@composite(method=False)
def lu_unpack(
    LU_data: Tensor,
    LU_pivots: Tensor,
    unpack_data: Any = True,
    unpack_pivots: Any = True,
    *,
    out: Any = None,
) -> Any:
    """Return P, L and U from the compact LU form (empty where not asked for)."""
    nothing = LU_data.new_empty(0)
    return write_out(
        out,
        _LU_UNPACK(
            lu_permutation(LU_data, LU_pivots) if unpack_pivots else nothing,
            *(lu_unpack_op(LU_data) if unpack_data else (nothing, nothing)),
        ),
    )


@composite("lu", namespaces=("linalg",), method=False, autocast={"cpu": "float32"})
def linalg_lu(A: Tensor, *, pivot: Any = True, out: Any = None) -> Any:
    """Return P, L and U with ``A = P @ L @ U``."""
    _require_pivot(pivot, "linalg.lu")
    lu, pivots, _ = lu_factor_op(A)
    return write_out(out, _LINALG_LU(lu_permutation(lu, pivots), *lu_unpack_op(lu)))


@composite(python_signature=True)
def lu(A: Tensor, pivot: Any = True, get_infos: Any = False, out: Any = None) -> Any:
    """Return the compact LU factorization and pivots (and info codes): a tuple."""
    found = lu_factor_ex(A, pivot=pivot)
    return write_out(out, tuple(found) if get_infos else tuple(found)[:2], cast="any")


def _require_factors(LU: Any, pivots: Any, B: Any, left: bool) -> None:
    """Raise RuntimeError unless ``lu_solve`` can work with these factors, pivots and right-hand
    side."""
    name = "linalg.lu_solve"
    require_matrix(LU, name, "LU", square=True)
    require_matrix_shape(B, name, "B")
    if pivots.dtype != np.int32:
        raise RuntimeError(f"{name}: pivots should be a Tensor of scalar type torch.int32")
    if LU.dtype != B.dtype:
        raise RuntimeError(
            f"{name}: Expected LU and B to have the same dtype, but found LU of type "
            f"{scalar_type_of(LU)} and B of type {scalar_type_of(B)} instead"
        )
    if pivots.shape[-1:] != LU.shape[-1:]:
        raise RuntimeError(
            f"{name}: Number of pivots per batch should be same as the dimension of the matrix"
        )
    pivots_of.require_shape(pivots, LU.shape[:-1], name, "LU")
    (n, _), (rows, columns) = LU.shape[-2:], B.shape[-2:]
    if n != (rows if left else columns):
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} "
            f"({n}x{n} and {rows}x{columns})"
        )


@op(
    "lu_solve_op",
    check=pivots_of.check_solved,
    memory_order=solution_from_left,
    namespaces=(),
    method=False,
    grad_name="LinalgLuSolveBackward0",
    autocast={"cpu": "float32"},
)
def lu_solve_op(LU: Input, pivots: Input, B: Input, left: Bool, adjoint_: Bool):
    """Solve from a compact LU factorization."""
    _require_factors(LU, pivots, B, left)
    if not left:  # X A = B is A^H X^H = B^H
        return adjoint(lu_solve_op.spec.fn(LU, pivots, adjoint(B), True, not adjoint_))
    B = pivots_of.or_nan(B, pivots, LU.shape[-1])
    batch = jnp.broadcast_shapes(LU.shape[:-2], B.shape[:-2])
    lu = jnp.broadcast_to(LU, (*batch, *LU.shape[-2:]))
    b = jnp.broadcast_to(B, (*batch, *B.shape[-2:]))
    rows = lax.linalg.lu_pivots_to_permutation(pivots - 1, LU.shape[-1])
    rows = jnp.broadcast_to(rows, (*batch, rows.shape[-1]))[..., None]
    solve_with = functools.partial(lax.linalg.triangular_solve, lu, left_side=True)
    if not adjoint_:
        y = solve_with(jnp.take_along_axis(b, rows, -2), lower=True, unit_diagonal=True)
        return solve_with(y, lower=False)
    y = solve_with(b, lower=False, transpose_a=True, conjugate_a=True)
    y = solve_with(y, lower=True, transpose_a=True, conjugate_a=True, unit_diagonal=True)
    return jnp.take_along_axis(y, jnp.argsort(rows, -2), -2)


@composite("lu_solve", namespaces=("linalg",), method=False)
def linalg_lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: Any = True,
    adjoint: Any = False,
    out: Any = None,
) -> Tensor:
    """Return X with ``A @ X = B`` from the compact LU factorization of A."""
    return lu_solve_op(LU, pivots, B, left, adjoint, out=out)


@composite(other_names={"input": "b"})
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
    """Compute ``linalg.lu_solve``."""
    return lu_solve_op(LU_data, LU_pivots, b, True, False, out=out)
