"""torch.Size."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, SupportsIndex


class SizeSymbol:
    """A number that stands for any size, such as a `SymInt`: a `Size` holds it as it is."""

    __slots__ = ()


class Size(tuple[int, ...]):
    """The shape of a tensor: a tuple of ints that prints as ``torch.Size([2, 3])``. TypeError for
    an entry that is no integer."""

    __module__ = "torchlike"
    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Size:
        return tuple.__new__(cls, [_integer(at, n) for at, n in enumerate(sizes)])

    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        item = tuple.__getitem__(self, index)
        return size_of(item) if isinstance(index, slice) else item

    def __add__(self, other: Any) -> Size:
        if not isinstance(other, tuple):
            return NotImplemented
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: Iterable[int]) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times: SupportsIndex) -> Size:
        return size_of(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[object, ...]:
        return Size, (tuple(self),)


def _integer(at: int, n: Any) -> int:
    if type(n) is int:
        return n
    if isinstance(n, SizeSymbol):
        return n  # type: ignore[return-value]  # a symbol, or the size of a ragged dimension
    if not hasattr(n, "__index__"):
        raise TypeError(
            f"torch.Size() takes an iterable of 'int' (item {at} is '{type(n).__name__}')"
        )
    return n.__index__()


#: ``size_of(ints)``: a Size of what is known to be ints, as each ``x.shape`` is.
size_of = functools.partial(tuple.__new__, Size)
