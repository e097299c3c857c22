"""Factorizations and triangular systems, by the LAPACK and BLAS that XLA's CPU kernels call.

Both are SciPy's, so results are those of the compiled program but for the size of workspaces. As
there, a matrix that LAPACK gives up is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchlike._runtime.first_calls.rules.registry import (
    Equation,
    NoNumpyRule,
    is_complex,
    rule,
)
from torchlike._runtime.lazy import LazyModule

lapack: Any = LazyModule("scipy.linalg.lapack")
blas: Any = LazyModule("scipy.linalg.blas")

_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}


def _routine(library: Any, name: str, eqn: Equation) -> Callable[..., Any]:
    """Return a routine of LAPACK or BLAS for the dtype of an equation's first operand. Raises
    NoNumpyRule where there is none, or an operand is empty."""
    aval = eqn.operands[0]
    if aval.dtype.name not in _PREFIXES or any(0 in a.shape for a in eqn.operands):
        raise NoNumpyRule(f"{name} of {aval.dtype} {aval.shape}")
    return getattr(library, _PREFIXES[aval.dtype.name] + name)


def _each(
    eqn: Equation, function: Callable[..., Sequence[Any]], is_many: bool = True
) -> Callable[..., Any]:
    """Return the function that computes ``function`` for each matrix of a batch; ``is_many``:
    whether the primitive gives a list."""
    batch = eqn.operands[0].shape[:-2]
    if not batch:
        return function if is_many else lambda *arrays: function(*arrays)[0]
    shapes = [(aval.shape, aval.dtype) for aval in eqn.results]

    def batched(*arrays: Any) -> Any:
        outs = [np.empty(*described) for described in shapes]
        for at in np.ndindex(batch):
            for out, found in zip(outs, function(*[x[at] for x in arrays]), strict=True):
                out[at] = found
        return outs if is_many else outs[0]

    return batched


def _unless(info: int, values: Sequence[Any]) -> Sequence[Any]:
    """Return the values, or NaN in their places where LAPACK says that it has failed."""
    return [np.full_like(v, np.nan) for v in values] if info else values


@rule("cholesky")
def _cholesky(eqn: Equation) -> Callable[..., Any]:
    potrf = _routine(lapack, "potrf", eqn)

    def factor(x: Any) -> Sequence[Any]:
        found, info = potrf(x, lower=1, clean=0)
        return _unless(info, (found,))

    return _each(eqn, factor, is_many=False)


@rule("triangular_solve")
def _triangular_solve(eqn: Equation) -> Callable[..., Any]:
    trsm, params = _routine(blas, "trsm", eqn), eqn.params
    conjugates = params["conjugate_a"]
    options = {
        "side": int(not params["left_side"]),
        "lower": int(params["lower"]),
        "trans_a": (2 if conjugates else 1) if params["transpose_a"] else 0,
        "diag": int(params["unit_diagonal"]),
    }
    if conjugates and not params["transpose_a"]:
        return _each(eqn, lambda a, b: (trsm(1, np.conj(a), b, **options),), is_many=False)
    return _each(eqn, lambda a, b: (trsm(1, a, b, **options),), is_many=False)


@rule("lu")
def _lu(eqn: Equation) -> Callable[..., Any]:
    getrf = _routine(lapack, "getrf", eqn)
    rows = eqn.operands[0].shape[-2]

    def factor(x: Any) -> Sequence[Any]:
        found, pivots, info = getrf(x)
        (found,) = _unless(info < 0, (found,))  # a pivot of 0 is no failure
        return found, pivots, _permutation(pivots, rows)

    return _each(eqn, factor)


@rule("lu_pivots_to_permutation")
def _lu_pivots_to_permutation(eqn: Equation) -> Callable[..., Any]:
    shape, dtype = eqn.shape, eqn.dtype

    def permutations(pivots: Any) -> np.ndarray:
        out = np.empty(shape, dtype)
        for at in np.ndindex(shape[:-1]):
            out[at] = _permutation(pivots[at], shape[-1])
        return out

    return permutations


def _permutation(pivots: Any, rows: int) -> np.ndarray:
    """Return where each row comes from, after rows were exchanged with those of ``pivots``."""
    order = list(range(rows))
    for i, k in enumerate(pivots.tolist()):
        order[i], order[k] = order[k], order[i]
    return np.array(order, np.int32)


@rule("eigh")
def _eigh(eqn: Equation) -> Callable[..., Any]:
    name = "heevd" if is_complex(eqn.operands[0].dtype) else "syevd"
    evd, lower = _routine(lapack, name, eqn), int(eqn.params["lower"])
    if eqn.params.get("subset_by_index") not in (None, (0, eqn.operands[0].shape[-1])):
        raise NoNumpyRule("some of the eigenvalues")

    def factor(x: Any) -> Sequence[Any]:
        values, vectors, info = evd(x, compute_v=1, lower=lower)
        return _unless(info, (vectors, values))

    return _each(eqn, factor)


@rule("eig")
def _eig(eqn: Equation) -> Callable[..., Any]:
    geev = _routine(lapack, "geev", eqn)
    left = eqn.params["compute_left_eigenvectors"]
    right = eqn.params["compute_right_eigenvectors"]
    is_real, dtype = not is_complex(eqn.operands[0].dtype), eqn.dtype

    def factor(x: Any) -> Sequence[Any]:
        *values, of_left, of_right, info = geev(x, compute_vl=int(left), compute_vr=int(right))
        found = (values[0] + 1j * values[1]).astype(dtype) if is_real else values[0]
        vectors = [v for v, asked in ((of_left, left), (of_right, right)) if asked]
        if is_real:
            vectors = [_unpacked(v, values[1], dtype) for v in vectors]
        return _unless(info, (found, *vectors))

    return _each(eqn, factor)


def _unpacked(vectors: np.ndarray, imaginary: np.ndarray, dtype: Any) -> np.ndarray:
    """Return complex eigenvectors; LAPACK packs a conjugate pair into its real and imaginary part,
    at the eigenvalue whose ``imaginary`` part is above zero and the next one."""
    found = vectors.astype(dtype)
    for k in np.flatnonzero(imaginary > 0):
        found[:, k] = vectors[:, k] + 1j * vectors[:, k + 1]
        found[:, k + 1] = found[:, k].conj()
    return found


@rule("svd")
def _svd(eqn: Equation) -> Callable[..., Any]:
    gesdd, params = _routine(lapack, "gesdd", eqn), eqn.params
    if params.get("subset_by_index") not in (None, (0, min(eqn.operands[0].shape[-2:]))):
        raise NoNumpyRule("some of the singular values")
    if getattr(params.get("algorithm"), "name", "") == "QR":
        raise NoNumpyRule("another algorithm for singular values")
    vectors, full = int(params["compute_uv"]), int(params["full_matrices"])

    def factor(x: Any) -> Sequence[Any]:
        u, values, vt, info = gesdd(x, compute_uv=vectors, full_matrices=full)
        return _unless(info, (values, u, vt) if vectors else (values,))

    return _each(eqn, factor)


@rule("geqrf")
def _geqrf(eqn: Equation) -> Callable[..., Any]:
    geqrf = _routine(lapack, "geqrf", eqn)
    return _each(eqn, lambda x: geqrf(x)[:2])


@rule("householder_product")
def _householder_product(eqn: Equation) -> Callable[..., Any]:
    name = "ungqr" if is_complex(eqn.operands[0].dtype) else "orgqr"
    gqr = _routine(lapack, name, eqn)
    return _each(eqn, lambda a, taus: gqr(a, taus)[:1], is_many=False)


@rule("qr")
def _qr(eqn: Equation) -> Callable[..., Any]:
    if eqn.params.get("pivoting"):
        raise NoNumpyRule("qr with pivots")
    geqrf = _routine(lapack, "geqrf", eqn)
    gqr = _routine(lapack, "ungqr" if is_complex(eqn.dtype) else "orgqr", eqn)
    rows, columns = eqn.operands[0].shape[-2:]
    full = eqn.params["full_matrices"] and rows > columns

    def factor(x: Any) -> Sequence[Any]:
        packed, taus = geqrf(x)[:2]
        reflectors = packed[:, :rows]
        if full:
            reflectors = np.zeros((rows, rows), packed.dtype, order="F")
            reflectors[:, :columns] = packed
        r = np.triu(packed if full else packed[: min(rows, columns)])
        return gqr(reflectors, taus)[0], r

    return _each(eqn, factor)
