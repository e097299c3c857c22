"""LDL factorizations of symmetric and Hermitian matrices (Bunch & Kaufman 1977), by LAPACK.

XLA has no such factorization, so the matrices go to the host, also from a compiled program.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Input
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.linalg import pivots as pivots_of
from torchlike._ops.linalg.decompositions import lapack, raise_failure, require_matrix
from torchlike._ops.memory_order import in_columns, solution_in_columns
from torchlike._ops.outputs import write_out
from torchlike._ops.reduce.reduction import _named as named
from torchlike.tensor import Tensor


def _routine(kind: str, hermitian: bool, like: np.ndarray) -> Any:
    prefix = "he" if hermitian and like.dtype.kind == "c" else "sy"
    return lapack.get_lapack_funcs((f"{prefix}{kind}",), (like,))[0]


def _factors(a: np.ndarray, hermitian: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (LD, pivots as LAPACK counts them, info)."""
    batch, n = a.shape[:-2], a.shape[-1]
    ld, pivots = np.array(a), np.zeros((*batch, n), np.int32)
    info = np.zeros(batch, np.int32)
    trf = _routine("trf", hermitian, a)
    lower = np.tri(n, dtype=bool)
    for at in np.ndindex(batch):
        if not n:
            continue
        found, order, code = trf(a[at], lower=True)
        ld[at] = np.where(lower, found, 0)
        pivots[at] = order
        info[at] = code
    return ld, pivots, info


@op("ldl_factor_op", memory_order=in_columns, namespaces=(), method=False, differentiable=False)
def ldl_factor_op(input: Input, hermitian: Bool):
    """Return LD, pivots and info."""
    require_matrix(input, "torch.linalg.ldl_factor_ex", square=True)
    shapes = (
        jax.ShapeDtypeStruct(input.shape, input.dtype),
        jax.ShapeDtypeStruct(input.shape[:-1], np.int32),
        jax.ShapeDtypeStruct(input.shape[:-2], np.int32),
    )
    return jax.pure_callback(
        lambda a: _factors(np.asarray(a), hermitian), shapes, input, vmap_method="broadcast_all"
    )


_LDL_FACTOR = named("linalg_ldl_factor", "LD pivots")
_LDL_FACTOR_EX = named("linalg_ldl_factor_ex", "LD pivots info")


def _raise(info: Tensor) -> None:
    raise_failure(
        info,
        "torch.linalg.ldl_factor_ex: {batch}The diagonal element {code} is zero, the solve could "
        "not be completed because the input matrix is singular.",
    )


@composite(namespaces=("linalg",), method=False, other_names={"input": "A"})
def ldl_factor_ex(
    A: Tensor, *, hermitian: Any = False, check_errors: Any = False, out: Any = None
) -> Any:
    """Return the compact LDL factorization, pivots, and an info code instead of an error."""
    found = _LDL_FACTOR_EX(*ldl_factor_op(A, bool(hermitian)))
    if check_errors:
        _raise(found.info)
    return write_out(out, found)


@composite(namespaces=("linalg",), method=False, other_names={"input": "A"})
def ldl_factor(A: Tensor, *, hermitian: Any = False, out: Any = None) -> Any:
    """Return the compact LDL factorization of symmetric (or Hermitian) matrices, and pivots.

    L (unit lower triangular) and D (blocks of 1 or 2) share one matrix; only the lower triangle of
    ``A`` is looked at. RuntimeError for other than square floating matrices.
    """
    found = ldl_factor_ex(A, hermitian=hermitian)
    _raise(found.info)
    return write_out(out, _LDL_FACTOR(found.LD, found.pivots))


def _solved(ld: np.ndarray, pivots: np.ndarray, b: np.ndarray, hermitian: bool) -> np.ndarray:
    x = np.array(b)
    trs = _routine("trs", hermitian, ld)
    for at in np.ndindex(x.shape[:-2]):
        rows = np.abs(pivots[at])
        if rows.size and (rows.min() < 1 or rows.max() > len(ld[at])):
            x[at] = np.nan  # of a compiled program, whose check tells afterwards
        elif x[at].size:
            x[at] = trs(ld[at], pivots[at], x[at], lower=True)[0]
    return x


@op(
    "ldl_solve_op",
    check=pivots_of.check_indefinite,
    memory_order=solution_in_columns,
    namespaces=(),
    method=False,
    differentiable=False,
)
def ldl_solve_op(LD: Input, pivots: Input, B: Input, hermitian: Bool):
    """Return the solution from an LDL factorization."""
    require_matrix(LD, "torch.linalg.ldl_solve", "LD", square=True)
    if B.ndim < 2:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has "
            f"{B.ndim} dimensions instead"
        )
    if LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is "
            f"{LD.shape[-1]} by {LD.shape[-1]} but each b matrix is {B.shape[-2]} by {B.shape[-1]}"
        )
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected pivots to be integers. Got " + scalar_type_of(pivots)
        )
    if B.dtype != LD.dtype:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: LD dtype {scalar_type_of(LD)} does not match B dtype "
            f"{scalar_type_of(B)}"
        )
    pivots_of.require_shape(pivots, LD.shape[:-1], "torch.linalg.ldl_solve", "LD")
    batch = jnp.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    operands = (
        jnp.broadcast_to(LD, (*batch, *LD.shape[-2:])),
        jnp.broadcast_to(pivots, (*batch, LD.shape[-1])),
        jnp.broadcast_to(B, (*batch, *B.shape[-2:])),
    )
    return jax.pure_callback(
        lambda ld, p, b: _solved(np.asarray(ld), np.asarray(p), np.asarray(b), hermitian),
        jax.ShapeDtypeStruct(operands[2].shape, B.dtype),
        *operands,
        vmap_method="broadcast_all",
    )


@composite(namespaces=("linalg",), method=False)
def ldl_solve(
    LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: Any = False, out: Any = None
) -> Tensor:
    """Return X with ``A @ X = B`` from the compact LDL factorization of A. RuntimeError for sizes
    and dtypes that do not fit."""
    return ldl_solve_op(LD, pivots, B, bool(hermitian), out=out)
