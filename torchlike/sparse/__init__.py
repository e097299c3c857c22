"""``torch.sparse``: functions of sparse tensors in coordinate form."""

from __future__ import annotations

from typing import Any

from torchlike._compat.unsupported import functions as _unsupported
from torchlike._core.tensor import Tensor
from torchlike._ops.linalg.sparse_products import sampled_product, sparse_reduce_matmul
from torchlike.sparse._tensor import SparseTensor
from torchlike.sparse._types import SPARSE_TENSOR_TYPES as _SPARSE_TENSOR_TYPES

__all__ = ["SparseTensor", "addmm", "mm", "sampled_addmm", "sum"]

_REDUCTIONS = ("sum", "mean", "amax", "amin")


def _require_sparse(t: Any, name: str) -> SparseTensor:
    if not isinstance(t, SparseTensor):
        raise TypeError(f"torch.sparse.{name}: expected a sparse tensor, got {type(t).__name__}")
    return t


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Tensor:
    """A product of which at least one matrix is sparse: dense, or sparse when both are.

    With ``reduce`` ("sum", "mean", "amax", "amin") ``mat1`` is sparse, ``mat2`` dense, and the
    products of a row are reduced so, over the elements that are there.

    RuntimeError for shapes that do not fit; ValueError for another reduction.
    """
    if not isinstance(mat1, SparseTensor):
        return mat1 @ _require_sparse(mat2, "mm")
    if reduce is None:
        return mat1 @ mat2
    if reduce not in _REDUCTIONS:
        raise ValueError(f"torch.sparse.mm: reduce must be one of {_REDUCTIONS}, got {reduce!r}")
    rows, columns = mat1.shape
    return sparse_reduce_matmul(mat1._indices(), mat1._values(), mat2, rows, columns, reduce)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * mat + alpha * (mat1 @ mat2)``, ``mat1`` sparse; dense when ``mat`` is."""
    product: Any = mm(_require_sparse(mat1, "addmm"), mat2)
    if isinstance(mat, SparseTensor):
        return mat * beta + product * alpha
    dense: Any = product.to_dense() if isinstance(product, SparseTensor) else product
    return mat * beta + dense * alpha


def sampled_addmm(
    input: Any, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0
) -> SparseTensor:
    """``beta * input + alpha * (mat1 @ mat2)`` at the places of the sparse matrix ``input``.

    Differs from PyTorch: coordinate form, where PyTorch takes compressed rows.
    """
    at = _require_sparse(input, "sampled_addmm").coalesce()
    if tuple(at.shape) != (mat1.shape[0], mat2.shape[1]):
        raise RuntimeError(
            "sampled_addmm: Expected input's size to be that of mat1 @ mat2, but got "
            f"{list(at.shape)} and {[mat1.shape[0], mat2.shape[1]]}"
        )
    there = sampled_product(at._indices(), mat1, mat2)
    return at._with(at._values() * beta + there * alpha)


def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Any:
    """The sum over all dimensions (dense) or over some (sparse, unless no sparse one is left)."""
    return _require_sparse(input, "sum").sum(dim, dtype=dtype)


globals().update(_SPARSE_TENSOR_TYPES)
globals().update(_unsupported("sparse"))
