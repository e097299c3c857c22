"""The square root of a positive-definite matrix, and the polar decomposition, which rests on it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input
from torchlike._ops.linalg.decompositions import (
    adjoint,
    require_matrix,
    require_no_nan,
    singular,
)
from torchlike._ops.outputs import write_out
from torchlike._ops.reduce.reduction import _named as named
from torchlike.tensor import Tensor


@jax.custom_jvp
def _sylvester(x: Any, right: Any) -> jax.Array:
    """Return the S with ``x S + S x = right``, of a positive-definite ``x``."""
    vectors, values = lax.linalg.eigh(x, symmetrize_input=False)
    inside = adjoint(vectors) @ right @ vectors
    sums = values[..., :, None] + values[..., None, :]
    return vectors @ (inside / sums.astype(inside.dtype)) @ adjoint(vectors)


@_sylvester.defjvp
def _sylvester_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x, right), (dx, dright) = primals, tangents
    solution = _sylvester(x, right)
    return solution, _sylvester(x, dright - dx @ solution - solution @ dx)


@jax.custom_jvp
def _root(x: Any) -> jax.Array:
    vectors, values = lax.linalg.eigh(x, symmetrize_input=False)
    roots = jnp.sqrt(jnp.maximum(values, 0)).astype(x.dtype)
    return (vectors * roots[..., None, :]) @ adjoint(vectors)


@_root.defjvp
def _root_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (dx,) = primals, tangents
    root = _root(x)
    return root, _sylvester(root, (dx + adjoint(dx)) / 2)


@op(namespaces=("linalg",), method=False, residuals=True, grad_name="LinalgMatrixSqrthBackward0")
def matrix_sqrth(A: Input):
    """Return the positive-definite square root of symmetric (Hermitian) positive-definite matrices;
    looks at the lower triangle only.

    ``A`` is (..., n, n) of float32, float64 or complex numbers, and so is the result. A negative
    eigenvalue counts as 0. RuntimeError for another shape or dtype.

    Example:
      >>> torch.linalg.matrix_sqrth(torch.diag(torch.tensor([4.0, 9.0])))
      tensor([[2., 0.],
              [0., 3.]])
    """
    require_matrix(A, "linalg.matrix_sqrth", square=True)
    return _root(A)


@jax.custom_jvp
def _polar(x: Any) -> tuple[Any, Any]:
    left, values, right = singular(x)
    return left @ right, (adjoint(right) * values[..., None, :].astype(x.dtype)) @ right


@_polar.defjvp
def _polar_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Compute dH and dU from ``U^H dA = W H + dH``, where W = U^H dU is skew and dH Hermitian; what
    of dA lies outside the columns of U turns these: it goes to dU alone."""
    (x,), (dx,) = primals, tangents
    u, h = _polar(x)
    inside = adjoint(u) @ dx
    turn = _sylvester(h, inside - adjoint(inside))
    outside = dx - u @ inside
    du = u @ turn + adjoint(jnp.linalg.solve(h, adjoint(outside)))
    return (u, h), (du, inside - turn @ h)


@op(
    "polar_op",
    check=require_no_nan,
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgPolarBackward0",
)
def polar_op(A: Input):
    """Return the orthonormal and the positive factor of matrices with no more columns than rows."""
    require_matrix(A, "linalg.polar")
    rows, columns = A.shape[-2:]
    if rows < columns:
        raise RuntimeError(
            "linalg.polar: input must have at least as many rows as columns, but got "
            f"{rows} by {columns} matrices"
        )
    return _polar(A)


_POLAR = named("linalg_polar", "U H")


@composite("polar", namespaces=("linalg",), method=False)
def linalg_polar(A: Tensor, *, out: Any = None) -> Any:
    """Return U (m, n), whose columns are orthonormal, and H (n, n), positive-semidefinite, with
    ``A = U @ H``, of matrices (..., m, n) with m >= n.

    RuntimeError for wide matrices and dtypes of 16 bits; LinAlgError for NaN and infinities.

    Example:
      >>> u, h = torch.linalg.polar(torch.tensor([[0.0, 2.0], [-3.0, 0.0]]))
      >>> (u @ h).round()
      tensor([[ 0.,  2.],
              [-3.,  0.]])
    """
    return write_out(out, _POLAR(*polar_op(A)))
