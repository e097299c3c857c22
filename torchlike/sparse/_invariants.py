"""Whether indices and values fit each other and a size, in PyTorch's words."""

from __future__ import annotations

import numpy as np

from torchlike._core import dtypes
from torchlike.sparse._kinds import CompressedLayout
from torchlike.tensor import Tensor


def check_shapes(
    kind: CompressedLayout, compressed: Tensor, plain: Tensor, values: Tensor, size: tuple[int, ...]
) -> None:
    """Raise RuntimeError unless the three have the ranks and sizes that a tensor of ``size``
    needs."""
    _check_ranks(kind, compressed, plain, values)
    n_batch = compressed.dim() - 1
    n_block = 2 * kind.in_blocks
    n_dense = values.dim() - n_batch - n_block - 1
    if len(size) != n_batch + 2 + n_dense:
        raise RuntimeError(
            "tensor dimensionality must be sum of batch, base, and dense dimensionalities "
            f"(={n_batch} + 2 + {n_dense}) but got {len(size)}"
        )
    block = values.shape[n_batch + 1 : n_batch + 3] if kind.in_blocks else (1, 1)
    for i in range(2):
        if block[i] and size[n_batch + i] % block[i]:
            raise RuntimeError(
                f"tensor shape[{i}] (={size[n_batch + i]}) must be divisible with blocksize[{i}] "
                f"(={block[i]}) as defined by values shape"
            )
    n = size[n_batch + (not kind.by_rows)] // block[not kind.by_rows]
    if compressed.shape[-1] != n + 1:
        raise RuntimeError(
            f"{kind.compressed}.shape[-1] must be equal to the number of "
            f"{kind.outer}{' block' * kind.in_blocks}s + 1 (={n + 1}), but got "
            f"{compressed.shape[-1]}"
        )
    nnz = values.shape[n_batch]
    if plain.shape[-1] != nnz:
        raise RuntimeError(
            f"{kind.plain}.shape[-1] must be equal to nnz (={nnz}) as defined by "
            f"values.shape[{n_batch}], but got {plain.shape[-1]}"
        )
    batches = [tuple(part.shape[:n_batch]) for part in (compressed, plain, values)]
    if {*batches, size[:n_batch]} != {size[:n_batch]}:
        raise RuntimeError(
            f"all batch dimensions of {kind.compressed} (={list(batches[0])}), {kind.plain} "
            f"(={list(batches[1])}), and values (={list(batches[2])}) must be equal to tensor "
            f"batch dimensions (={list(size[:n_batch])})"
        )


def _check_ranks(kind: CompressedLayout, compressed: Tensor, plain: Tensor, values: Tensor) -> None:
    if compressed.dim() != plain.dim():
        raise RuntimeError(
            f"{kind.compressed} and {kind.plain} dimensionalities must be equal but got "
            f"{compressed.dim()} and {plain.dim()}, respectively"
        )
    if not compressed.dim():
        raise RuntimeError(f"{kind.compressed} must have dimensionality >= 1 but got 0")
    n_batch, n_block = compressed.dim() - 1, 2 * kind.in_blocks
    if values.dim() <= n_batch + n_block:
        raise RuntimeError(
            "values must have dimensionality > sum of batch and block dimensionalities "
            f"(={n_batch} + {n_block}) but got {values.dim()}"
        )
    if compressed.dtype is not plain.dtype:
        raise RuntimeError(
            f"{kind.compressed} and {kind.plain} must have the same dtype, bot got "
            f"{dtypes.scalar_type(compressed.dtype)} and {dtypes.scalar_type(plain.dtype)}, "
            "respectively"
        )
    if compressed.dtype not in (dtypes.int32, dtypes.int64):
        raise RuntimeError(
            f"{kind.compressed} and {kind.plain} dtype must be Int or Long, but got "
            f"{dtypes.scalar_type(compressed.dtype)}"
        )


def check_indices(
    kind: CompressedLayout, compressed: np.ndarray, plain: np.ndarray, n_inner: int, in_order: bool
) -> None:
    """Raise RuntimeError unless the indices are in range and, with ``in_order``, sorted and
    distinct."""
    nnz = plain.shape[-1]
    name, other = kind.compressed, kind.plain
    outer = f"n{'rows' if kind.by_rows else 'cols'}"
    inner = f"n{'cols' if kind.by_rows else 'rows'}"
    counts = np.diff(compressed, axis=-1)
    inside = np.repeat(np.arange(counts.size), np.maximum(counts, 0).reshape(-1))
    checks = [
        (f"{name}[..., 0] == 0", lambda: (compressed[..., 0] == 0).all()),
        (f"{name}[..., -1] == nnz", lambda: (compressed[..., -1] == nnz).all()),
        (
            f"0 <= {name}[..., 1:] - {name}[..., :-1] <= {inner}",
            lambda: ((counts >= 0) & (counts <= n_inner)).all(),
        ),
        (f"0 <= {other} < {inner}", lambda: ((plain >= 0) & (plain < n_inner)).all()),
    ]
    if in_order:
        words = (
            f"{other}[..., {name}[..., i - 1]:{name}[..., i]] for all i = 1, ..., {outer} are "
            "sorted and distinct along the last dimension values"
        )
        places = inside * max(n_inner, 1)
        checks.append((words, lambda: (np.diff(places + plain.reshape(-1)) > 0).all()))
    for words, holds in checks:
        if not holds():
            raise RuntimeError(f"`{words}` is not satisfied.")
