"""Guards on the values of arguments that decide sizes: the lengths of a ragged tensor's parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from torchlike._jit.guards.guard import Guard
from torchlike.tensor import Tensor


def values_of(t: Tensor) -> np.ndarray:
    """Return a tensor's values, not to be written."""
    return t._value("its values")


class NumbersGuard(Guard):
    """What a function makes of an argument's values."""

    __slots__ = ("known", "position", "read")
    of_arguments = True

    def __init__(self, position: int, read: Callable[[np.ndarray], Any], known: Any) -> None:
        self.position, self.read, self.known = position, read, known

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.read(values_of(arguments[self.position])) == self.known

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        now = self.read(values_of(arguments[self.position]))
        return f"argument {self.position} has other values: {self.known} → {now}"
