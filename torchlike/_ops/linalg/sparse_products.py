"""Products with a sparse matrix in compiled programs, by scatters and JAX's BCSR.

What a form takes on a CPU, for 100,000 elements of a 10,000 x 10,000 matrix in float32:

| times a vector | ms |
|---|---|
| BCSR (Eigen's kernel) | 1.47 |
| BCSR, padded to 8 columns | 0.31 |
| rows found from where they begin, then a scatter | 1.0 |
| a scatter | 0.23 |
| where rows begin found from sorted rows, then BCSR | 2.1 |

| times 64 columns | ms |
|---|---|
| BCSR | 0.87 |
| a scatter | 2.9 |
| where rows begin found from sorted rows, then BCSR | 1.33 |
| dot products of rows at 100,000 places, as sums | 28 |
| the same, as a product with ones | 3.4 |
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core.dispatch.registry import op
from torchlike._core.dispatch.schema import Bool, Input, Int, Str
from torchlike._ops.checks import scalar_type_of
from torchlike._runtime import targets
from torchlike._runtime.lazy import LazyModule

sparse = LazyModule("jax.experimental.sparse")
#: Columns that Eigen's kernel takes at once: fewer take it five times as long as these.
_TOGETHER = 8


def _check(values: Any, dense: Any, columns: int) -> None:
    if dense.ndim not in (1, 2):
        raise RuntimeError(f"sparse product: expected a vector or a matrix, got {dense.ndim}D")
    if dense.shape[0] != columns:
        raise RuntimeError(
            f"mm: Argument #3 (dense): Expected dim 0 size {columns}, got {dense.shape[0]}"
        )
    if dense.dtype != values.dtype:
        raise RuntimeError(
            f"addmm: expected 'mat1' and 'mat2' to have the same dtype, but got "
            f"{scalar_type_of(values)} and {scalar_type_of(dense)}"
        )


@op(
    "sparse_matmul",
    namespaces=(),
    method=False,
    grad_name="SparseAddmmBackward0",
    needs={"values": ["indices", "dense"], "dense": ["indices", "values"]},
)
def sparse_matmul(
    indices: Input, values: Input, dense: Input, rows: Int, columns: Int, is_sorted: Bool = False
):
    """Return a (rows, columns) sparse matrix times a dense vector or matrix. ``is_sorted``: by
    rows."""
    _check(values, dense, columns)
    if is_sorted and _is_wide(values, dense) and targets.is_xla_cpu():
        row, column = indices
        begins = jnp.searchsorted(row, np.arange(rows + 1)).astype(np.int32)
        # Eigen's kernel does not look whether a column is there.
        inside = jnp.clip(column, 0, max(columns - 1, 0)).astype(np.int32)
        return _csr_product(begins, inside, values, dense, columns)
    return _coordinate_product(indices[0], indices[1], values, dense, rows)


def _is_wide(values: Any, dense: Any) -> bool:
    floats = values.dtype in (np.float32, np.float64)
    return floats and dense.ndim == 2 and dense.shape[1] >= _TOGETHER and values.shape[0] > 0


@functools.partial(jax.custom_jvp, nondiff_argnums=(4,))
def _coordinate_product(row: Any, column: Any, values: Any, dense: Any, rows: int) -> Any:
    return _scattered(row, column, values, dense, rows)


@_coordinate_product.defjvp
def _coordinate_product_jvp(rows: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    row, column, values, dense = primals
    found = _coordinate_product(row, column, values, dense, rows)
    return found, _tangent(row, column, values, dense, tangents[2], tangents[3], rows)


def _scattered(row: Any, column: Any, values: Any, dense: Any, rows: int) -> Any:
    """Add up the elements times rows of the dense factor. Indices out of range add nothing."""
    picked = dense.at[column].get(mode="fill", fill_value=0)
    if dense.ndim == 2 and jnp.issubdtype(values.dtype, np.inexact):
        # Spread by a product with ones: its transpose is one, too, and XLA's sums take longer.
        values = values[:, None] @ jnp.ones((1, dense.shape[1]), values.dtype)
    elif dense.ndim == 2:
        values = values[:, None]
    return (
        jnp.zeros((rows, *dense.shape[1:]), dense.dtype).at[row].add(values * picked, mode="drop")
    )


def _tangent(
    row: Any, column: Any, values: Any, dense: Any, by_values: Any, by_dense: Any, rows: int
) -> Any:
    """Return the derivative along changes of the values and of the dense factor."""
    of_values = _scattered(row, column, by_values, dense, rows)
    # Backward, both gather rows of the cotangent. Gathered once for both, they would be written
    # to memory: 40 ms and not 6.
    row, column = lax.optimization_barrier((row, column))
    return of_values + _scattered(row, column, values, by_dense, rows)


@op(
    "csr_matmul",
    namespaces=(),
    method=False,
    grad_name="SparseAddmmBackward0",
    needs={"values": ["compressed", "plain", "dense"], "dense": ["compressed", "plain", "values"]},
)
def csr_matmul(compressed: Input, plain: Input, values: Input, dense: Input, columns: Int):
    """Return a matrix in CSR times a dense vector or matrix."""
    _check(values, dense, columns)
    width = 1 if dense.ndim == 1 else dense.shape[1]
    if not targets.is_cpu() or width >= _TOGETHER or not width:
        return _csr_product(compressed, plain, values, dense, columns)
    wide = jnp.pad(dense.reshape(columns, width), ((0, 0), (0, _TOGETHER - width)))
    found = _csr_product(compressed, plain, values, wide, columns)[:, :width]
    return found.reshape(found.shape[0], *dense.shape[1:])


@functools.partial(jax.custom_jvp, nondiff_argnums=(4,))
def _csr_product(compressed: Any, plain: Any, values: Any, dense: Any, columns: int) -> Any:
    shape = (compressed.shape[0] - 1, columns)
    return sparse.BCSR((values, plain, compressed), shape=shape) @ dense


@_csr_product.defjvp
def _csr_product_jvp(columns: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Compute the tangents in coordinate form, whose transpose is a product again: BCSR's takes 100
    times as long as its product."""
    compressed, plain, values, dense = primals
    rows = _uncompressed(compressed, plain.shape[0])
    found = _csr_product(compressed, plain, values, dense, columns)
    n_rows = compressed.shape[0] - 1
    return found, _tangent(rows, plain, values, dense, tangents[2], tangents[3], n_rows)


@op("sparse_reduce_matmul", namespaces=(), method=False, grad_name="SparseMmReduceImplBackward0")
def sparse_reduce_matmul(
    indices: Input, values: Input, dense: Input, rows: Int, columns: Int, reduce: Str
):
    """Reduce the product otherwise than by a sum: over the elements that are there, 0 where a row
    has none. Maxima share their gradient among ties."""
    _check(values, dense, columns)
    row, column = indices
    terms = values[:, None] * dense[column]
    count = jax.ops.segment_sum(jnp.ones_like(values), row, rows)[:, None]
    if reduce in ("sum", "mean"):
        total = jax.ops.segment_sum(terms, row, rows)
        return total if reduce == "sum" else total / jnp.maximum(count, 1)
    known = lax.stop_gradient(terms)
    plain = jax.ops.segment_max if reduce == "amax" else jax.ops.segment_min
    best = jnp.where(count > 0, plain(known, row, rows), 0)
    chosen = known == best[row]
    ties = jax.ops.segment_sum(chosen.astype(terms.dtype), row, rows)
    passed = jax.ops.segment_sum(jnp.where(chosen, terms - known, 0), row, rows)
    return best + passed / jnp.maximum(ties, 1)


@op("sampled_product", namespaces=(), method=False, grad_name="SparseSampledAddmmBackward0")
def sampled_product(indices: Input, mat1: Input, mat2: Input):
    """Return the elements of ``mat1 @ mat2`` at ``indices`` (2, nnz), without making the
    product."""
    for x in (mat1, mat2):
        if x.ndim != 2:
            raise RuntimeError(
                f"sampled_addmm: Expected mat1 and mat2 to be matrices, got {x.ndim}D"
            )
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied "
            f"({mat1.shape[0]}x{mat1.shape[1]} and {mat2.shape[0]}x{mat2.shape[1]})"
        )
    row, column = indices
    terms = mat1[row] * mat2.T[column]
    if targets.is_xla_cpu() and terms.dtype in (np.float32, np.float64):
        return terms @ jnp.ones(terms.shape[1], terms.dtype)
    return jnp.sum(terms, 1)


@op(
    "coalesced_values",
    namespaces=(),
    method=False,
    needs={"values": ["slot"]},
    grad_name="CoalesceBackward0",
)
def coalesced_values(values: Input, slot: Input, count: Int, any_of: Bool):
    """Add the values with the same slot (bools: or)."""
    if any_of:
        return jnp.zeros((count, *values.shape[1:]), np.bool_).at[slot].max(values)
    return jnp.zeros((count, *values.shape[1:]), values.dtype).at[slot].add(values)


@op("uncompressed_indices", namespaces=(), method=False, differentiable=False)
def uncompressed_indices(compressed: Input, count: Int):
    """Return the row (*batch, count) of each element, from where the rows begin (*batch, rows +
    1)."""

    of_matrix = functools.partial(_uncompressed, count=count)
    for _ in range(compressed.ndim - 1):
        of_matrix = jax.vmap(of_matrix)
    return of_matrix(compressed)


def _uncompressed(begins: Any, count: int) -> Any:
    rows = jnp.arange(begins.shape[0] - 1, dtype=np.int64)
    return jnp.repeat(rows, jnp.diff(begins), total_repeat_length=count)


@op("grouped_softmax", namespaces=(), method=False, grad_name="SparseSoftmaxBackward0")
def grouped_softmax(values: Input, groups: Input, count: Int, log: Bool):
    """Return the softmax, or its logarithm, over the values (n, …) of each of ``count`` groups."""
    largest = lax.stop_gradient(jax.ops.segment_max(values, groups, count))
    shifted = values - largest[groups]
    total = jax.ops.segment_sum(jnp.exp(shifted), groups, count)[groups]
    return shifted - jnp.log(total) if log else jnp.exp(shifted) / total
