"""Products under their names for sparse matrices: smm, hspmm, sspaddmm."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike._core.dispatch.registry import NAMESPACES, composite
from torchlike._core.dispatch.schema import require_tensor
from torchlike._core.dtypes import bool as boolean
from torchlike._core.layouts import strided
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike.sparse._tensor import SparseTensor
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]
_INSTEAD = "the operation outside the jit"


def _require_matrix(t: Any, name: str) -> SparseTensor:
    if not isinstance(t, SparseTensor):
        raise RuntimeError(f"{name}: expected a matrix in coordinate form, got {t.layout}")
    if t.sparse_dim() != 2 or t.dense_dim():
        raise RuntimeError(
            f"{name}: Argument #2: 2D tensor expected, got {t.dim()}D tensor with "
            f"{t.dense_dim()} dense dimensions"
        )
    return t


def _rows_with_elements(t: SparseTensor, name: str) -> np.ndarray:
    return np.unique(t._at[0]._value(name, _INSTEAD)).astype(np.int64)


def weighted(input: Any, beta: Any) -> Any:
    """Return ``beta * input``, 0 for a ``beta`` of 0, which lets no NaN of ``input`` through."""
    if isinstance(beta, Tensor) or beta != 0:
        return input * beta
    held = input if input.layout is strided else input._held
    zeros = held.masked_fill(_torch["ones_like"](held, dtype=boolean), 0)
    return zeros if held is input else input._with(zeros)


@composite(aliases=("hsmm",), method=False)
def hspmm(mat1: Any, mat2: Any) -> SparseTensor:
    """Multiply a sparse matrix by a dense one, (n, m) and (m, k): the result has the rows that have
    elements, with one sparse and one dense dimension. Raises RuntimeError for others, and
    JitCaptureError under a jit."""
    require_tensor(mat2, "hspmm", "mat2", 2)
    matrix = _require_matrix(mat1, "hspmm")
    rows = make_tensor(_rows_with_elements(matrix, "hspmm"))
    product: Any = matrix @ mat2
    size = (matrix.shape[0], mat2.shape[1])
    return SparseTensor(rows.unsqueeze(0), product.index_select(0, rows), size, True)


@composite(aliases=("saddmm",))
def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> SparseTensor:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` of two sparse matrices and a dense one:
    sparse, with all elements of the rows where ``mat1`` has any. Raises RuntimeError for others,
    and JitCaptureError under a jit."""
    for position, (name, t) in enumerate((("mat1", mat1), ("mat2", mat2)), 2):
        require_tensor(t, "sspaddmm", name, position)
    addend, matrix = (_require_matrix(t, "sspaddmm") for t in (input, mat1))
    product: Any = matrix @ mat2
    columns = mat2.shape[1]
    if tuple(addend.shape) != tuple(product.shape):
        raise RuntimeError(
            f"sspaddmm: Argument #1: Expected size {list(product.shape)}, got {list(addend.shape)}"
        )
    rows = _rows_with_elements(matrix, "sspaddmm")
    at = np.stack([np.repeat(rows, columns), np.tile(np.arange(columns), rows.size)])
    values = product.index_select(0, make_tensor(rows)).reshape(-1) * alpha
    return SparseTensor(
        _torch["cat"]([addend._at, make_tensor(at)], 1),
        _torch["cat"]([addend._held * beta, values]),
        tuple(product.shape),
        False,
    )


@composite()
def smm(input: Any, mat2: Any) -> Tensor:
    """Multiply a sparse matrix by a dense one: sparse, with all elements of the rows that have any.
    Raises RuntimeError for others, and JitCaptureError under a jit."""
    require_tensor(mat2, "smm", "mat2", 2)
    matrix = _require_matrix(input, "smm")
    nothing = SparseTensor(
        matrix._at[:, :0], matrix._held[:0], (matrix.shape[0], mat2.shape[1]), True
    )
    return sspaddmm(nothing, matrix, mat2)
