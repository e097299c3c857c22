"""Products with a sparse matrix, given as indices (2, nnz) and values (nnz,), by JAX's BCOO."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._dispatch.registry import op
from torchlike._dispatch.schema import Bool, Input, Int, Str
from torchlike._ops.indexing.gathering import type_name
from torchlike._runtime.lazy import LazyModule

sparse = LazyModule("jax.experimental.sparse")


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
            f"{type_name(values)} and {type_name(dense)}"
        )


@op("sparse_matmul", namespaces=(), method=False, grad_name="SparseAddmmBackward0",
    needs={"values": ["indices", "dense"], "dense": ["indices", "values"]})  # fmt: skip
def sparse_matmul(indices: Input, values: Input, dense: Input, rows: Int, columns: Int):
    """A (rows, columns) sparse matrix times a dense vector or matrix."""
    _check(values, dense, columns)
    matrix = sparse.BCOO((values, indices.T), shape=(rows, columns))
    return matrix @ dense


@op("sparse_reduce_matmul", namespaces=(), method=False, grad_name="SparseMmReduceImplBackward0")
def sparse_reduce_matmul(indices: Input, values: Input, dense: Input, rows: Int, columns: Int,
                         reduce: Str):  # fmt: skip
    """The product with another reduction than a sum: over the elements that are there, 0 where a
    row has none. Maxima share their gradient among ties."""
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
    """The elements of ``mat1 @ mat2`` at ``indices`` (2, nnz), without making the product."""
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
    return jnp.sum(mat1[row] * mat2[:, column].T, 1)


@op("coalesced_values", namespaces=(), method=False, needs={"values": ["slot"]},
    grad_name="CoalesceBackward0")  # fmt: skip
def coalesced_values(values: Input, slot: Input, count: Int, any_of: Bool):
    """Values with the same slot added (bools: or)."""
    if any_of:
        return jnp.zeros((count, *values.shape[1:]), np.bool_).at[slot].max(values)
    return jnp.zeros((count, *values.shape[1:]), values.dtype).at[slot].add(values)


@op("uncompressed_indices", namespaces=(), method=False, differentiable=False)
def uncompressed_indices(compressed: Input, count: Int):
    """The row (*batch, count) of each element, of where the rows begin (*batch, rows + 1)."""

    def of_matrix(begins: Any) -> Any:
        return jnp.searchsorted(begins, jnp.arange(count, dtype=begins.dtype), side="right") - 1

    for _ in range(compressed.ndim - 1):
        of_matrix = jax.vmap(of_matrix)
    return of_matrix(compressed).astype(np.int64)


@op("grouped_softmax", namespaces=(), method=False, grad_name="SparseSoftmaxBackward0")
def grouped_softmax(values: Input, groups: Input, count: Int, log: Bool):
    """Softmax, or its logarithm, over the values (n, …) of each of ``count`` groups."""
    largest = lax.stop_gradient(jax.ops.segment_max(values, groups, count))
    shifted = values - largest[groups]
    total = jax.ops.segment_sum(jnp.exp(shifted), groups, count)[groups]
    return shifted - jnp.log(total) if log else jnp.exp(shifted) / total
