"""Linear equations: inv, solve, det, lstsq, pinv, and their forms in several dimensions."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jax import lax

from torchlike._core import dtypes, errors, layouts
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Input, OptFloat, OptInput, require_tensor
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.linalg.decompositions import (
    LinAlgError,
    adjoint,
    batch_element,
    raise_failure,
    require_matrix,
    require_no_nan,
    singular,
)
from torchlike._ops.linalg.lu import factored, singular_at
from torchlike._ops.memory_order import (
    in_columns,
    solution_from_left,
    solution_in_columns,
)
from torchlike._ops.outputs import write_out
from torchlike._ops.promotion import check_broadcast_shapes
from torchlike._ops.reduce.reduction import _named as named
from torchlike._ops.value_checks import refuse_where, values_of
from torchlike.tensor import Tensor


def _solved(a: Any, b: Any) -> tuple[Any, Any]:
    """Solve ``a @ x = b`` and return (x, info); a: (..., n, n), b: (..., n, k), batches equal.

    One LU factorization serves the forward and the gradient.
    """
    lu, _, permutation = factored(lax.stop_gradient(a))

    def with_factors(rhs: Any, transposed: bool) -> jax.Array:
        if not transposed:
            rows = jnp.take_along_axis(rhs, permutation[..., None], -2)
            y = lax.linalg.triangular_solve(
                lu, rows, left_side=True, lower=True, unit_diagonal=True
            )
            return lax.linalg.triangular_solve(lu, y, left_side=True, lower=False)
        y = lax.linalg.triangular_solve(lu, rhs, left_side=True, lower=False, transpose_a=True)
        y = lax.linalg.triangular_solve(
            lu, y, left_side=True, lower=True, transpose_a=True, unit_diagonal=True
        )
        back = jnp.argsort(permutation, -1)
        return jnp.take_along_axis(y, back[..., None], -2)

    x = lax.custom_linear_solve(
        lambda v: a @ v,
        b,
        solve=lambda _, rhs: with_factors(rhs, False),
        transpose_solve=lambda _, rhs: with_factors(rhs, True),
    )
    return x, singular_at(lu)


@op(
    "inv_ex_op",
    memory_order=in_columns,
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgInvExBackward0",
    autocast={"cpu": "float32"},
)
def inv_ex_op(input: Input):
    """Return the inverse and an info code."""
    require_matrix(input, "linalg.inv", square=True)
    identity = jnp.broadcast_to(jnp.eye(input.shape[-1], dtype=input.dtype), input.shape)
    return _solved(input, identity)


_INV_EX, _SOLVE_EX = named("linalg_inv_ex", "inverse info"), named("linalg_solve_ex", "result info")


def _raise_inverse(info: Tensor, name: str) -> None:
    raise_failure(
        info,
        f"{name}: {{batch}}The diagonal element {{code}} is zero, the inversion could not be "
        "completed because the input matrix is singular.",
    )


@composite(namespaces=("linalg",), method=False)
def inv_ex(A: Tensor, *, check_errors: Any = False, out: Any = None) -> Any:
    """Return the inverse and an info code instead of an error."""
    found = _INV_EX(*inv_ex_op(A))
    if check_errors:
        _raise_inverse(found.info, "linalg.inv_ex")
    return write_out(out, found)


@composite(namespaces=("linalg",), method=False, autocast={"cpu": "float32"})
def inv(A: Tensor, *, out: Any = None) -> Tensor:
    """Return the inverse of square matrices. LinAlgError for a singular one."""
    inverse_, info = inv_ex_op(A)
    _raise_inverse(info, "linalg.inv")
    return write_out(out, inverse_)


@composite(autocast={"cpu": "float32", "xla": "float32"})
def inverse(input: Tensor, *, out: Any = None) -> Tensor:
    """Compute ``linalg.inv``."""
    return inv(input, out=out)


def _is_vector(a: Any, b: Any) -> bool:
    """Return whether the right-hand side is a vector, or a batch of vectors, by PyTorch's rule."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])


@op(
    "solve_ex_op",
    memory_order=solution_from_left,
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgSolveExBackward0",
)
def solve_ex_op(A: Input, B: Input, left: Bool):
    """Solve ``A @ X = B`` and return the solution and an info code."""
    require_matrix(A, "linalg.solve", square=True)
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{scalar_type_of(A)} and B of type {scalar_type_of(B)} instead"
        )
    vector = _is_vector(A, B)
    rhs = B[..., None] if vector else B
    if not left:
        if vector:
            raise RuntimeError(
                "linalg.solve: Vector broadcasting of the left hand side is not supported for "
                "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)"
            )
        A, rhs = jnp.swapaxes(A, -1, -2), jnp.swapaxes(rhs, -1, -2)
    n = A.shape[-1]
    if rhs.shape[-2] != n:
        shapes = f"{n}x{n} and {rhs.shape[-2]}x{rhs.shape[-1]}"
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {equation} ({shapes})"
        )
    batch = jnp.broadcast_shapes(A.shape[:-2], rhs.shape[:-2])
    x, info = _solved(
        jnp.broadcast_to(A, (*batch, n, n)), jnp.broadcast_to(rhs, (*batch, *rhs.shape[-2:]))
    )
    if not left:
        x = jnp.swapaxes(x, -1, -2)
    return x[..., 0] if vector else x, info


def _raise_solve(info: Tensor, name: str) -> None:
    raise_failure(
        info,
        f"torch.linalg.{name}: {{batch}}The solver failed because the input matrix is singular.",
    )


@composite(namespaces=("linalg",), method=False)
def solve_ex(
    A: Tensor, B: Tensor, *, left: Any = True, check_errors: Any = False, out: Any = None
) -> Any:
    """Return the solution and an info code instead of an error."""
    found = _SOLVE_EX(*solve_ex_op(A, B, left))
    if check_errors:
        _raise_solve(found.info, "solve_ex")
    return write_out(out, found)


@composite(namespaces=("linalg",), method=False, autocast={"cpu": "float32"})
def solve(A: Tensor, B: Tensor, *, left: Any = True, out: Any = None) -> Tensor:
    """Return X with ``A @ X = B`` (``X @ A = B`` unless ``left``). LinAlgError for a singular
    matrix."""
    x, info = solve_ex_op(A, B, left)
    _raise_solve(info, "solve")
    return write_out(out, x)


@op(
    "solve_triangular_op",
    memory_order=solution_in_columns,
    namespaces=(),
    method=False,
    grad_name="LinalgSolveTriangularBackward0",
)
def solve_triangular_op(A: Input, B: Input, upper: Bool, left: Bool, unitriangular: Bool):
    """Solve with a triangular matrix."""
    require_matrix(A, "linalg.solve_triangular", square=True)
    require_matrix(B, "linalg.solve_triangular", "B")
    inner = B.shape[-2] if left else B.shape[-1]
    if inner != A.shape[-1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            "linalg.solve_triangular: Incompatible shapes of A and B for the equation "
            f"{equation} ({A.shape[-2]}x{A.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    batch = jnp.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    a = jnp.broadcast_to(A, (*batch, *A.shape[-2:]))
    b = jnp.broadcast_to(B, (*batch, *B.shape[-2:]))
    return lax.linalg.triangular_solve(
        a, b, left_side=left, lower=not upper, unit_diagonal=unitriangular
    )


@composite(namespaces=("linalg",), method=False, other_names={"input": "A"})
def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: Any,
    left: Any = True,
    unitriangular: Any = False,
    out: Any = None,
) -> Tensor:
    """Return X with ``A @ X = B`` for a triangular A; the other triangle is not looked at."""
    return solve_triangular_op(A, B, upper, left, unitriangular, out=out)


def _in_columns(a: Tensor) -> Tensor:
    """Return a copy whose memory lies column by column."""
    return a.mT.clone(memory_format=layouts.contiguous_format).mT


_TRIANGULAR_SOLVE = named("triangular_solve", "solution cloned_coefficient")


@composite(autocast={"cpu": "float32", "xla": "float32"})
def triangular_solve(
    input: Tensor,
    A: Tensor,
    upper: Any = True,
    transpose: Any = False,
    unitriangular: Any = False,
    *,
    out: Any = None,
) -> Any:
    """Return the solution of a triangular system, and the coefficients: a named pair. Of a sparse
    matrix, in compressed rows, no coefficients are copied."""
    require_tensor(A, "triangular_solve", "A", 2)
    is_dense = A.layout is layouts.strided
    if not is_dense and A.layout not in (layouts.sparse_csr, layouts.sparse_bsr):
        raise ValueError("triangular_solve: unsupported sparse layout.")
    a, is_upper = (A.mT, not upper) if transpose else (A, upper)
    solution = solve_triangular_op(a, input, is_upper, True, unitriangular)
    pair = (
        (solution, _in_columns(A)) if is_dense else (solution.contiguous(), solution.new_empty(0))
    )
    return write_out(out, _TRIANGULAR_SOLVE(*pair))


@op(
    "cholesky_solve_op",
    memory_order=solution_in_columns,
    casts_out=True,
    namespaces=(),
    method=False,
    grad_name="CholeskySolveBackward0",
    autocast={"cpu": "float32", "xla": "float32"},
)
def cholesky_solve_op(input: Input, input2: Input, upper: Bool):
    """Solve from a Cholesky factor."""
    for x in (input, input2):
        if x.ndim < 2:
            raise RuntimeError(
                f"{'b' if x is input else 'u'} should have at least 2 dimensions, but has "
                f"{x.ndim} dimensions instead"
            )
    if input.shape[-2] != input2.shape[-1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.shape[-1]} by "
            f"{input2.shape[-1]} but each b matrix is {input.shape[-2]} by {input.shape[-1]}"
        )
    factor = adjoint(input2) if upper else input2
    batch = jnp.broadcast_shapes(factor.shape[:-2], input.shape[:-2])
    b = jnp.broadcast_to(input, (*batch, *input.shape[-2:]))

    def with_factor(_: Any, rhs: Any) -> jax.Array:
        known = lax.stop_gradient(factor)
        y = solve_triangular_op.spec.fn(known, rhs, False, True, False)
        return solve_triangular_op.spec.fn(adjoint(known), y, True, True, False)

    # As in PyTorch, the gradient is that of L @ L.mH with a full L, though one triangle is read.
    real = dtypes.kind_of(factor.dtype) == "f"
    return lax.custom_linear_solve(
        lambda v: factor @ (adjoint(factor) @ v),
        b,
        with_factor,
        symmetric=real,
        transpose_solve=None if real else (lambda _, rhs: jnp.conj(with_factor(_, jnp.conj(rhs)))),
    )


@composite()
def cholesky_solve(input: Tensor, input2: Tensor, upper: Any = False, *, out: Any = None) -> Tensor:
    """Return X with ``(L @ L.mH) @ X = input`` from the Cholesky factor L = ``input2``."""
    return cholesky_solve_op(input, input2, upper, out=out)


def _require_no_zero(input: Any, _: Any) -> None:
    """Refuse, with LinAlgError, a factor with a zero on its diagonal."""
    if input.ndim < 2 or input.shape[-1] != input.shape[-2]:
        return  # of which the op itself speaks
    zero = values_of(input).diagonal(0, -2, -1) == 0
    if not zero.size:
        return
    refuse_where(
        zero.any(-1),
        LinAlgError,
        f"cholesky_inverse: {batch_element(input.ndim - 2)}The diagonal element {{0}} is zero, "
        "the inversion could not be completed because the input matrix is singular.",
        zero.argmax(-1) + 1,
    )


@op(
    "cholesky_inverse_op",
    check=_require_no_zero,
    memory_order=in_columns,
    casts_out=True,
    namespaces=(),
    method=False,
    grad_name="CholeskyInverseBackward0",
    autocast={"cpu": "float32", "xla": "float32"},
)
def cholesky_inverse_op(input: Input, upper: Bool):
    """Return the inverse from a Cholesky factor."""
    require_matrix(input, "cholesky_inverse", square=True)
    identity = jnp.eye(input.shape[-1], dtype=input.dtype)
    return cholesky_solve_op.spec.fn(identity, input, upper)


@composite()
def cholesky_inverse(input: Tensor, upper: Any = False, *, out: Any = None) -> Tensor:
    """Return the inverse of a matrix from its Cholesky factor."""
    return cholesky_inverse_op(input, upper, out=out)


# -- determinants ----------------------------------------------------------------------------------


@op(namespaces=("", "linalg"), residuals=True, other_names={"input": "A"})
def det(A: Input):
    """Return the determinant of square matrices."""
    require_matrix(A, "linalg.det", square=True)
    if not A.shape[-1]:
        return jnp.ones(A.shape[:-2], A.dtype)
    return jnp.linalg.det(A)


def _slogdet(x: Any) -> tuple[Any, Any]:
    """Compute ``jnp.linalg.slogdet``, and return NaN for a matrix with NaN that it finds
    singular."""
    sign, logarithm = jnp.linalg.slogdet(x)
    unknown = jnp.isnan(lax.stop_gradient(x)).any((-2, -1)) & (sign == 0)
    return sign, jnp.where(unknown, jnp.nan, logarithm)


@op("slogdet_op", namespaces=(), method=False, residuals=True, grad_name="LinalgSlogdetBackward0")
def slogdet_op(A: Input):
    """Return the sign and the logarithm of the absolute value of the determinant."""
    require_matrix(A, "linalg.slogdet", square=True)
    sign, logarithm = _slogdet(A)
    if A.dtype.kind != "c":
        # The sign of NaN is 0. XLA counts the signs of pivots, of which NaN has one.
        sign = jnp.where(jnp.isnan(sign) | jnp.isnan(logarithm), 0, sign)
    return sign, logarithm


_SLOGDET, _LINALG_SLOGDET = (named(n, "sign logabsdet") for n in ("slogdet", "linalg_slogdet"))


@composite("slogdet", namespaces=("linalg",), method=False)
def linalg_slogdet(A: Tensor, *, out: Any = None) -> Any:
    """Return the sign and the logarithm of the absolute value of the determinant: a named pair."""
    return write_out(out, _LINALG_SLOGDET(*slogdet_op(A)))


@composite()
def slogdet(input: Tensor, *, out: Any = None) -> Any:
    """Compute ``linalg.slogdet``."""
    return write_out(out, _SLOGDET(*slogdet_op(input)))


@op(residuals=True)
def logdet(input: Input):
    """Return the logarithm of the determinant; NaN where it is negative."""
    require_matrix(input, "logdet", square=True)
    sign, logarithm = _slogdet(input)
    if input.dtype.kind == "c":
        return logarithm + jnp.log(sign)
    return jnp.where(sign < 0, jnp.nan, logarithm)


# -- least squares and rank ------------------------------------------------------------------------


def _cutoff(largest: Any, shape: tuple[int, ...], atol: Any, rtol: Any) -> jax.Array:
    """Return max(atol, rtol * largest); rtol is max(m, n) * eps unless a tolerance is given."""
    atol_value = jnp.zeros((), largest.dtype) if atol is None else jnp.asarray(atol)
    if rtol is None:
        default = jnp.finfo(largest.dtype).eps * max(shape[-2:])
        rtol = default if atol is None else jnp.where(atol_value > 0, 0.0, default)
    rtol = jnp.asarray(rtol).astype(largest.dtype)
    return jnp.maximum(atol_value.astype(largest.dtype), rtol * largest)


def _hermitian_values(x: Any) -> tuple[Any, Any]:
    vectors, values = lax.linalg.eigh(x, lower=True, symmetrize_input=False)
    return vectors, values


def pseudoinverse(a: Any, atol: Any, rtol: Any, hermitian: Any) -> jax.Array:
    """Return the Moore-Penrose inverse; its gradient is that of constant rank (Golub and Pereyra
    1973)."""

    @jax.custom_jvp
    def of(a: Any) -> jax.Array:
        if hermitian:
            u, s = _hermitian_values(a)
            size = jnp.abs(s)
            vh = adjoint(u)
        else:
            u, s, vh = singular(a)
            size = s
        largest = jnp.max(size, -1, keepdims=True, initial=0)
        keep = size > _cutoff(largest, a.shape, atol, rtol)
        inverted = jnp.where(keep, 1 / jnp.where(keep, s, 1), 0)
        return adjoint(vh) @ (inverted[..., None].astype(a.dtype) * adjoint(u))

    @of.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, ...]:
        (a,), (da,) = primals, tangents
        p = of(a)
        m, n = a.shape[-2:]
        left = jnp.eye(m, dtype=a.dtype) - a @ p
        right = jnp.eye(n, dtype=a.dtype) - p @ a
        dah = adjoint(da)
        change = -p @ da @ p + p @ adjoint(p) @ dah @ left + right @ dah @ adjoint(p) @ p
        return p, change

    return of(a)


def _check_not_nan(A: Any, atol: Any, rtol: Any, hermitian: Any) -> None:
    if not hermitian:
        require_no_nan(A)


@op(
    "pinv_op",
    check=_check_not_nan,
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgPinvBackward0",
    autocast={"cpu": "float32"},
)
def pinv_op(A: Input, atol: OptInput, rtol: OptInput, hermitian: Bool):
    """Return the pseudoinverse."""
    require_matrix(A, "linalg.pinv", square=hermitian)
    return pseudoinverse(A, _per_matrix(atol), _per_matrix(rtol), hermitian)


def _per_matrix(tolerance: Any) -> jax.Array | None:
    """Return a batch of tolerances, shaped to stand beside singular values."""
    return tolerance[..., None] if tolerance is not None and tolerance.ndim else tolerance


def _tolerance(value: Any, like: Tensor) -> Tensor | None:
    if value is None or isinstance(value, Tensor):
        return value
    return like.new_tensor(float(value), dtype=like.dtype.to_real())


@composite(namespaces=("linalg",), method=False, other_names={"input": "A"})
def pinv(
    A: Tensor,
    rcond: Any = None,
    hermitian: Any = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Tensor:
    """Return the pseudoinverse; singular values not above ``max(atol, rtol * largest)`` count as
    zero."""
    rtol = rcond if rtol is None else rtol
    found = pinv_op(A, _tolerance(atol, A), _tolerance(rtol, A), hermitian)
    return write_out(out, found, cast=True)


@composite(autocast={"cpu": "float32"})
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """Compute ``linalg.pinv`` with ``rtol=rcond``."""
    require_tensor(input, "pinverse")
    return pinv(input, rcond)


@op(
    "matrix_rank_op",
    check=_check_not_nan,
    namespaces=(),
    method=False,
    differentiable=False,
    autocast={"cpu": "float32"},
)
def matrix_rank_op(A: Input, atol: OptInput, rtol: OptInput, hermitian: Bool):
    """Count the singular values that are not negligible."""
    require_matrix(A, "linalg.matrix_rank", square=hermitian)
    s = jnp.abs(_hermitian_values(A)[1]) if hermitian else (singular(A, compute_uv=False))
    largest = jnp.max(s, -1, keepdims=True, initial=0)
    cutoff = _cutoff(largest, A.shape, _per_matrix(atol), _per_matrix(rtol))
    return jnp.sum(s > cutoff, -1).astype(np.int64)


@composite(namespaces=("linalg",), method=False, other_names={"input": "A"})
def matrix_rank(
    A: Tensor,
    tol: Any = None,
    hermitian: Any = False,
    *,
    atol: Any = None,
    rtol: Any = None,
    out: Any = None,
) -> Tensor:
    """Count the singular values above ``max(atol, rtol * largest)``."""
    if tol is not None:
        atol, rtol = tol, 0.0
    found = matrix_rank_op(A, _tolerance(atol, A), _tolerance(rtol, A), hermitian)
    return write_out(out, found, cast=True)


@op(
    "lstsq_op",
    memory_order=solution_in_columns,
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgLstsqBackward0",
    autocast={"cpu": "float32"},
)
def lstsq_op(A: Input, B: Input, rcond: OptFloat):
    """Return the least-squares solution of least norm, the rank and the singular values."""
    for argument, x, least in (("input", A, 2), ("other", B, 1)):
        if x.ndim < least:
            raise RuntimeError(
                f"torch.linalg.lstsq: {argument} must have at least {least} "
                f"dimension{'s' * (least > 1)}."
            )
    require_matrix(A, "torch.linalg.lstsq", "input")
    if A.ndim - B.ndim not in (0, 1):
        raise RuntimeError(
            "torch.linalg.lstsq: input.dim() must be greater or equal to other.dim() and "
            "(input.dim() - other.dim()) <= 1"
        )
    if A.dtype != B.dtype:
        raise RuntimeError(
            "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
            f"dtype {scalar_type_of(A)} and other's dtype {scalar_type_of(B)}"
        )
    vector = _is_vector(A, B)
    b = B[..., None] if vector else B
    if b.shape[-2] != A.shape[-2]:
        at = "-1" if vector else "-2"
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({at})")
    check_broadcast_shapes(A.shape[:-2], b.shape[:-2])
    rtol = None if rcond is None else jnp.asarray(rcond)
    solution = pseudoinverse(A, None, rtol, False) @ b
    s = singular(lax.stop_gradient(A), compute_uv=False)
    largest = jnp.max(s, -1, keepdims=True, initial=0)
    rank = jnp.sum(s > _cutoff(largest, A.shape, None, rtol), -1).astype(np.int64)
    difference = A @ solution - b
    residuals = jnp.sum((difference * jnp.conj(difference)).real, -2)
    return (solution[..., 0] if vector else solution), residuals, rank, s


_LSTSQ = named("linalg_lstsq", "solution residuals rank singular_values")
_DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _rcond(rcond: Any, driver: str, dtype: Any) -> float:
    """Return the ratio to the largest singular value above which LAPACK's driver keeps a singular
    value."""
    if driver == "gels":
        return 0.0  # takes full rank for granted
    eps = dtypes.finfo(dtype).eps
    if driver == "gelsd":
        return rcond if 0 < rcond < 1 else eps / 2
    if driver == "gelss":
        return rcond if rcond >= 0 else eps
    return min(rcond, 1.0) * (1 - eps)  # what is at the tolerance counts, and the largest always


@composite("lstsq", namespaces=("linalg",), method=False, other_names={"input": "A"})
def linalg_lstsq(
    A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None, out: Any = None
) -> Any:
    """Return the X that makes ``|A @ X - B|`` least (of least norm), residuals, rank and singular
    values.

    As in PyTorch, residuals are given for tall matrices of full rank (not by "gelsy", the default
    driver), singular values by "gelsd" and "gelss". What counts as zero besides is said by
    ``rcond``, relative to the largest singular value, as LAPACK's driver of that name takes it: a
    value out of (0, 1) ("gelsd") or below 0 ("gelss") means the precision of the dtype.

    Differs from PyTorch: "gelsy" drops small singular values, and not small columns of a QR
    decomposition.
    """
    driver = "gelsy" if driver is None else driver
    if driver not in _DRIVERS:
        raise RuntimeError(
            "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)"
        )
    tolerance = None if rcond is None and driver != "gels" else _rcond(rcond, driver, A.dtype)
    solution, residuals, rank, s = lstsq_op(A, B, tolerance)
    nothing = A.new_empty(0, dtype=A.dtype.to_real())
    m, n = A.shape[-2:]
    full = driver == "gels" or (driver != "gelsy" and bool((rank == n).all()))
    found = _LSTSQ(
        solution,
        residuals if m > n and full else nothing,
        rank if driver != "gels" else A.new_empty(0, dtype=rank.dtype),
        s.detach() if driver in ("gelsd", "gelss") else nothing,
    )
    return write_out(out, found, cast=True)


# -- in several dimensions -------------------------------------------------------------------------


@composite(
    namespaces=("linalg",), method=False, autocast={"cpu": "float32"}, other_names={"input": "A"}
)
def tensorinv(A: Tensor, ind: int = 2, *, out: Any = None) -> Tensor:
    """Return the inverse for tensordot over the first ``ind`` dimensions."""
    require_tensor(A, "linalg_tensorinv", "A")
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    head, tail = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(head) != math.prod(tail):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {math.prod(tail)} != {math.prod(head)}"
        )
    n = math.prod(head)
    return write_out(out, inv(A.reshape(n, n)).reshape(tail + head), cast=True)


@composite(
    namespaces=("linalg",), method=False, autocast={"cpu": "float32"}, other_names={"input": "A"}
)
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None, *, out: Any = None) -> Tensor:
    """Return X with ``tensordot(A, X, X.ndim) == B``."""
    require_tensor(A, "linalg_tensorsolve")
    require_tensor(B, "linalg_tensorsolve", "other", 2)
    if dims is not None:
        last = [errors.wrap_dim(d, A.dim()) for d in dims]
        A = A.permute([d for d in range(A.dim()) if d not in last] + last)
    shape = tuple(A.shape[B.dim() :])
    n = math.prod(shape)
    if n != B.numel():
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {n} != {B.numel()}"
        )
    return write_out(out, solve(A.reshape(n, n), B.reshape(-1)).reshape(shape), cast=True)
