"""Slots: attributes that hold tensors and are rebound rather than written.

``p.grad`` and a module's buffer are slots. A program reads a slot through the tensor that it holds
at the call, and binds a new tensor to it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from torchlike._core import modes
from torchlike.tensor import Tensor


class Slot:
    """An attribute that holds a tensor or None: who has it, its name, its value at first sight."""

    __slots__ = ("argument", "initial", "is_missing", "is_read", "name", "of_tensor", "owner")

    def __init__(self, owner: Any, name: str, argument: int) -> None:
        self.owner = owner
        #: Which argument the owner is, -1 for an object from outside.
        self.argument = argument
        self.name = name
        #: Whether it is a tensor's own (``_grad``), kept in its dictionary and nowhere else.
        self.of_tensor = isinstance(owner, Tensor)
        self.initial = slot_value(owner, name)
        #: Whether there was none, not even None.
        self.is_missing = not self.is_there()
        self.is_read = False

    def value(self, arguments: Sequence[Any]) -> Any:
        """Return the value that the slot holds at a call with these arguments."""
        owner = self.owner if self.argument < 0 else arguments[self.argument]
        if self.of_tensor:
            return owner.__dict__.get(self.name)
        return slot_value(owner, self.name)

    def is_there(self) -> bool:
        """Return whether the owner has an attribute of this name. A tensor always has its own."""
        return self.of_tensor or any(self.name in table for table in _tables(self.owner))

    def remove(self) -> None:
        """Take away what the owner has under this name."""
        for table in _tables(self.owner):
            table.pop(self.name, None)

    def bind(self, arguments: Sequence[Any], value: Any) -> None:
        """Bind the slot at a call with these arguments."""
        owner = self.owner if self.argument < 0 else arguments[self.argument]
        if self.of_tensor:
            owner.__dict__[self.name] = value
        else:
            set_slot(owner, self.name, value)


def _tables(owner: Any) -> Iterator[dict[str, Any]]:
    """Yield the dictionaries in which an owner keeps attributes (a module has three)."""
    own = owner.__dict__
    for table in ("_parameters", "_buffers"):
        if table in own:
            yield own[table]
    yield own


def slot_value(owner: Any, name: str) -> Any:
    """Return the slot's present value, past any property or hook; None when there is none."""
    for table in _tables(owner):
        if name in table:
            return table[name]
    return None


def set_slot(owner: Any, name: str, value: Any) -> None:
    """Bind the slot where it is kept, past any property or hook."""
    for table in _tables(owner):
        if name in table:
            table[name] = value
            return
    owner.__dict__[name] = value


class _Rebound:
    """Slots of modules that some program binds: what they hold differs from call to call, for every
    other program too, whether it was captured before or is captured after."""

    def __init__(self) -> None:
        self._names: dict[int, tuple[weakref.ref[Any], set[str]]] = {}

    def add(self, owner: Any, name: str) -> None:
        """Add a slot; programs that took it for fixed will look again."""
        if self.has(owner, name):
            return
        key = id(owner)
        if key not in self._names:
            self._names[key] = weakref.ref(owner, lambda _: self._names.pop(key, None)), set()
        self._names[key][1].add(name)
        modes.epoch.advance()

    def has(self, owner: Any, name: str) -> bool:
        return name in self.of(owner)

    def of(self, owner: Any) -> frozenset[str]:
        """Return the names of an owner's slots."""
        found = self._names.get(id(owner))
        return frozenset() if found is None else frozenset(found[1])


rebound_slots = _Rebound()


def hooks_of(t: Tensor) -> Any:
    """Return the ids of the handles of a leaf's hooks."""
    if t._hooks is None:
        return (), ()
    before, after = t._hooks
    return tuple(after), tuple([i for hooks in before.values() for i in hooks])
