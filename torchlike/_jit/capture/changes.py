"""What a body does to Python objects from outside, as changes that each call makes again.

A `Change` is one place (a variable, an attribute) or one container that the body left changed. What
it left there is given out by the program like a result (`Change.left`), and each call puts it in
place after the program has run (`Change.make`), with the caller's own tensors, numbers and fresh
containers in it.
"""

from __future__ import annotations

import functools
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from torchlike._core import modes
from torchlike._jit.guards.containers import EntriesGuard, ItemsGuard
from torchlike._jit.guards.guard import (
    MISSING,
    CellGuard,
    MemberGuard,
    NameGuard,
    VariableGuard,
    same,
)
from torchlike._runtime.trees import parts_of

#: Dictionaries and lists whose contents are all that they are.
_TABLES = frozenset((dict, OrderedDict, defaultdict, Counter))
_LISTS = frozenset((list, deque))


#: What a class may have of its own that is still a list.
_NO_METHODS = frozenset(("__init__", "__doc__", "__module__", "__repr__", "__str__", "__hash__"))


class ElementPlace:
    """An element of a list, deque or dictionary."""

    __slots__ = ("key", "label", "owner")

    def __init__(self, owner: Any, key: Any, label: str) -> None:
        self.owner = owner
        self.key = key
        self.label = f"{label}[{key!r}]"

    def now(self) -> Any:
        try:
            found = self.owner.get(self.key, MISSING) if self._is_table else self.owner[self.key]
        except IndexError:
            return MISSING
        return found

    @property
    def _is_table(self) -> bool:
        return isinstance(self.owner, dict)

    def put(self, value: Any) -> None:
        if value is MISSING:
            self.owner.pop(self.key, None)
        else:
            self.owner[self.key] = value


class PartPlace:
    """A part of what is in a place: an element of a container, an attribute of an object."""

    __slots__ = ("_is_attribute", "_of", "key", "label", "owner")

    def __init__(self, of: Any, key: Any, is_attribute: bool) -> None:
        self._of, self._is_attribute = of, is_attribute
        self.key = key
        self.label = f"{of.label}.{key}" if is_attribute else f"{of.label}[{key!r}]"
        self.owner = of.owner

    def now(self) -> Any:
        try:
            return self.table()[self.key]
        except (LookupError, TypeError):
            return MISSING

    def table(self) -> Any:
        """Return the container, or the attributes of the object, that has the part now."""
        found = self._of.now()
        return vars(found) if self._is_attribute else found


def places_within(place: Any, held: Any) -> dict[Any, Any]:
    """Return the places of the parts of what is in a place, by their keys."""
    of_object = not isinstance(held, (list, dict, tuple))
    return {key: PartPlace(place, key, of_object) for key in parts_of(held)}


class ModulePlace(NameGuard):
    """A plain attribute of a module, whose guards follow the epoch."""

    __slots__ = ()

    def put(self, value: Any) -> None:
        if not same(self.now(), value):
            modes.epoch.advance()
            super().put(value)


def place_of(guard: VariableGuard) -> VariableGuard:
    """Return the place that a guard compares, without the value that it holds."""
    found: VariableGuard
    if isinstance(guard, NameGuard):
        kind = type(guard)
        return kind(guard.owner, guard.space, guard.name, None, guard.label)
    if isinstance(guard, CellGuard):
        found = CellGuard(guard.owner, guard.label)
        found.value = None
    elif isinstance(guard, MemberGuard):
        found = MemberGuard(guard.owner, guard.descriptor, guard.label)
        found.value = None
    else:
        raise TypeError(type(guard).__name__)
    return found


def moved_numbers(guards: Iterable[Any]) -> dict[Any, Any]:
    """Return the places of which guards know another number than is there now, by their keys."""
    found: list[Any] = []
    for guard in guards:
        if type(guard) in (NameGuard, CellGuard, MemberGuard):
            found += [place_of(guard)] if _is_moved(guard.before(), guard.now()) else []
        elif type(guard) is EntriesGuard or (
            type(guard) is ItemsGuard and isinstance(guard.owner, (list, deque))
        ):
            items = guard.items
            known = items.items() if isinstance(items, dict) else enumerate(items)
            places = [(ElementPlace(guard.owner, k, guard.label), x) for k, x in known]
            found += [place for place, x in places if _is_moved(x, place.now())]
    return {key_of(place): place for place in found}


def _is_moved(before: Any, now: Any) -> bool:
    return type(before) in (int, float) and type(now) is type(before) and not same(before, now)


def numbers_in(places: Mapping[Any, Any]) -> dict[Any, tuple[Any, Any]]:
    """Return those of some places that hold a number now, with it."""
    now = {key: (place, place.now()) for key, place in places.items()}
    return {key: found for key, found in now.items() if type(found[1]) in (int, float)}


def fixed(place: Any) -> Any:
    """Return a place as the part of the very object that has it now."""
    if isinstance(place, PartPlace):
        return ElementPlace(place.table(), place.key, place.label)
    return place


def put_unseen(place: Any, value: Any) -> None:
    """Put a value in a place for the time of a capture: nobody is told."""
    if isinstance(place, NameGuard):
        NameGuard.put(place, value)
    else:
        place.put(value)


def key_of(place: Any) -> tuple[int, Any]:
    """Return what tells a place from others while its owner lives."""
    if isinstance(place, ElementPlace):
        return id(place.owner), ("[]", place.key)
    if isinstance(place, PartPlace):
        return id(place.owner), ("()", place.label)
    return id(place.owner), getattr(place, "name", None) or place.label


class Change:
    """Something that the body changed, and that each call changes again."""

    __slots__ = ("left",)

    def __init__(self, left: Any) -> None:
        #: What the body left there: tensors, numbers and containers of its own among it.
        self.left = left

    def make(self, value: Any) -> None:
        """Change it at a call, of which ``value`` is what it leaves there."""
        raise NotImplementedError

    def forget(self) -> None:
        """Let go of the capture's own objects."""
        self.left = None


class Binding(Change):
    """A variable or attribute that is bound, or deleted."""

    __slots__ = ("deletes", "place")

    def __init__(self, place: VariableGuard) -> None:
        found = place.now()
        self.deletes = found is MISSING
        super().__init__(None if self.deletes else found)
        self.place = place

    def make(self, value: Any) -> None:
        self.place.put(MISSING if self.deletes else value)


class Counting(Change):
    """An integer to which a number is added that no code reads."""

    __slots__ = ("place", "step")

    def __init__(self, place: VariableGuard, step: int) -> None:
        super().__init__(None)
        self.place = place
        self.step = step

    def make(self, value: Any) -> None:
        found = self.place.now()
        if type(found) is int:  # the script may have put something else there
            self.place.put(found + self.step)


class Adding(Change):
    """A list, deque or set to which something is added that no code reads."""

    __slots__ = ("_add",)

    def __init__(self, owner: Any, added: list[Any]) -> None:
        super().__init__(added)
        self._add: Callable[[Any], None] = owner.update if isinstance(owner, set) else owner.extend

    def make(self, value: Any) -> None:
        self._add(value)


class Filling(Change):
    """A list, deque or set that has other elements."""

    __slots__ = ("owner",)

    def __init__(self, owner: Any) -> None:
        super().__init__(list(owner))
        self.owner = owner

    def make(self, value: Any) -> None:
        owner = self.owner
        if type(owner) is list:
            owner[:] = value
            return
        owner.clear()
        (owner.update if type(owner) is set else owner.extend)(value)


class Entering(Change):
    """A dictionary that has other entries."""

    __slots__ = ("_gone", "_keys", "_owner")

    def __init__(self, owner: Any, before: Mapping[Any, Any]) -> None:
        kept = [key for key in before if key in owner]
        new = [key for key in owner if key not in before]
        #: Keys in another order: all is taken out, and put in again.
        is_moved = [*kept, *new] != list(owner)
        self._owner = owner
        self._gone = list(before) if is_moved else [key for key in before if key not in owner]
        self._keys = [
            key for key, value in owner.items() if is_moved or _differs(before, key, value)
        ]
        super().__init__([owner[key] for key in self._keys])

    @property
    def keys(self) -> frozenset[Any]:
        """The keys that it writes."""
        return frozenset(self._keys)

    @property
    def only_writes(self) -> bool:
        """Whether it takes no entry out."""
        return not self._gone

    def make(self, value: Any) -> None:
        for key in self._gone:
            self._owner.pop(key, None)
        for key, x in zip(self._keys, value, strict=True):
            self._owner[key] = x


def _differs(before: Mapping[Any, Any], key: Any, value: Any) -> bool:
    return key not in before or not same(before[key], value)


def is_filled(owner: Any) -> bool:
    """Return whether a container consists of its elements: its class has the methods of a list,
    deque or set."""
    return type(owner) is set or _has_methods_of(_LISTS, type(owner))


def is_table(owner: Any) -> bool:
    """Return whether a dictionary consists of its entries: its class has a dictionary's methods."""
    return _has_methods_of(_TABLES, type(owner))


@functools.lru_cache(maxsize=4096)
def _has_methods_of(kinds: frozenset[type], kind: type) -> bool:
    base = next((cls for cls in kind.__mro__ if cls in kinds), None)
    own = kind.__mro__[: kind.__mro__.index(base)] if base is not None else ()
    return base is not None and not any(
        name in dir(base) and name not in _NO_METHODS for cls in own for name in vars(cls)
    )
