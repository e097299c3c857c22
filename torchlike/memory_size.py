"""How much memory a tensor may ask for: sizes that overflow, and memory that cannot be had.

XLA ends the process over a size whose bytes 64 bits do not count, so such a size is refused
before XLA sees it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from torchlike import errors

_BEYOND = 2**63


def check_count(shape: Sequence[Any]) -> None:
    """RuntimeError, in PyTorch's words, for a shape whose elements 64 bits do not count.

    A size that only an exported program knows is not looked at.
    """
    if not all(type(n) is int for n in shape):
        return
    if math.prod(shape) >= _BEYOND:
        raise RuntimeError("numel: integer multiplication overflow")
    if math.prod(n or 1 for n in shape) >= _BEYOND:  # empty, but its strides are not
        raise RuntimeError("Stride calculation overflowed")


def check_bytes(shape: Sequence[Any], itemsize: int) -> None:
    """RuntimeError, in PyTorch's words, for a shape whose elements or bytes 64 bits do not count.

    A size that only an exported program knows is not looked at.
    """
    check_count(shape)
    if all(type(n) is int for n in shape) and math.prod(shape) * itemsize >= _BEYOND:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")


@contextlib.contextmanager
def allocating(shape: Sequence[Any], dtype: Any) -> Iterator[None]:
    """OutOfMemoryError in place of NumPy's and XLA's errors for memory that cannot be had.

    RuntimeError before anything is tried where the size overflows.
    """
    check_bytes(shape, dtype.itemsize)
    try:
        yield
    except MemoryError:
        raise _not_enough(shape, dtype) from None
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        raise _not_enough(shape, dtype) from None


def _not_enough(shape: Sequence[Any], dtype: Any) -> errors.OutOfMemoryError:
    return errors.OutOfMemoryError(
        f"not enough memory: you tried to allocate {math.prod(shape) * dtype.itemsize} bytes "
        f"(a tensor of size {list(shape)})"
    )
