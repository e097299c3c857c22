# Made by `python -m tools.generate` from the registry. Do not edit.
from builtins import bool as _bool, bytes as _bytes, complex as _complex, dict as _dict, float as _float, int as _int, list as _list, object as _object, set as _set, str as _str, tuple as _tuple, type as _type
from torchlike._core.devices import device as _device
from torchlike._core.dtypes import dtype as _dtype
from torchlike._core.layouts import layout as _layout, memory_format as _memory_format
from torchlike._core.size import Size as _Size
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from torchlike.random import Generator as Generator
from torchlike.tensor import Tensor as Tensor

Number = _bool | _int | _float | _complex

LinAlgError: type

def cholesky(A: Tensor, *, upper: Any = False, out: Any = None) -> Tensor:
    """Return the lower (or upper) Cholesky factor of positive-definite matrices; LinAlgError
otherwise."""

def cholesky_ex(A: Tensor, *, upper: Any = False, check_errors: Any = False, out: Any = None) -> Any:
    """Return the Cholesky factor and an info code instead of an error: the order of the first
leading minor that is not positive-definite. The columns before it are the factor's."""

def cond(A: Tensor, p: Any = None, *, out: Any = None) -> Tensor:
    """Return the condition number in a matrix norm: the ratio of singular values for None and ±2,
``norm(A) * norm(inv(A))`` otherwise; infinite for a singular matrix."""

def cross(input: Tensor, other: Tensor, *, dim: _int = -1, out: Any = None) -> Tensor:
    """Return the cross product along ``dim`` (the last by default)."""

def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the determinant of square matrices."""

def diagonal(A: Tensor, *, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
    """Return the diagonal of the last two dimensions, a view."""

def eig(A: Tensor, *, out: Any = None) -> Any:
    """Return the eigenvalues and eigenvectors (columns of norm 1) of square matrices, always
complex. CPU."""

def eigh(A: Tensor, UPLO: _str = 'L', *, out: Any = None) -> Any:
    """Return the eigenvalues (rising, real) and eigenvectors (columns) of Hermitian matrices."""

def eigvals(A: Tensor, *, out: Any = None) -> Tensor:
    """Return the eigenvalues of square matrices, always complex. CPU."""

def eigvalsh(A: Tensor, UPLO: _str = 'L', *, out: Any = None) -> Tensor:
    """Return the eigenvalues, rising, of Hermitian matrices."""

def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the leading columns of the product of Householder reflectors."""

def inv(A: Tensor, *, out: Any = None) -> Tensor:
    """Return the inverse of square matrices. LinAlgError for a singular one."""

def inv_ex(A: Tensor, *, check_errors: Any = False, out: Any = None) -> Any:
    """Return the inverse and an info code instead of an error."""

def ldl_factor(A: Tensor, *, hermitian: Any = False, out: Any = None) -> Any:
    """Return the compact LDL factorization of symmetric (or Hermitian) matrices, and pivots."""

def ldl_factor_ex(A: Tensor, *, hermitian: Any = False, check_errors: Any = False, out: Any = None) -> Any:
    """Return the compact LDL factorization, pivots, and an info code instead of an error."""

def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: Any = False, out: Any = None) -> Tensor:
    """Return X with ``A @ X = B`` from the compact LDL factorization of A. RuntimeError for sizes
and dtypes that do not fit."""

def lstsq(A: Tensor, B: Tensor, rcond: _float | None = None, *, driver: _str | None = None, out: Any = None) -> Any:
    """Return the X that makes ``|A @ X - B|`` least (of least norm), residuals, rank and singular
values."""

def lu(A: Tensor, *, pivot: Any = True, out: Any = None) -> Any:
    """Return P, L and U with ``A = P @ L @ U``."""

def lu_factor(A: Tensor, *, pivot: Any = True, out: Any = None) -> Any:
    """Return the compact LU factorization with pivots. RuntimeError for a singular matrix."""

def lu_factor_ex(A: Tensor, *, pivot: Any = True, check_errors: Any = False, out: Any = None) -> Any:
    """Return the compact LU factorization with pivots and an info code instead of an error."""

def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: Any = True, adjoint: Any = False, out: Any = None) -> Tensor:
    """Return X with ``A @ X = B`` from the compact LU factorization of A."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix product; batches broadcast, vectors are promoted to matrices and back."""

def matrix_exp(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the matrix exponential of square matrices; in float32 for 16-bit ones."""

def matrix_norm(A: Tensor, ord: Any = 'fro', dim: Any = ..., keepdim: Any = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """Return a norm of matrices: "fro", "nuc", ±1 (columns), ±inf (rows) or ±2 (singular
values)."""

def matrix_power(A: Tensor, n: _int, *, out: Any = None) -> Tensor:
    """Return the ``n``-th power of square matrices; a negative n inverts."""

def matrix_rank(A: Tensor, tol: Any = None, hermitian: Any = False, *, atol: Any = None, rtol: Any = None, out: Any = None) -> Tensor:
    """Count the singular values above ``max(atol, rtol * largest)``."""

def matrix_sqrth(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the positive-definite square root of symmetric (Hermitian) positive-definite matrices;
looks at the lower triangle only."""

def multi_dot(tensors: Any, *, out: Any = None) -> Tensor:
    """Return the product of two or more matrices (the first and last may be vectors), in the
cheapest order."""

def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: Any = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """Return a vector norm over one dimension or a matrix norm over two; the 2-norm of all elements
when neither ``ord`` nor ``dim`` is given."""

def pinv(A: Tensor, rcond: Any = None, hermitian: Any = False, *, atol: Any = None, rtol: Any = None, out: Any = None) -> Tensor:
    """Return the pseudoinverse; singular values not above ``max(atol, rtol * largest)`` count as
zero."""

def polar(A: Tensor, *, out: Any = None) -> Any:
    """Return U (m, n), whose columns are orthonormal, and H (n, n), positive-semidefinite, with
``A = U @ H``, of matrices (..., m, n) with m >= n."""

def qr(A: Tensor, mode: _str = 'reduced', *, out: Any = None) -> Any:
    """Return Q (orthonormal columns) and R (upper triangular); ``mode`` "reduced", "complete" or
"r"."""

def slogdet(A: Tensor, *, out: Any = None) -> Any:
    """Return the sign and the logarithm of the absolute value of the determinant: a named pair."""

def solve(A: Tensor, B: Tensor, *, left: Any = True, out: Any = None) -> Tensor:
    """Return X with ``A @ X = B`` (``X @ A = B`` unless ``left``). LinAlgError for a singular
matrix."""

def solve_ex(A: Tensor, B: Tensor, *, left: Any = True, check_errors: Any = False, out: Any = None) -> Any:
    """Return the solution and an info code instead of an error."""

def solve_triangular(A: Tensor, B: Tensor, *, upper: Any, left: Any = True, unitriangular: Any = False, out: Any = None) -> Tensor:
    """Return X with ``A @ X = B`` for a triangular A; the other triangle is not looked at."""

def svd(A: Tensor, full_matrices: Any = True, *, driver: Any = None, out: Any = None) -> Any:
    """Return U, the singular values S (falling) and Vh, with ``A = U @ diag(S) @ Vh``."""

def svdvals(A: Tensor, *, driver: Any = None, out: Any = None) -> Tensor:
    """Return the singular values, falling."""

def tensorinv(A: Tensor, ind: _int = 2, *, out: Any = None) -> Tensor:
    """Return the inverse for tensordot over the first ``ind`` dimensions."""

def tensorsolve(A: Tensor, B: Tensor, dims: Any = None, *, out: Any = None) -> Tensor:
    """Return X with ``tensordot(A, X, X.ndim) == B``."""

def vander(x: Tensor, *, N: _int | None = None) -> Tensor:
    """Return rising powers of the elements of the last dimension, as a new last dimension."""

def vecdot(x: Tensor, y: Tensor, *, dim: _int = -1, out: Tensor | None = None) -> Tensor:
    """Return the dot products along a dimension, the first vector conjugated."""

def vector_norm(x: Tensor, ord: Any = 2, dim: Any = None, keepdim: Any = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """Return ``sum(|x| ** ord) ** (1 / ord)`` over ``dim`` (all by default); also for ord 0 and
±inf."""
