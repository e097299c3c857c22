"""``torchlike.jit.pad_to_bucket``: inputs of many lengths in a few shapes, each compiled once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from torchlike._core import errors
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.tensor import Tensor


def bucket_of(size: int, buckets: Sequence[int] | None = None) -> int:
    """Return the smallest bucket that holds ``size``; without buckets, the next power of two.

    Args:
      size: how many elements there are.
      buckets: the sizes, in ascending order.

    Returns:
      the bucket, ``size`` or more.

    Raises:
      ValueError: every bucket is smaller, or they are not in ascending order.

    Example:
      >>> torchlike.jit.bucket_of(20), torchlike.jit.bucket_of(20, [16, 48, 96])
      (32, 48)
    """
    if buckets is None:
        return 1 << max(size - 1, 0).bit_length()
    if list(buckets) != sorted(set(buckets)):
        raise ValueError(f"buckets must be different and in ascending order, not {buckets}")
    at = bisect_left(buckets, size)
    if at == len(buckets):
        raise ValueError(f"no bucket holds {size}: the largest of {list(buckets)} is smaller")
    return buckets[at]


def pad_to_bucket(
    x: Tensor, dim: int = -1, *, buckets: Sequence[int] | None = None, value: Any = 0
) -> Tensor:
    """Pad ``x`` with ``value`` behind it, so that dimension ``dim`` has the size of a bucket.

    For what is given to a function compiled by ``torchlike.jit``, which compiles once for each
    shape: sentences of 1 to 1,000 tokens have ten powers of two for shapes. Call it outside of the
    function; what the function may not count (in a loss, an average, attention) it masks, by a
    ``value`` that it ignores (``ignore_index``, a padding token) or by the true length as a tensor.

    Args:
      x: a tensor with at least one dimension.
      dim: which dimension to pad.
      buckets: the sizes, ascending; by default the powers of two.
      value: what to fill up with.

    Raises:
      ValueError: no bucket holds the size.
      IndexError: ``x`` has no such dimension.

    Returns:
      a tensor with ``x`` in front; ``x`` itself where its size is that of a bucket.

    Example:
      >>> torchlike.jit.pad_to_bucket(torch.tensor([[5, 6, 7]]), value=-100)
      tensor([[   5,    6,    7, -100]])
    """
    if not x.dim():
        raise errors.dimension_out_of_range(dim, 0)
    dim = errors.wrap_dim(dim, x.dim())
    missing = bucket_of(x.shape[dim], buckets) - x.shape[dim]
    if not missing:
        return x
    # From the last dimension backwards, a pair for each: before, behind.
    behind = [0] * (2 * (x.dim() - 1 - dim)) + [0, missing]
    return NAMESPACES["nn.functional"]["pad"](x, behind, value=value)
