"""Plain Python values: when two are the same to a graph, and the base of the guards on them."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._jit.guards.guard import Guard
from torchlike.tensor import Tensor

VALUES = (int, float, complex, bool, str, bytes, type(None), np.generic)


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING: Any = _Missing()


def same(a: Any, b: Any) -> bool:
    """Return whether two objects are the same to a graph: plain values by value (0.0 is not -0.0, 1
    is not True, NaN is NaN), everything else by identity."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b) or not issubclass(kind, VALUES):
        return False
    if isinstance(a, float) and not isinstance(a, np.generic):
        return a.hex() == b.hex()
    if kind is complex:
        return repr(a) == repr(b)
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return bool(a == b)


def equal_tuples(a: Any, b: Any) -> bool:
    """Return whether two values are equal tuples of plain values, such as an optimizer's
    ``betas``."""
    return type(a) is tuple and type(b) is tuple and len(a) == len(b) and all(map(same, a, b))


def describe(value: Any) -> str:
    """Describe a value in a few words, for messages."""
    if isinstance(value, weakref.ProxyTypes):  # nothing else can be asked of one that is dead
        return f"{type(value).__name__} object at {id(value):#x}"
    if isinstance(value, Tensor):
        return f"tensor of shape {list(value.shape)} at {id(value):#x}"
    if isinstance(value, (*VALUES, list, tuple, dict, set, _Missing)):
        text = repr(value) if not _holds_tensors(value) else f"{type(value).__name__} of tensors"
        return text if len(text) <= 60 else text[:57] + "..."
    name = getattr(value, "__qualname__", None)
    return name if isinstance(name, str) else f"{type(value).__name__} object at {id(value):#x}"


def _holds_tensors(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, (list, tuple, dict, set)) and any(
        not isinstance(x, VALUES) for x in itertools.islice(items, 1000)
    )


class ValueGuard(Guard):
    """Base: a value that Python keeps somewhere, its label for messages, and who owns it.

    It is compared at each call, at ~50 ns, so each kind is one tight method.
    """

    __slots__ = ("label", "owner")

    def __init__(self, owner: Any, label: str) -> None:
        self.owner = owner
        self.label = label

    @property
    def holder(self) -> Any:
        """The object that has it."""
        return self.owner

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"`{self.label}` changed: {describe(self.before())} → {describe(self.now())}"

    def before(self) -> Any:
        """Return the value as it was."""
        raise NotImplementedError

    def now(self) -> Any:
        """Return the value as it is."""
        raise NotImplementedError

    def restore(self) -> None:
        """Put the value back as it was."""
        raise NotImplementedError
