"""How much memory a tensor may ask for: sizes that overflow, and memory that cannot be had.

XLA ends the process over a size whose bytes 64 bits do not count, so such a size is refused
before XLA sees it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import jax

from torchlike._core import errors

if TYPE_CHECKING:
    import numpy as np

_BEYOND = 2**63


def check_count(shape: Sequence[int]) -> None:
    """Raise RuntimeError, in PyTorch's words, for a shape whose elements 64 bits do not count.

    A size that only an exported program knows is not looked at.
    """
    for n in shape:
        if type(n) is not int:
            return
    count = math.prod(shape)
    if count >= _BEYOND:
        raise RuntimeError("numel: integer multiplication overflow")
    if not count and math.prod([n or 1 for n in shape]) >= _BEYOND:  # its strides are not empty
        raise RuntimeError("Stride calculation overflowed")


def check_bytes(shape: Sequence[int], itemsize: int) -> None:
    """Raise RuntimeError, in PyTorch's words, for a shape whose elements or bytes 64 bits do not
    count.

    A size that only an exported program knows is not looked at.
    """
    check_count(shape)
    for n in shape:
        if type(n) is not int:
            return
    if math.prod(shape) * itemsize >= _BEYOND:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")


class allocating:
    """OutOfMemoryError in place of NumPy's and XLA's errors for memory that cannot be had.

    RuntimeError before anything is tried where the size overflows. (A class: a generator costs 2 µs
    more, of the 9 that ``zeros(3)`` takes.)
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Sequence[int], dtype: np.dtype) -> None:
        self._shape, self._dtype = shape, dtype

    def __enter__(self) -> None:
        check_bytes(self._shape, self._dtype.itemsize)

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is None:
            return
        if isinstance(error, MemoryError) or (
            isinstance(error, jax.errors.JaxRuntimeError) and "RESOURCE_EXHAUSTED" in str(error)
        ):
            raise _not_enough(self._shape, self._dtype) from None


def _not_enough(shape: Sequence[int], dtype: np.dtype) -> errors.OutOfMemoryError:
    return errors.OutOfMemoryError(
        f"not enough memory: you tried to allocate {math.prod(shape) * dtype.itemsize} bytes "
        f"(a tensor of size {list(shape)})"
    )
