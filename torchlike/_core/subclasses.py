"""``for_each_subclass`` calls a function with every subclass of a class, existing and future."""

from __future__ import annotations

from collections.abc import Callable

from torchlike._core.provided import Event

class_made = Event("a class was made that derives from Tensor or Module")


def for_each_subclass(cls: type, tell: Callable[[type], None]) -> None:
    """Call ``tell`` with each class that derives from ``cls``, directly or not: today's at once,
    others when they are made (`class_made`)."""
    for found in _below(cls):
        tell(found)

    def tell_of(made: type) -> None:
        if issubclass(made, cls):
            tell(made)

    tell_of.__module__ = tell.__module__
    class_made.call(tell_of)


def _below(cls: type) -> set[type]:
    found = type.__subclasses__(cls)
    return set(found).union(*map(_below, found))
