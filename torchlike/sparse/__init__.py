"""``torch.sparse``: functions of sparse tensors, in coordinate form and compressed.

Imports `_ops`, `_extensions`, `autograd` and below. Begin with ``_tensor.py``. An op reaches a
sparse tensor by the kind of cell (`_extensions/sparse_array.py`), which compiled forms refuse: its
`run_op` looks the op's name up in the tables `RULES` and `COMPRESSED_RULES` there. `rule` and
`compressed_rule` (``_rule_table.py``) fill them from ``_rules.py``, ``_compressed_rules.py``,
``_products.py`` and kin; for ops that are 0 at 0 (`zero_at_zero=` of ``@op``) a loop does.
"""

from __future__ import annotations

from typing import Any, NoReturn

from torchlike._compat.unsupported import functions as _unsupported
from torchlike._core.dtypes import scalar_type as _scalar_type
from torchlike._core.layouts import sparse_csr as _sparse_csr
from torchlike._ops.linalg.sparse_products import sampled_product, sparse_reduce_matmul
from torchlike.sparse._checks import as_sparse_gradcheck, check_sparse_tensor_invariants
from torchlike.sparse._compressed import CompressedTensor as _CompressedTensor
from torchlike.sparse._compressed_rules import same_layout
from torchlike.sparse._diagonals import spdiags
from torchlike.sparse._elsewhere import values_alone as _values_alone
from torchlike.sparse._gradient_rules import RULES as _RULES
from torchlike.sparse._kinds import name_of as _name_of
from torchlike.sparse._products import weighted as _weighted
from torchlike.sparse._softmax import log_softmax, softmax
from torchlike.sparse._tensor import SparseTensor
from torchlike.sparse._types import SPARSE_TENSOR_TYPES as _SPARSE_TENSOR_TYPES
from torchlike.tensor import Tensor

__all__ = [
    "SparseTensor",
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
]

_REDUCTIONS = ("sum", "mean", "amax", "amin")


def _require_sparse(t: Any, name: str) -> Any:
    if not isinstance(t, (SparseTensor, _CompressedTensor)):
        raise TypeError(f"torch.sparse.{name}: expected a sparse tensor, got {type(t).__name__}")
    return t


def mm(mat1: Any, mat2: Any, reduce: str | None = None) -> Tensor:
    """Multiply two matrices of which at least one is sparse: dense, or sparse when both are.

    With ``reduce`` ("sum", "mean", "amax", "amin") ``mat1`` is sparse, ``mat2`` dense, and the
    products of a row are reduced so, over the elements that are there.

    RuntimeError for shapes that do not fit; ValueError for another reduction.
    """
    if not isinstance(mat1, (SparseTensor, _CompressedTensor)):
        return mat1 @ _values_alone(_require_sparse(mat2, "mm"))
    mat1 = _values_alone(mat1)
    mat2 = _values_alone(mat2) if isinstance(mat2, SparseTensor) else mat2
    if reduce is None:
        return mat1 @ mat2
    if reduce not in _REDUCTIONS:
        raise ValueError(f"torch.sparse.mm: reduce must be one of {_REDUCTIONS}, got {reduce!r}")
    rows, columns = mat1.shape
    at, values = (
        mat1.coordinates() if isinstance(mat1, _CompressedTensor) else (mat1._at, mat1._held)
    )
    return sparse_reduce_matmul(at, values, mat2, rows, columns, reduce)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """Return ``beta * mat + alpha * (mat1 @ mat2)``, ``mat1`` sparse; dense when ``mat`` is."""
    product: Any = mm(_require_sparse(mat1, "addmm"), mat2)
    if isinstance(mat, (SparseTensor, _CompressedTensor)):
        return _weighted(mat, beta) + product * alpha
    is_dense = not isinstance(product, (SparseTensor, _CompressedTensor))
    dense: Any = product if is_dense else product.to_dense()
    return _weighted(mat, beta) + dense * alpha


def sampled_addmm(
    input: Any, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0, out: Any = None
) -> Any:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` at the places of the sparse matrix ``input``.

    ``out``, in compressed rows, takes over the result's indices, values and size. RuntimeError for
    sizes or dtypes that differ, and for another layout of ``out``.

    Differs from PyTorch: coordinate form too, where PyTorch takes compressed rows alone.
    """
    at = _require_sparse(input, "sampled_addmm").to_sparse().coalesce()
    _check_sampled(at, mat1, mat2, out)
    there = sampled_product(at._indices(), mat1, mat2)
    found = at._with(at._values() * beta + there * alpha)
    result = same_layout(found, input) if isinstance(input, _CompressedTensor) else found
    return result if out is None else out._become(result)


def _check_sampled(input: Any, mat1: Tensor, mat2: Tensor, out: Any) -> None:
    def refuse(words: str) -> NoReturn:
        raise RuntimeError(f"sampled_addmm: {words}")

    for a, b, names in ((mat1, mat2, "mat1 and mat2"), (input, mat1, "self and mat1")):
        if a.dtype is not b.dtype:
            kinds = f"{_scalar_type(a.dtype)} and {_scalar_type(b.dtype)}"
            refuse(f"Expected {names} to have the same dtype, but got {kinds}")
    if input.shape[-2] != mat1.shape[-2]:
        refuse("self.shape[-2] must match mat1.shape[-2]")
    if input.shape[-1] != mat2.shape[-1]:
        refuse("self.shape[-1] must match mat2.shape[-1]")
    if mat1.shape[-1] != mat2.shape[-2]:
        sizes = ["x".join(map(str, m.shape[-2:])) for m in (mat1, mat2)]
        refuse(f"mat1 and mat2 shapes cannot be multiplied ({sizes[0]} and {sizes[1]})")
    if out is None:
        return
    if out.layout is not _sparse_csr:
        refuse(f"Expected result to have sparse csr layout, but got {_name_of(out.layout)}")
    if out.dtype is not mat1.dtype:
        kinds = f"{_scalar_type(out.dtype)} and {_scalar_type(mat1.dtype)}"
        refuse(f"Expected result and self to have the same dtype, but got {kinds}")


def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Any:
    """Return the sum over all dimensions (dense) or over some (sparse, unless no sparse one is
    left)."""
    if isinstance(input, _CompressedTensor):
        input.coalesce()  # PyTorch's refusal
    values: Any = _require_sparse(input, "sum")
    return (_values_alone(values) if dim is None else values).sum(dim, dtype=dtype)


globals().update(_SPARSE_TENSOR_TYPES)
globals().update(_unsupported("sparse"))
