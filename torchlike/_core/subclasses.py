"""``for_each_subclass`` calls a function with every subclass of a class, existing and future."""

from __future__ import annotations

from collections.abc import Callable

_observers: list[tuple[type, Callable[[type], None]]] = []


def for_each_subclass(cls: type, tell: Callable[[type], None]) -> None:
    """Call ``tell`` with each class that derives from ``cls``, directly or not: today's at once,
    others when they are made (where ``announce`` is called with them)."""
    for found in _below(cls):
        tell(found)
    _observers.append((cls, tell))


def announce(cls: type) -> None:
    """Say that a class was made."""
    for base, tell in _observers:
        if issubclass(cls, base):
            tell(cls)


def _below(cls: type) -> set[type]:
    found = type.__subclasses__(cls)
    return set(found).union(*map(_below, found))
