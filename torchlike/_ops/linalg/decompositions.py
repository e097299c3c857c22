"""Matrix decompositions: cholesky, qr, eigh, eig, svd."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite, export, op
from torchlike._core.dispatch.schema import Bool, Input, Str
from torchlike._extensions import boxes
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.linalg.partial_cholesky import completed
from torchlike._ops.memory_order import in_columns
from torchlike._ops.outputs import write_out
from torchlike._ops.reduce.reduction import _named as named
from torchlike._ops.value_checks import refuse_tensor, refuse_where, values_of
from torchlike._runtime import targets
from torchlike._runtime.lazy import LazyModule
from torchlike._runtime.reference import follows
from torchlike.tensor import Tensor

#: SciPy's way to LAPACK.
lapack = LazyModule("scipy.linalg")


class LinAlgError(RuntimeError):
    """A matrix has no solution, inverse or factorization."""


export(LinAlgError, "LinAlgError", ("linalg",))


def require_matrix_shape(x: Any, name: str, argument: str = "A", *, square: Any = False) -> None:
    """Raise RuntimeError unless ``x`` is a (batch of) matrix, square if asked."""
    if x.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {x.shape[-2]} by "
            f"{x.shape[-1]} matrices"
        )


def require_matrix(x: Any, name: str, argument: str = "A", *, square: Any = False) -> None:
    """Raise RuntimeError unless ``x`` is a floating (batch of) matrix, square if asked."""
    require_matrix_shape(x, name, argument, square=square)
    if dtypes.kind_of(x.dtype) not in "fc":
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {scalar_type_of(x)}"
        )
    if x.dtype.itemsize == 2:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {scalar_type_of(x)}")


def adjoint(x: Any) -> jax.Array:
    """Return the conjugate transpose of the last two axes."""
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def batch_element(batch_dims: int) -> str:
    """Return the words by which an error names a matrix of a batch, with ``{at}`` for its place;
    none where there is no batch."""
    return "(Batch element {at}): " if batch_dims else ""


def raise_failure(info: Tensor, words: str, error: type[Exception] = LinAlgError) -> None:
    """Raise ``error`` for the first nonzero info: ``words`` with {batch} and {code} filled in."""
    if not info.is_meta:
        info = boxes.innermost(info)
    words = words.format(batch=batch_element(info.dim()), code="{0}")
    refuse_tensor(info, _is_not_zero, error, words)


def _is_not_zero(codes: Any) -> Any:
    return codes != 0


def require_no_nan(input: Any, *_: Any) -> None:
    """Refuse, with LinAlgError, matrices with NaN, of which PyTorch's SVD does not converge; of
    infinities it is NaN."""
    if input.ndim < 2:
        return  # of which the op itself speaks
    values = values_of(input)
    refuse_where(
        (values != values).any((-2, -1)),
        LinAlgError,
        f"linalg.svd: {batch_element(input.ndim - 2)}The algorithm failed to converge because the "
        "input matrix contained non-finite values.",
    )


def _require_finite(input: Any) -> None:
    values = values_of(input)
    refuse_where(
        ~(abs(values) < np.inf),
        RuntimeError,
        "torch.linalg.eig: input tensor should not contain infs or NaNs.",
    )


# -- cholesky --------------------------------------------------------------------------------------


@op(
    "cholesky_op",
    memory_order=in_columns,
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgCholeskyExBackward0",
    autocast={"cpu": "float32", "xla": "float32"},
)
def cholesky_op(input: Input, upper: Bool):
    """Return the Cholesky factor, as far as there is one, and the order of the first leading minor
    that is not positive-definite (0: there is none); looks at one triangle only."""
    require_matrix(input, "linalg.cholesky", square=True)
    x = adjoint(input) if upper else input
    # The value is that of the lower triangle, the gradient symmetric, as PyTorch's is.
    mean = (x + adjoint(x)) / 2
    lower = jnp.tril(x)
    one_triangle = lower + adjoint(jnp.tril(x, -1))
    symmetric = mean + lax.stop_gradient(one_triangle - mean)
    factor = jnp.tril(lax.linalg.cholesky(symmetric, symmetrize_input=False))
    factor, info = completed(factor, lower)
    return adjoint(factor) if upper else factor, info


_CHOLESKY_EX = named("linalg_cholesky_ex", "L info")


@composite(
    namespaces=("linalg",), method=False, autocast={"cpu": "float32"}, other_names={"input": "A"}
)
def cholesky_ex(
    A: Tensor, *, upper: Any = False, check_errors: Any = False, out: Any = None
) -> Any:
    """Return the Cholesky factor and an info code instead of an error: the order of the first
    leading minor that is not positive-definite. The columns before it are the factor's."""
    found = _CHOLESKY_EX(*cholesky_op(A, upper))
    if check_errors:
        _raise_cholesky(found.info, "linalg.cholesky_ex")
    return write_out(out, found)


def _raise_cholesky(info: Tensor, name: str) -> None:
    raise_failure(
        info,
        f"{name}: {{batch}}The factorization could not be completed because the input is not "
        "positive-definite (the leading minor of order {code} is not positive-definite).",
    )


@composite("cholesky", namespaces=("linalg",), method=False, other_names={"input": "A"})
def linalg_cholesky(A: Tensor, *, upper: Any = False, out: Any = None) -> Tensor:
    """Return the lower (or upper) Cholesky factor of positive-definite matrices; LinAlgError
    otherwise."""
    factor, info = cholesky_op(A, upper)
    _raise_cholesky(info, "linalg.cholesky")
    return write_out(out, factor)


def _refuse_removed(name: str, instead: str) -> None:
    if follows("cholesky and qr are gone"):
        raise RuntimeError(
            "This function was deprecated since version 1.9 and is now removed. "
            f"`torch.{name}` is deprecated in favor of `torch.linalg.{name}`: write {instead}"
        )


@composite()
def cholesky(input: Tensor, upper: Any = False, *, out: Any = None) -> Tensor:
    """Compute ``linalg.cholesky``. RuntimeError where PyTorch 2.14 or later is followed."""
    _refuse_removed("cholesky", "L = torch.linalg.cholesky(A)")
    factor, info = cholesky_op(input, upper)
    _raise_cholesky(info, "cholesky")
    return write_out(out, factor, cast=True)


# -- qr --------------------------------------------------------------------------------------------


@op(
    "qr_op",
    memory_order=in_columns,
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgQrBackward0",
    autocast={"cpu": "float32", "xla": "float32"},
)
def qr_op(input: Input, mode: Str):
    """Return Q and R."""
    require_matrix(input, "linalg.qr")
    rows, columns = input.shape[-2:]
    if mode == "complete" and rows > columns:
        return lax.linalg.qr(input, full_matrices=True)
    if rows >= columns:
        q, r = lax.linalg.qr(input, full_matrices=False)
    else:
        # JAX has no gradient for wide matrices; those of the leading square part are enough.
        q, square = lax.linalg.qr(input[..., :rows], full_matrices=False)
        r = jnp.concatenate([square, adjoint(q) @ input[..., rows:]], -1)
    return (jnp.zeros((0,), q.dtype), r) if mode == "r" else (q, r)


_LINALG_QR, _QR = named("linalg_qr", "Q R"), named("qr", "Q R")


@composite("qr", namespaces=("linalg",), method=False)
def linalg_qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """Return Q (orthonormal columns) and R (upper triangular); ``mode`` "reduced", "complete" or
    "r"."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', "
            "or 'complete'"
        )
    return write_out(out, _LINALG_QR(*qr_op(A, mode)))


@composite()
def qr(input: Tensor, some: Any = True, *, out: Any = None) -> Any:
    """Compute ``linalg.qr``: reduced if ``some``, else complete. RuntimeError where PyTorch 2.14 or
    later is followed."""
    _refuse_removed("qr", "Q, R = torch.linalg.qr(A, mode='reduced')")
    return write_out(out, _QR(*qr_op(input, "reduced" if some else "complete")))


# -- eigenvalues -----------------------------------------------------------------------------------


def _by_gaps(values: Any) -> jax.Array:
    """Return ``1 / (l_j - l_i)``. It is not infinite where eigenvalues repeat: of a gradient of the
    values alone nothing arrives here, and must stay nothing. What arrives for the vectors
    overflows."""
    gaps = values[..., None, :] - values[..., :, None]
    none = gaps == 0
    return jnp.where(none, jnp.finfo(gaps.dtype).max, 1 / jnp.where(none, 1, gaps))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _eigh(x: Any, lower: bool) -> tuple[Any, Any]:
    vectors, values = lax.linalg.eigh(x, lower=lower, symmetrize_input=False)
    return values, vectors


@_eigh.defjvp
def _eigh_jvp(lower: bool, primals: Any, tangents: Any) -> tuple[Any, ...]:
    """Compute the tangents dl = diag(P), dV = V Q, with P = V^H dA V and Q_ij = P_ij / (l_j - l_i).

    JAX's own rule decomposes the mean of both triangles, so that eigenvalues would change as soon
    as a gradient is wanted. The gradient is Hermitian, as PyTorch's is.
    """
    (x,), (dx,) = primals, tangents
    values, vectors = _eigh(x, lower)
    p = adjoint(vectors) @ ((dx + adjoint(dx)) / 2) @ vectors
    same = jnp.eye(x.shape[-1], dtype=bool)
    q = jnp.where(same, 0, p * _by_gaps(values).astype(p.dtype))
    return (values, vectors), (jnp.diagonal(p, axis1=-2, axis2=-1).real, vectors @ q)


@op(
    "eigh_op",
    memory_order=in_columns,
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgEighBackward0",
    autocast={"cpu": "float32"},
)
def eigh_op(input: Input, lower: Bool):
    """Return the eigenvalues, rising, and eigenvectors of Hermitian matrices; looks at one triangle
    only."""
    require_matrix(input, "linalg.eigh", square=True)
    return _eigh(input, lower)


def _lower(uplo: str) -> bool:
    if uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")
    return uplo.upper() == "L"


_EIGH = named("linalg_eigh", "eigenvalues eigenvectors")


@composite(namespaces=("linalg",), method=False, other_names={"input": "A"})
def eigh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """Return the eigenvalues (rising, real) and eigenvectors (columns) of Hermitian matrices."""
    return write_out(out, _EIGH(*eigh_op(A, _lower(UPLO))))


@composite(
    namespaces=("linalg",), method=False, autocast={"cpu": "float32"}, other_names={"input": "A"}
)
def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Tensor:
    """Return the eigenvalues, rising, of Hermitian matrices."""
    return write_out(out, eigh_op(A, _lower(UPLO))[0])


@jax.custom_jvp
def _eig(x: Any) -> tuple[Any, Any]:
    if targets.name() == "tpu":
        raise NotImplementedError(
            "eigenvalues of general matrices (eig, eigvals) cannot be compiled for a TPU: compute "
            "them on the CPU (x.cpu()), or use eigh where the matrix is Hermitian"
        )
    values, vectors = lax.linalg.eig(x, compute_left_eigenvectors=False)
    return values, vectors


@_eig.defjvp
def _eig_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    """Compute the tangents dL = diag(P), dV = V Q less what would change the norms, with P = V^-1
    dA V and Q_ij = P_ij / (l_j - l_i). See Boeddeker et al., "On the Computation of Complex-valued
    Gradients with Application to Statistically Optimum Beamforming", 2017."""
    (x,), (dx,) = primals, tangents
    values, vectors = _eig(x)
    p = jnp.linalg.solve(vectors, dx.astype(vectors.dtype) @ vectors)
    same = jnp.eye(x.shape[-1], dtype=bool)
    q = jnp.where(same, 0, p * _by_gaps(values))
    change = vectors @ q
    drift = jnp.sum(jnp.conj(vectors) * change, -2, keepdims=True).real
    return (values, vectors), (jnp.diagonal(p, axis1=-2, axis2=-1), change - vectors * drift)


@op(
    "eig_op",
    check=_require_finite,
    memory_order=in_columns,
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgEigBackward0",
    autocast={"cpu": "float32"},
)
def eig_op(input: Input):
    """Return the eigenvalues and eigenvectors, complex."""
    require_matrix(input, "linalg.eig", square=True)
    return _eig(input)


_EIG = named("linalg_eig", "eigenvalues eigenvectors")


@composite(namespaces=("linalg",), method=False, other_names={"input": "A"})
def eig(A: Tensor, *, out: Any = None) -> Any:
    """Return the eigenvalues and eigenvectors (columns of norm 1) of square matrices, always
    complex. CPU."""
    return write_out(out, _EIG(*eig_op(A)))


@composite(
    namespaces=("linalg",), method=False, autocast={"cpu": "float32"}, other_names={"input": "A"}
)
def eigvals(A: Tensor, *, out: Any = None) -> Tensor:
    """Return the eigenvalues of square matrices, always complex. CPU."""
    return write_out(out, eig_op(A)[0])


# -- singular values -------------------------------------------------------------------------------


def singular(x: Any, *, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Return ``jnp.linalg.svd`` of each matrix, and NaN for a matrix with NaN or an infinity:
    LAPACK's gesdd may never return from those.

    NotImplementedError on a TPU: as long as JAX has 64-bit types, XLA's
    compiler for it ends the process there.
    """
    if targets.name() == "tpu":
        raise NotImplementedError(
            "singular values and vectors (svd, pinv, lstsq, cond, nuclear norms) cannot be "
            "compiled for a TPU: compute them on the CPU (x.cpu()), or use eigh of x.mT @ x"
        )
    finite = jnp.isfinite(x).all((-2, -1), keepdims=True)
    parts: Any = jnp.linalg.svd(jnp.where(finite, x, 0), full_matrices, compute_uv)
    if not compute_uv:
        return jnp.where(finite[..., 0], parts, jnp.nan)
    u, s, vh = parts
    return (
        jnp.where(finite, u, jnp.nan),
        jnp.where(finite[..., 0], s, jnp.nan),
        jnp.where(finite, vh, jnp.nan),
    )


@op(
    "svd_op",
    check=require_no_nan,
    memory_order=in_columns,
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgSvdBackward0",
    autocast={"cpu": "float32", "xla": "float32"},
)
def svd_op(input: Input, full_matrices: Bool):
    """Return U, S and Vh."""
    require_matrix(input, "linalg.svd")
    u, s, vh = singular(input)
    if full_matrices and input.shape[-2] != input.shape[-1]:
        # The vectors beyond the rank of the matrix carry no gradient.
        whole_u, _, whole_vh = singular(lax.stop_gradient(input), full_matrices=True)
        k = s.shape[-1]
        u = jnp.concatenate([u, whole_u[..., k:]], -1)
        vh = jnp.concatenate([vh, whole_vh[..., k:, :]], -2)
    return u, s, vh


@op(
    "svdvals_op",
    check=require_no_nan,
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="LinalgSvdBackward0",
    autocast={"cpu": "float32"},
)
def svdvals_op(input: Input):
    """Return the singular values, falling."""
    require_matrix(input, "linalg.svdvals")
    return singular(input, compute_uv=False)


_LINALG_SVD, _SVD = named("linalg_svd", "U S Vh"), named("svd", "U S V")


@composite("svd", namespaces=("linalg",), method=False)
def linalg_svd(A: Tensor, full_matrices: Any = True, *, driver: Any = None, out: Any = None) -> Any:
    """Return U, the singular values S (falling) and Vh, with ``A = U @ diag(S) @ Vh``."""
    return write_out(out, _LINALG_SVD(*svd_op(A, full_matrices)))


@composite(namespaces=("linalg",), method=False)
def svdvals(A: Tensor, *, driver: Any = None, out: Any = None) -> Tensor:
    """Return the singular values, falling."""
    return write_out(out, svdvals_op(A))


@composite()
def svd(input: Tensor, some: Any = True, compute_uv: Any = True, *, out: Any = None) -> Any:
    """Return U, S and V, with ``input = U @ diag(S) @ V.mH``."""
    if not compute_uv:
        *batch, m, n = input.shape
        u, v = input.new_zeros((*batch, m, m)), input.new_zeros((*batch, n, n))
        return write_out(out, _SVD(u, svdvals_op(input), v))
    u, s, vh = svd_op(input, not some)
    return write_out(out, _SVD(u, s, vh.mH))


# -- reflectors ------------------------------------------------------------------------------------


@op(
    "geqrf_op",
    memory_order=in_columns,
    namespaces=(),
    method=False,
    differentiable=False,
    autocast={"cpu": "float32"},
)
def geqrf_op(input: Input):
    """Return the Householder reflectors and R in one matrix, and the factors tau."""
    require_matrix(input, "geqrf")
    reflectors, tau = jnp.linalg.qr(input, mode="raw")  # LAPACK's geqrf, columns as rows
    return jnp.swapaxes(reflectors, -1, -2), tau


_GEQRF = named("geqrf", "a tau")


@composite()
def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """Return the compact QR factorization: reflectors below the diagonal, R on and above it, and
    tau."""
    return write_out(out, _GEQRF(*geqrf_op(input)), cast=True)


@op(
    "householder_product",
    memory_order=in_columns,
    casts_out=True,
    namespaces=("linalg",),
    method=False,
    autocast={"cpu": "float32"},
    other_names={"input": "A"},
)
def householder_product(A: Input, tau: Input):
    """Return the leading columns of the product of Householder reflectors."""
    require_matrix(A, "linalg.householder_product")
    rows, columns = A.shape[-2:]
    if rows < columns:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-2] must be greater than "
            "or equal to input.shape[-1]"
        )
    if tau.ndim != A.ndim - 1:
        raise RuntimeError(
            "torch.linalg.householder_product: Expected tau to have one dimension "
            f"less than input, but got tau.ndim equal to {tau.ndim} and input.ndim "
            f"is equal to {A.ndim}"
        )
    if tau.dtype != A.dtype:
        raise RuntimeError(
            f"torch.linalg.householder_product: tau dtype {scalar_type_of(tau)} does not "
            f"match input dtype {scalar_type_of(A)}"
        )
    if columns < tau.shape[-1]:
        raise RuntimeError(
            "torch.linalg.householder_product: input.shape[-1] must be greater than "
            "or equal to tau.shape[-1]"
        )
    product = jnp.broadcast_to(jnp.eye(rows, columns, dtype=A.dtype), A.shape)
    for i in reversed(range(tau.shape[-1])):
        head = jnp.zeros((*A.shape[:-2], i), A.dtype)
        one = jnp.ones((*A.shape[:-2], 1), A.dtype)
        v = jnp.concatenate([head, one, A[..., i + 1 :, i]], -1)[..., None]
        product = product - tau[..., i, None, None] * v @ (adjoint(v) @ product)
    return product


@composite(autocast={"cpu": "float32"})
def orgqr(input: Tensor, input2: Tensor, *, out: Any = None) -> Tensor:
    """Compute ``linalg.householder_product``."""
    return write_out(out, householder_product(input, input2))


def _removed(name: str, instead: str) -> None:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "This function was deprecated since version 1.9 and is now removed. Use "
            f"`torch.linalg.{instead}` instead."
        )

    function.__doc__ = f"Raise RuntimeError naming ``linalg.{instead}``: removed from PyTorch."
    composite(name)(function)


for _name, _instead in (("eig", "eig"), ("symeig", "eigh"), ("solve", "solve"), ("lstsq", "lstsq")):
    _removed(_name, _instead)
