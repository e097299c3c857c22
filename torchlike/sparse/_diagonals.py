"""``torch.sparse.spdiags``: a sparse matrix of its diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike._core import dtypes
from torchlike._core.dispatch.schema import ints
from torchlike._core.layouts import sparse_coo, sparse_csc, sparse_csr
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike.sparse._kinds import name_of
from torchlike.sparse._tensor import SparseTensor
from torchlike.tensor import Tensor


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Any:
    """Return a matrix of ``shape`` whose diagonal ``offsets[i]`` is ``diagonals[i]``, of which the
    element for column j is ``diagonals[i, j]``.

    ``layout``: coordinate form by default, CSR or CSC. RuntimeError for diagonals that are no
    matrix, another number of offsets, repeated offsets, offsets that are not int64,
    another layout or a shape that is not 2-D.
    """
    if diagonals.dim() not in (1, 2):
        raise RuntimeError("Diagonals must be vector or matrix")
    if offsets.dim() not in (0, 1):
        raise RuntimeError("Offsets must be scalar or vector")
    if layout not in (None, sparse_coo, sparse_csr, sparse_csc):
        raise RuntimeError(
            f"Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got "
            f"{name_of(layout)}"
        )
    size = ints(shape)
    if len(size) != 2:
        raise RuntimeError("Output shape must be 2d")
    rows_of, where = diagonals.reshape(-1, diagonals.shape[-1]), offsets.reshape(-1)
    known = where._value("spdiags", "offsets that are known outside the jit")
    if known.size != rows_of.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({rows_of.shape[0]}) does not match the number of offsets "
            f"({known.size})"
        )
    if offsets.dtype is not dtypes.int64:
        raise RuntimeError(
            f"Offset Tensor must have dtype Long but got {dtypes.scalar_type(offsets.dtype)}"
        )
    if np.unique(known).size != known.size:
        raise RuntimeError("Offset tensor contains duplicate values")
    rows, columns = size
    parts = []
    for i, offset in enumerate(map(int, known)):
        column = np.arange(max(offset, 0), max(min(columns, rows + offset, rows_of.shape[1]), 0))
        parts.append(np.stack([np.full_like(column, i), column - offset, column]))
    which = np.concatenate(parts, 1) if parts else np.zeros((3, 0), np.int64)
    which, row, column = (make_tensor(x.astype(np.int64)) for x in which)
    found = SparseTensor(
        make_tensor(np.stack([row.numpy(), column.numpy()])),
        rows_of[which, column],
        size,
        known.size < 2,
    )
    is_compressed = layout in (sparse_csr, sparse_csc)
    return found.coalesce().to_sparse(layout=layout) if is_compressed else found
