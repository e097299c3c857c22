"""Products with a sparse matrix, by JAX's BCOO and BCSR."""

from __future__ import annotations

import functools
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


@op("csr_matmul", namespaces=(), method=False, grad_name="SparseAddmmBackward0",
    needs={"values": ["compressed", "plain", "dense"],
           "dense": ["compressed", "plain", "values"]})  # fmt: skip
def csr_matmul(compressed: Input, plain: Input, values: Input, dense: Input, columns: Int):
    """A matrix in CSR times a dense vector or matrix.

    10,000 x 10,000 with 100,000 elements times 64 columns: 0.9 ms, in coordinate form 3.1.
    """
    _check(values, dense, columns)
    return _csr_product(compressed, plain, values, dense, columns)


@functools.partial(jax.custom_jvp, nondiff_argnums=(4,))
def _csr_product(compressed: Any, plain: Any, values: Any, dense: Any, columns: int) -> Any:
    shape = (compressed.shape[0] - 1, columns)
    return sparse.BCSR((values, plain, compressed), shape=shape) @ dense


@_csr_product.defjvp
def _csr_product_jvp(columns: int, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Tangents in coordinate form, whose transpose is a product again: BCSR's takes 100 times as
    long as its product."""
    compressed, plain, values, dense = primals
    rows = _uncompressed(compressed, plain.shape[0])
    at = jnp.stack([rows, plain.astype(rows.dtype)], 1)
    shape = (compressed.shape[0] - 1, columns)
    by_values, by_dense = (
        sparse.BCOO((held, at), shape=shape, indices_sorted=True, unique_indices=True) @ factor
        for held, factor in ((tangents[2], dense), (values, tangents[3]))
    )
    return _csr_product(compressed, plain, values, dense, columns), by_values + by_dense


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

    of_matrix = functools.partial(_uncompressed, count=count)
    for _ in range(compressed.ndim - 1):
        of_matrix = jax.vmap(of_matrix)
    return of_matrix(compressed)


def _uncompressed(begins: Any, count: int) -> Any:
    rows = jnp.arange(begins.shape[0] - 1, dtype=np.int64)
    return jnp.repeat(rows, jnp.diff(begins), total_repeat_length=count)


@op("grouped_softmax", namespaces=(), method=False, grad_name="SparseSoftmaxBackward0")
def grouped_softmax(values: Input, groups: Input, count: Int, log: Bool):
    """Softmax, or its logarithm, over the values (n, …) of each of ``count`` groups."""
    largest = lax.stop_gradient(jax.ops.segment_max(values, groups, count))
    shifted = values - largest[groups]
    total = jax.ops.segment_sum(jnp.exp(shifted), groups, count)[groups]
    return shifted - jnp.log(total) if log else jnp.exp(shifted) / total
