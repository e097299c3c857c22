"""Questions that a tensor answers about itself: where it lies, and in which order."""

from __future__ import annotations

from typing import Any

from torchlike._core.dispatch.registry import composite
from torchlike._core.dispatch.schema import require_tensor
from torchlike._core.layouts import memory_format
from torchlike.tensor import Tensor, add_method

_NO_FLAG = "The ambiguity_check argument must be a bool or a list of memory formats."
_AMBIGUOUS = (
    "The tensor does not have unique dim order, or cannot map to exact one of the given memory "
    "formats."
)


def _order(sizes: Any, strides: Any) -> tuple[int, ...]:
    """Return the dimensions by falling stride. An expanded one (stride 0) stays where it is, as
    PyTorch's insertion sort leaves it; of equal strides the longer dimension is the slower one."""
    order = list(range(len(sizes)))[::-1]  # from the fastest
    for i in range(1, len(order)):
        at = i
        for before in range(i - 1, -1, -1):
            a, b = order[before], order[at]
            if 0 in (strides[a], strides[b]):
                continue
            if strides[a] < strides[b]:
                break
            if (strides[a], sizes[a]) > (strides[b], sizes[b]):
                order[before], order[at], at = b, a, before
    return tuple(order[::-1])


def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """Return the dimensions from the one that changes slowest in memory to the fastest.

    ambiguity_check: True raises RuntimeError when another order would be as right (dimensions of
    size 1, or of equal strides); a list of memory formats, when it is as right for two of them.
    """
    strides, sizes = self.stride(), self.shape
    order = _order(sizes, strides)
    if ambiguity_check is True:
        if 1 in sizes or len(set(strides)) < len(strides):
            raise RuntimeError(_AMBIGUOUS)
    elif isinstance(ambiguity_check, list):
        if not all(isinstance(f, memory_format) for f in ambiguity_check):
            raise TypeError(_NO_FLAG)
        fitting = [f for f in ambiguity_check if self.is_contiguous(memory_format=f)]
        if len(fitting) != 1:
            raise RuntimeError(_AMBIGUOUS)
        return fitting[0].order(self.dim()) or tuple(range(self.dim()))
    elif ambiguity_check is not False:
        raise TypeError(_NO_FLAG)
    return order


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Return whether both tensors lie at the same place of one memory, with one shape and one set
    of strides."""
    return (
        self._storage is tensor._storage
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
        and self.storage_offset() == tensor.storage_offset()
    )


def const_data_ptr(self: Tensor) -> int:
    """Return ``data_ptr()``: arrays are never written where they lie."""
    return self.data_ptr()


for _method in (dim_order, is_set_to, const_data_ptr):
    add_method(_method.__name__, _method)


@composite()
def is_distributed(input: Tensor) -> bool:
    """Return False: a tensor lives in one process."""
    require_tensor(input, "is_distributed")
    return False


@composite(method=False)
def get_device(input: Tensor) -> int:
    """Return ``input.get_device()``."""
    return input.get_device()
