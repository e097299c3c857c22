"""How the results of Fourier transforms lie in memory.

PyTorch gives its kernel a matrix whose rows are signals: the transformed dimensions are moved
behind the others, which are ordered by their strides, and the result keeps that order. So
``fft(x, dim=0)`` of a row-major matrix comes out column by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchlike._core import views
from torchlike._ops.memory_order import (
    strides_like,
    suggested_order,
    whatever_the_operands,
)


@whatever_the_operands
def of_transform(result: Any, operands: Sequence[Any], spec: Any, statics: Any) -> None:
    """Set the result's memory order after a transform along one dimension."""
    kind, n, dim, _ = statics
    geometry = operands[0]._geometry
    _order(result, operands[0], kind, [dim % len(geometry.size)], [n])


@whatever_the_operands
def of_transforms(result: Any, operands: Sequence[Any], spec: Any, statics: Any) -> None:
    """Set the result's memory order after a transform along several dimensions."""
    kind, sizes, dims, _ = statics
    rank = len(operands[0]._geometry.size)
    if dims is None:
        dims = range(rank - (rank if sizes is None else len(sizes)), rank)
    dims = [d % rank for d in dims]
    lengths = [None] * len(dims) if sizes is None else [None if n == -1 else n for n in sizes]
    if kind in ("fft", "ifft") or dims:
        _order(result, operands[0], kind, dims, lengths)


def _order(result: Any, operand: Any, kind: str, dims: list[int], lengths: list[Any]) -> None:
    storage, g = result._storage, operand._geometry
    real = kind in ("rfft", "ihfft")
    several = len(dims) > 1
    # fft() takes real numbers as they are, fftn() makes them complex.
    if operand.dtype.is_complex or (operand.is_floating_point() and (real or not several)):
        size, stride = g.size, g.stride
    else:
        size, stride = g.size, strides_like(g)
    size, stride = _resized(size, stride, dims, lengths, kind)
    if kind in ("irfft", "hfft"):
        if several:
            stride = _of_kernel(size, size, stride, _by_stride(dims[:-1], stride))
        dims = dims[-1:]
    elif kind == "ihfft":
        halved = (*size[: dims[-1]], storage.shape[dims[-1]], *size[dims[-1] + 1 :])
        size, stride = halved, _of_kernel(size, halved, stride, dims[-1:])
        dims = _by_stride(dims[:-1], stride)
    elif kind == "rfft":
        dims = [*_by_stride(dims[:-1], stride), dims[-1]]
    else:
        dims = _by_stride(dims, stride)
    storage.strides = _of_kernel(size, storage.shape, stride, dims) if dims else stride


def _resized(
    size: tuple[int, ...],
    stride: tuple[int, ...],
    dims: list[int],
    lengths: list[Any],
    kind: str,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the geometry of the input cut or padded to the sizes asked for; one padded is new
    memory."""
    new, padded = list(size), False
    for i, (d, n) in enumerate(zip(dims, lengths, strict=True)):
        if n is None:
            continue
        if kind in ("irfft", "hfft") and i == len(dims) - 1:
            n = n // 2 + 1
        padded = padded or n > new[d]
        new[d] = n
    if not padded:
        return tuple(new), stride
    order = suggested_order(views.Geometry(size, stride, 0)) or range(len(size))
    return tuple(new), views.dense_strides(tuple(new), tuple(order))


def _by_stride(dims: list[int], stride: tuple[int, ...]) -> list[int]:
    return sorted(dims, key=lambda d: -stride[d])


def _of_kernel(
    size: tuple[int, ...], out: tuple[int, ...], stride: tuple[int, ...], dims: list[int]
) -> tuple[int, ...]:
    """Return the strides of the result: signals row-major, one after the other in the order of the
    batch."""
    batch = sorted((d for d in range(len(size)) if d not in dims), key=lambda d: -stride[d])
    strides, step = [0] * len(size), 1
    for d in [*reversed(dims), *reversed(batch)]:
        strides[d] = step
        step *= out[d]
    return tuple(strides)
