"""Versions of classes: a number that is another one once a class, or a base of it, has changed.

CPython numbers the states of a class for its own caches of attributes (``tp_version_tag``). The
number is 0 from a change on until an attribute is looked up, and none is given twice. Python code
cannot ask for it, so it is read where it lies; whether it lies there is tried once.
"""

from __future__ import annotations

import ctypes
import functools

#: Behind the head and size of an object come 45 pointers, or numbers as large, and then this one.
_PLACE = object.__basicsize__ + 46 * ctypes.sizeof(ctypes.c_void_p)


def _number(cls: type) -> ctypes.c_uint:
    return ctypes.c_uint.from_address(id(cls) + _PLACE)


def _look_up(cls: type) -> None:
    """Have Python number the present state of a class, by code of nobody's."""
    type.__getattribute__(cls, "__hash__")


@functools.cache
def are_readable() -> bool:
    """Return whether this Python keeps the versions of classes in the usual place."""

    class Base:
        held = 1

    class Derived(Base):
        pass

    def told(change: object = None) -> tuple[int, int]:
        found = number.value
        _look_up(Derived)
        return found, number.value

    number = _number(Derived)
    _look_up(Derived)
    first = number.value
    before = [told(), told(setattr(Base, "held", 2)), told(setattr(Derived, "own", 1))]
    before += [told(delattr(Derived, "own")), told(setattr(Base, "held", 1)), told()]
    changed = before[1:5]
    numbers = [first, *(after for _, after in changed)]
    return (
        before[0] == (first, first)
        and before[5] == (numbers[-1],) * 2
        and [at for at, _ in changed] == [0] * 4
        and 0 not in numbers
        and len(set(numbers)) == 5
    )


def version_of(cls: type) -> ctypes.c_uint | None:
    """Return the place of a class's version, to be read as ``.value`` while the class lives; None
    where this Python has no such place."""
    if not are_readable():
        return None
    _look_up(cls)
    return _number(cls)


def renew(cls: type) -> None:
    """Have a class that has changed get its new version."""
    _look_up(cls)
