"""What a call that failed takes back on the host: what random generators drew, gradients it bound.

The word of a program's checks of values is looked at late. What the program writes to its state
stays as it was by itself (`checks.py`); what Python did around the call is undone here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any
from weakref import ref

from torchlike._jit.guards.sources import Slot
from torchlike.random.engine import Engine
from torchlike.random.generator import Generator

#: What takes something back, if there is anything.
Undo = Callable[[], None] | None
#: Streams, and where each was.
Marks = list[tuple[Engine, tuple[Any, ...]]]


class Generators:
    """The random generators that the calls of one program draw from."""

    def __init__(self, generators: Sequence[Generator]) -> None:
        self._generators = generators

    def marks(self) -> Marks:
        """Return where the streams are."""
        engines = [generator.engine for generator in self._generators]
        return [(engine, engine.mark()) for engine in engines]

    def undo(self, before: Marks) -> Callable[[], None]:
        """Return what puts the streams back to ``before``, when a call has just drawn."""
        return functools.partial(_go_back, before, self.marks())


def _go_back(before: Marks, after: Marks) -> None:
    """Put streams back that nobody has drawn from since: what others drew stays drawn."""
    for (engine, mark), (_, end) in zip(before, after, strict=True):
        if engine.is_at(end):
            engine.go_back(mark)


class GradientSlots:
    """The slots of `.grad` that each call of one program binds anew.

    An eager step would have raised before it bound them, with `.grad` None where it was to be made
    anew: so it is after a call that failed. The gradients of before are not held for it, as they
    would be a second copy of all, for as long as calls are under way.
    """

    def __init__(self, slots: Sequence[tuple[Slot, Any]]) -> None:
        """Take all slots that a call binds, and to what; those of gradients are looked for."""
        self._at = [i for i, (slot, made) in enumerate(slots) if _is_gradient(slot, made)]
        self._slots = [slots[i][0] for i in self._at]

    @classmethod
    def of(cls, slots: Sequence[tuple[Slot, Any]]) -> GradientSlots | None:
        """Return those among the slots of a program; None where there are none."""
        return cls(slots) if any(_is_gradient(*slot) for slot in slots) else None

    def undo(self, arguments: Sequence[Any], bound: Sequence[Any], more: Undo) -> Undo:
        """Return what takes gradients back, and does ``more``, of a call that binds all slots to
        ``bound``. It holds none of them."""
        marks = []
        for i, slot in zip(self._at, self._slots, strict=True):
            if bound[i] is not None:
                owner = slot.owner if slot.argument < 0 else arguments[slot.argument]
                marks.append((ref(owner), ref(bound[i])))
        return functools.partial(_take_back, marks, more)


def _is_gradient(slot: Slot, made: Any) -> bool:
    return slot.of_tensor and slot.name == "_grad" and made is not None


def _take_back(marks: Sequence[tuple[ref[Any], ref[Any]]], more: Undo) -> None:
    """Set `.grad` to None where it is what the call bound: what others bound since stays."""
    for of_owner, of_gradient in marks:
        owner, gradient = of_owner(), of_gradient()
        if gradient is not None and owner is not None and owner._grad is gradient:
            owner._grad = None
    if more is not None:
        more()
