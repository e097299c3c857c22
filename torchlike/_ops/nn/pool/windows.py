"""Where a kernel lies on an image: how many places it has, what each of its elements sees."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence


def fitting(
    sizes: Iterable[int], kernel: Iterable[int], stride: Iterable[int], dilation: Iterable[int]
) -> tuple[int, ...]:
    """Return how many windows fit along each dimension of a padded image (0 or less where none
    does)."""
    return tuple(
        (size - d * (k - 1) - 1) // s + 1
        for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True)
    )


def windows(
    kernel: Sequence[int], out: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Yield for each place of the kernel what it sees of a padded image."""
    for offset in itertools.product(*map(range, kernel)):
        yield (
            offset,
            tuple(
                slice(i * d, i * d + (o - 1) * s + 1, s)
                for i, d, o, s in zip(offset, dilation, out, stride, strict=True)
            ),
        )
