"""The size of a ragged dimension: a number that differs from sequence to sequence, by name."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from torchlike._compat.symbolic import SymInt
from torchlike.tensor import Tensor

_INDETERMINATE = "ge: relation is indeterminate"
_numbers = itertools.count(1)
#: Of each tensor of offsets or lengths, by its id: the tensor, and the size that it stands for.
_known: dict[int, tuple[weakref.ref[Tensor], NestedInt]] = {}


class NestedInt(SymInt):
    """``j1``, and ``3*j1`` where such a dimension was joined with one of size 3.

    Two are equal where they come from the same tensor of offsets. Which is greater is known of
    multiples of one alone, and beside numbers up to 2, which it is never less than: ValueError.
    """

    def __init__(self, number: int, coefficient: int = 1) -> None:
        self.number = number
        self.coefficient = coefficient

    def __repr__(self) -> str:
        name = f"j{self.number}"
        return name if self.coefficient == 1 else f"{self.coefficient}*{name}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NestedInt) and (self.number, self.coefficient) == (
            other.number,
            other.coefficient,
        )

    def __hash__(self) -> int:
        return hash(self.number)

    def __mul__(self, other: Any) -> NestedInt:
        return (
            NestedInt(self.number, self.coefficient * other)
            if type(other) is int
            else (NotImplemented)
        )

    __rmul__ = __mul__

    def _is_at_least(self, other: Any) -> bool:
        if isinstance(other, NestedInt) and other.number == self.number:
            return self.coefficient >= other.coefficient
        if isinstance(other, int) and other <= 2:
            return True
        raise ValueError(_INDETERMINATE)

    def _is_at_most(self, other: Any) -> bool:
        """Return whether this size is at most the other."""
        if isinstance(other, NestedInt):
            return other._is_at_least(self)
        if isinstance(other, int) and other < 2:
            return False
        raise ValueError(_INDETERMINATE)

    def __ge__(self, other: Any) -> bool:
        return self._is_at_least(other)

    def __lt__(self, other: Any) -> bool:
        return not self._is_at_least(other)

    def __le__(self, other: Any) -> bool:
        return self._is_at_most(other)

    def __gt__(self, other: Any) -> bool:
        return not self._is_at_most(other)

    def __deepcopy__(self, memo: Any) -> NestedInt:
        return self


def nested_int_of(source: Tensor) -> NestedInt:
    """Return the size that a tensor of offsets (or of lengths) stands for, always the same."""
    key = id(source)
    found = _known.get(key)
    if found is not None and found[0]() is source:
        return found[1]
    made = NestedInt(next(_numbers))
    _known[key] = weakref.ref(source, lambda _: _known.pop(key, None)), made
    return made


class _Registry:
    """PyTorch's table of them, by tensors of offsets or lengths: two tensors may stand for one."""

    def __getitem__(self, source: Tensor) -> NestedInt:
        return nested_int_of(source)

    def get(self, source: Tensor, default: Any = None) -> Any:
        """Return the size that a tensor stands for, or the default where none was asked for."""
        found = _known.get(id(source))
        return found[1] if found is not None and found[0]() is source else default

    def __setitem__(self, source: Tensor, size: NestedInt) -> None:
        key = id(source)
        _known[key] = weakref.ref(source, lambda _: _known.pop(key, None)), size

    def __contains__(self, source: Tensor) -> bool:
        return self.get(source) is not None


tensor_symint_registry = _Registry()
