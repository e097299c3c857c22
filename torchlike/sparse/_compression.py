"""Compressed tensors of dense ones, of coordinates and of other compressed ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import ints
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike._ops.linalg.sparse_products import coalesced_values
from torchlike.sparse._compressed import CompressedTensor
from torchlike.sparse._elsewhere import converted, follow, in_coordinates
from torchlike.sparse._kinds import KINDS, CompressedLayout
from torchlike.sparse._tensor import SparseTensor, compressing
from torchlike.tensor import Tensor

_INSTEAD = "the compressed tensor, made outside the jit"


def of_dense(
    t: Tensor, kind: CompressedLayout, block: tuple[int, ...] | None, dense_dim: int
) -> CompressedTensor:
    """Compress the elements of a dense tensor that are not zero; of blocks, those with such an
    element."""
    n = t.dim() - dense_dim
    if n < 2:
        raise RuntimeError(
            f"dense_to_{kind.layout!r}".replace("torch.", "")
            + f": expected a tensor with at least 2 dimensions that are not dense, got {n}"
        )
    rows, columns = t.shape[n - 2 : n]
    if block is not None and (rows % block[0] or columns % block[1]):
        raise RuntimeError(
            f"dense_to_{kind.layout!r}".replace("torch.", "")
            + f": tensor sparse size ({rows},{columns}) must be divisible by given blocksize "
            f"({block[0]},{block[1]})"
        )
    there = t.detach()._value(f"to_{kind.layout!r}".replace("torch.", ""), _INSTEAD) != 0
    if dense_dim:
        there = there.any(tuple(range(n, t.dim())))
    at = make_tensor(np.stack(np.nonzero(there)).astype(np.int64))
    return of_coordinates(at, t[tuple(at)], tuple(t.shape), kind, block)


def of_coordinates(
    at: Tensor,
    values: Tensor,
    size: tuple[int, ...],
    kind: CompressedLayout,
    block: tuple[int, ...] | None,
) -> CompressedTensor:
    """Compress ``values`` (n, *dense sizes) at indices (batch dimensions + 2, n), which are
    distinct.

    RuntimeError where the matrices of a batch have different numbers of elements.
    """
    known = at._value(f"to_{kind.layout!r}".replace("torch.", ""), _INSTEAD)
    *batch, rows, columns = known
    batch_size = size[: len(batch)]
    high, wide = block or (1, 1)
    n_outer, n_inner = size[len(batch)] // high, size[len(batch) + 1] // wide
    outer, inner = rows // high, columns // wide
    if not kind.by_rows:
        outer, inner, n_outer, n_inner = inner, outer, n_inner, n_outer
    which = np.ravel_multi_index(tuple(batch), batch_size) if batch else np.zeros_like(rows)
    key, slot = np.unique((which * n_outer + outer) * n_inner + inner, return_inverse=True)
    slot = slot.reshape(-1)
    matrices = math.prod(batch_size)
    counts = np.bincount(key // max(n_inner, 1), minlength=matrices * n_outer)
    counts = counts.reshape(matrices, n_outer)
    if len({*counts.sum(1)}) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    nnz = key.size // max(matrices, 1)
    begins = np.concatenate([np.zeros((matrices, 1), np.int64), counts.cumsum(1)], 1)
    if block is None:
        held = _in_order(values, slot, key.size)
    else:
        places = [make_tensor(i.astype(np.int64)) for i in (slot, rows % high, columns % wide)]
        held = values.new_zeros((key.size, high, wide, *values.shape[1:]))
        held = held.index_put(tuple(places), values, accumulate=values.dtype is not dtypes.bool)
    return CompressedTensor(
        make_tensor(begins.reshape(*batch_size, n_outer + 1).astype(np.int64)),
        make_tensor((key % max(n_inner, 1)).reshape(*batch_size, nnz).astype(np.int64)),
        held.reshape(*batch_size, nnz, *held.shape[1:]),
        size,
        kind.layout,
    )


def _in_order(values: Tensor, slot: np.ndarray, count: int) -> Tensor:
    """Return the values, each in its slot; those of one slot are added."""
    if count < slot.size:
        places = make_tensor(slot.astype(np.int64))
        return coalesced_values(values, places, count, values.dtype is dtypes.bool)
    order: Any = np.argsort(slot, kind="stable")
    if (order == np.arange(count)).all():
        return values
    return values[make_tensor(order.astype(np.int64))]


def _check_block(t: Any, layout: Any, block: Sequence[int]) -> None:
    of = "sparse_compressed" if isinstance(t, CompressedTensor) else "dense"
    name = f"{of}_to_{str(layout).removeprefix('torch.')}"
    if len(block) != 2:
        raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(block)}")
    if min(block) < 1:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got {list(block)}")
    if isinstance(t, CompressedTensor):
        rows, columns = t.shape[t.n_batch() : t.n_batch() + 2]
        if rows % block[0] or columns % block[1]:
            raise RuntimeError(
                f"{name}: tensor sparse size ({rows},{columns}) must be divisible by given "
                f"blocksize ({block[0]},{block[1]})"
            )


def compressed(
    t: Any, layout: Any, blocksize: Any = None, dense_dim: Any = None
) -> CompressedTensor:
    """Convert a dense tensor, one in coordinate form or another compressed one to ``layout``.

    RuntimeError for a block size that is missing or does not divide, and for batches whose matrices
    differ in their numbers of elements. JitCaptureError under a jit: which elements are there
    depends on values.
    """
    kind = KINDS[layout]
    block = None
    if kind.in_blocks:
        if isinstance(t, CompressedTensor) and blocksize is None:
            blocksize = t.blocksize()
        if blocksize is None:
            raise RuntimeError(
                f"dense_to_sparse: conversion from Strided to {kind.name} without blocksize "
                "argument given is not supported"
            )
        block = (blocksize, blocksize) if isinstance(blocksize, int) else ints(blocksize)
        _check_block(t, layout, block)
    elif blocksize is not None and not isinstance(t, (CompressedTensor, SparseTensor)):
        raise RuntimeError(
            f"dense_to_sparse: conversion from Strided to {kind.name} with blocksize argument "
            "given is not supported"
        )
    if isinstance(t, CompressedTensor):
        if t.layout is layout and t.blocksize() == block:
            return t
        if t.kind.in_blocks and not kind.in_blocks:
            raise RuntimeError(
                f"sparse_compressed_to_{str(layout).removeprefix('torch.')}: expected SparseCsr or "
                f"SparseCsc layout but got {t.kind.name}"
            )
        found = of_coordinates(*t.coordinates(), tuple(t.shape), kind, block)
        return follow(found, [t], lambda _: in_coordinates)
    if isinstance(t, SparseTensor):
        tidy = t.coalesce()
        if tidy.sparse_dim() != 2:
            raise RuntimeError(
                f"sparse_to_{str(layout).removeprefix('torch.')}: expected 2 sparse dimensions but "
                f"got {tidy.sparse_dim()}"
            )
        found = of_coordinates(tidy._indices(), tidy._values(), tuple(t.shape), kind, block)
        return follow(found, [tidy], lambda _: in_coordinates)
    return converted(of_dense(t, kind, block, dense_dim or 0), t)


def _conversion(kind: CompressedLayout) -> None:
    name = f"to_{str(kind.layout).removeprefix('torch.')}"

    def plainly(self: Any, dense_dim: Any = None) -> CompressedTensor:
        return compressed(self, kind.layout, None, dense_dim)

    def in_blocks(self: Any, blocksize: Any, dense_dim: Any = None) -> CompressedTensor:
        return compressed(self, kind.layout, blocksize, dense_dim)

    method = in_blocks if kind.in_blocks else plainly
    method.__name__ = method.__qualname__ = name
    method.__doc__ = (
        f"What is not zero in layout {kind.layout!r}{', by blocks' * kind.in_blocks}; the last "
        "``dense_dim`` dimensions stay dense. RuntimeError for sizes that do not fit."
    )
    composite(name, namespaces=())(method)
    compressing[kind.layout] = lambda t, blocksize, dense_dim: compressed(
        t, kind.layout, blocksize, dense_dim
    )


for _kind in KINDS.values():
    _conversion(_kind)
