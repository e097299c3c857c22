"""``torch._prims_common``: what subclasses of libraries ask of shapes and memory orders."""

from __future__ import annotations

from collections.abc import Sequence

from torchlike._core import layouts, views
from torchlike._ops.memory_order import suggested_order
from torchlike.tensor import Tensor

__all__ = ["make_contiguous_strides_for", "suggest_memory_format"]


def suggest_memory_format(x: Tensor) -> layouts.memory_format:
    """Return ``torch.channels_last`` or ``channels_last_3d`` for a tensor of 4 or 5 dimensions that
    lies so in memory, else ``torch.contiguous_format``."""
    if suggested_order(x._geometry) is None:
        return layouts.contiguous_format
    return layouts.channels_last if x.dim() == 4 else layouts.channels_last_3d


def make_contiguous_strides_for(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    """Return the strides of a contiguous tensor of a shape; with ``row_major=False`` of matrices
    whose columns are contiguous, as LAPACK wants them."""
    size = tuple(int(n) for n in shape)
    strides = views.contiguous_strides(size)
    if row_major or len(size) < 2:
        return strides
    return (*strides[:-2], 1, max(size[-2], 1))
