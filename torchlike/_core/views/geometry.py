"""Geometry: PyTorch's size, stride and offset, and what follows from them alone."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple, NoReturn

import numpy as np

from torchlike._core import errors

#: The offset of a view at an index that only the compiled program knows. Arithmetic keeps it so,
#: and comparisons with it are false.
UNKNOWN: Any = math.nan


class Geometry(NamedTuple):
    """Size, stride and storage offset, in elements, as PyTorch reports them."""

    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


class SizeAlone:
    """In a geometry's place: the size of a tensor without memory to step through. NoGeometryError,
    with the words given, for all else, also as the key of a table of views."""

    __slots__ = ("said", "size")

    def __init__(self, size: tuple[int, ...], said: str) -> None:
        self.size, self.said = size, said

    def _refuse(self, *args: object) -> NoReturn:
        raise errors.NoGeometryError(self.said)

    stride = offset = property(_refuse)
    __iter__ = __eq__ = __hash__ = _refuse  # type: ignore[assignment]


@functools.lru_cache(maxsize=4096)
def contiguous(size: tuple[int, ...]) -> Geometry:
    """Return the geometry of an array of its own in row-major order."""
    return Geometry(size, contiguous_strides(size), 0)


def contiguous_strides(size: tuple[int, ...]) -> tuple[int, ...]:
    """Return row-major strides, in which a dimension of size 0 counts as 1, as in PyTorch."""
    strides = []
    step = 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


def is_contiguous(size: tuple[int, ...], stride: tuple[int, ...]) -> bool:
    """Return whether memory order is row-major (dimensions of size 1 do not matter)."""
    if 0 in size:
        return True
    expected = 1
    for n, s in zip(reversed(size), reversed(stride), strict=True):
        if n != 1:
            if s != expected:
                return False
            expected *= n
    return True


def may_overlap(geometry: Geometry) -> bool:
    """Return whether two indices reach one element (so that writing would be ambiguous)."""
    if 0 in geometry.size:
        return False
    reach = 1
    for stride, n in sorted(zip(geometry.stride, geometry.size, strict=True)):
        if n > 1:
            if stride == 0:
                return True
            if stride < reach:  # interleaved: only as_strided and unfold come here
                return not _all_distinct(geometry)
            reach += stride * (n - 1)
    return False


def memory_index(geometry: Geometry) -> np.ndarray:
    """Return where each element lies in memory: an int64 array of the view's size."""
    index = np.full(geometry.size, geometry.offset)
    for d, (n, s) in enumerate(zip(geometry.size, geometry.stride, strict=True)):
        index += (np.arange(n) * s).reshape((-1,) + (1,) * (len(geometry.size) - d - 1))
    return index


def _all_distinct(geometry: Geometry) -> bool:
    index = memory_index(geometry._replace(offset=0))
    return np.unique(index).size == index.size


def dense_order(size: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dimensions from slowest to fastest in memory (stable for equal strides)."""
    return tuple(sorted(range(len(size)), key=lambda d: (-stride[d], d)))


def dense_strides(size: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """Return strides of a gap-free tensor whose dimensions run from slowest to fastest as
    ``order``."""
    strides = [0] * len(size)
    step = 1
    for d in reversed(order):
        strides[d] = step
        step *= max(size[d], 1)
    return tuple(strides)


def view_strides(
    size: tuple[int, ...], stride: tuple[int, ...], new: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Return strides of ``view(new)``, or None where the memory does not allow a view.

    Old dimensions are joined into chunks that are evenly spaced in memory; each chunk must be
    filled exactly by consecutive new dimensions.
    """
    if math.prod(size) == 0:
        return stride if size == new else contiguous_strides(new)
    if not size:
        return (1,) * len(new)
    result = [0] * len(new)
    d = len(new) - 1
    chunk = 1
    base = stride[-1]
    for old in range(len(size) - 1, -1, -1):
        chunk *= size[old]
        ends = old == 0 or (size[old - 1] != 1 and stride[old - 1] != chunk * base)
        if ends:
            filled = 1
            while d >= 0 and (filled < chunk or new[d] == 1):
                result[d] = filled * base
                filled *= new[d]
                d -= 1
            if filled != chunk:
                return None
            if old > 0:
                base = stride[old - 1]
                chunk = 1
    return tuple(result) if d == -1 else None


def check_writable(geometry: Geometry) -> None:
    """Raise RuntimeError in PyTorch's words when a write would reach one element twice."""
    if may_overlap(geometry):
        raise RuntimeError(errors.OVERLAPPING_WRITE)


def is_dense(g: Geometry) -> bool:
    """Return whether the elements fill a stretch of memory without gap or overlap."""
    expected = 1
    for stride, n in sorted(zip(g.stride, g.size, strict=True)):
        if n == 0:
            return True
        if n > 1:
            if stride != expected:
                return False
            expected *= n
    return True


def check_partial_overlap(
    written: Geometry, read: Geometry, *, whole: bool = False, widths: tuple[int, int] = (1, 1)
) -> None:
    """Raise RuntimeError in PyTorch's words when an op would read memory that it is writing to in
    another order (``whole``: in any order). As in PyTorch, only dense tensors are looked at: for
    others the question is too hard, and the value read before the write counts. ``widths`` are the
    bytes of an element of each, where their dtypes may differ.
    """
    wide, narrow = widths
    if written == read and wide == narrow and not whole:
        return
    n, m = math.prod(written.size), math.prod(read.size)
    if not n or not m or not (is_dense(written) and is_dense(read)):
        return
    start, end = written.offset * wide, (written.offset + n) * wide
    other, other_end = read.offset * narrow, (read.offset + m) * narrow
    if not whole and (start, end, written.stride) == (other, other_end, read.stride):
        return
    if start < other_end and other < end:
        raise RuntimeError(errors.PARTIAL_OVERLAP)


def host_view(host: np.ndarray, geometry: Geometry, dtype: np.dtype) -> np.ndarray:
    """Return the NumPy view of a host buffer with this geometry (in elements of ``dtype``),
    writable where the buffer is. ``host`` begins at offset 0 and may itself be strided."""
    if math.prod(geometry.size) == 0:
        return np.empty(geometry.size, dtype)
    strides = tuple([s * dtype.itemsize for s in geometry.stride])
    if host.flags.c_contiguous:
        return np.ndarray(geometry.size, dtype, host, geometry.offset * dtype.itemsize, strides)
    strided = np.lib.stride_tricks.as_strided
    width = host.dtype.itemsize
    reach = -(-((geometry.offset + 1) * dtype.itemsize) // width)
    # Bytes as bytes: as_strided finds dtypes by name, and NumPy has no name for float8_e5m2.
    by_bytes = host.view(np.uint8) if width == 1 else host
    elements = strided(by_bytes, (reach,), (width,))
    elements = elements.view(np.uint8 if dtype.itemsize == 1 else dtype)
    first = elements[geometry.offset : geometry.offset + 1]
    return strided(first, geometry.size, strides).view(dtype)
