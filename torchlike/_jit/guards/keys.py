"""Makes hashable keys of a call's arguments: they choose the programs that may fit."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from torchlike._core import devices
from torchlike._core.size import Size

#: Values that cannot change, compared by value.
_BY_VALUE = frozenset((int, bool, str, bytes, type(None), type(...), Size, devices.device))


class ObjectKey:
    """An argument that is what it is: an object, compared by identity and kept alive.

    Not by its ``__eq__``: two objects may call themselves equal and hold different numbers.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is ObjectKey and other.value is self.value

    def __repr__(self) -> str:
        return f"{type(self.value).__name__} object at {id(self.value):#x}"


class NoKey(TypeError):
    """An argument that no key describes: a NumPy array, whose numbers may change, or a list that
    is nested too deeply."""


def static_key(leaf: Any) -> Any:
    """Return the key of an argument that is no tensor; raise `NoKey` for a NumPy array."""
    kind = type(leaf)
    if kind in _BY_VALUE:
        return kind, leaf
    if kind is float:
        return kind, leaf.hex()  # 0.0 is not -0.0, and NaN is NaN
    if kind is complex:
        return kind, repr(leaf)
    # {1} equals {True}, and code may go through a set in its order; tuples are in sets.
    if kind is frozenset or kind is tuple:
        return kind, tuple(map(static_key, leaf))
    if kind is range:  # two are equal that give the same numbers, whatever their ends
        return kind, leaf.start, leaf.stop, leaf.step
    if kind is slice:
        return kind, static_key(leaf.start), static_key(leaf.stop), static_key(leaf.step)
    if isinstance(leaf, np.generic):
        return kind, leaf.dtype, leaf.tobytes()
    if isinstance(leaf, np.ndarray):
        raise NoKey(
            "a NumPy array was passed to a jitted function, where it would be frozen: pass "
            "torchlike.from_numpy(array)"
        )
    if kind is types.MethodType:
        return kind, ObjectKey(leaf.__self__), ObjectKey(leaf.__func__)
    if kind is functools.partial:
        names = tuple(leaf.keywords)
        parts = [static_key(v) for v in (*leaf.args, *leaf.keywords.values())]
        return kind, static_key(leaf.func), names, tuple(parts)
    if isinstance(leaf, (int, float, str, bytes)):  # subclasses: an enum's members, np.str_
        is_own = hasattr(kind, "__members__") or bool(getattr(leaf, "__dict__", None))
        return kind, ObjectKey(leaf) if is_own else (kind, repr(leaf))
    return ObjectKey(leaf)
