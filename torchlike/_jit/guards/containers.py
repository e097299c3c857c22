"""Guards on containers: elements, attributes, NumPy arrays, and the environment of the process."""

from __future__ import annotations

import os
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from torchlike._jit.guards.guard import MISSING, Guard, ValueGuard, VariableGuard, describe, same
from torchlike._jit.guards.sources import ValuePlace
from torchlike._runtime.trees import CHANGEABLE, parts_of
from torchlike.tensor import FIELDS, Tensor


class ItemsGuard(ValueGuard):
    """The elements of a list, set or deque."""

    __slots__ = ("items",)

    def __init__(self, owner: Any, label: str) -> None:
        super().__init__(owner, label)
        self.items = tuple(owner)

    def now(self) -> Any:
        return list(self.owner)

    def before(self) -> Any:
        return list(self.items)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        # ObjectKey first: a pass at C's speed, ~15 ns an element.
        return len(self.owner) == len(self.items) and (
            all(map(is_, self.owner, self.items)) or all(map(same, self.owner, self.items))
        )

    def expression(self, name: Callable[[Any], str]) -> str | None:
        owner, items = name(self.owner), name(self.items)
        return f"len({owner}) == {len(self.items)} and all(map(is_, {owner}, {items}))"

    def restore(self) -> None:
        if isinstance(self.owner, (set, deque)):
            self.owner.clear()
            (self.owner.update if isinstance(self.owner, set) else self.owner.extend)(self.items)
        else:
            self.owner[:] = self.items


_AS_STORED = frozenset((dict, OrderedDict, defaultdict))


def entries(owner: Any) -> Any:
    """Return the contents of a dictionary, read by none of its class's own methods: ``items()`` of
    an OrderedDict asks ``__getitem__``, which may make something new each time."""
    if type(owner) in _AS_STORED or not isinstance(owner, dict):
        return owner
    kind: Any = OrderedDict if isinstance(owner, OrderedDict) else dict
    return {k: dict.__getitem__(owner, k) for k in kind.__iter__(owner)}


class EntriesGuard(ValueGuard):
    """The keys (in order) and values of a dictionary."""

    __slots__ = ("items",)

    def __init__(self, owner: Any, label: str) -> None:
        super().__init__(owner, label)
        self.items = dict(entries(owner))

    def now(self) -> Any:
        return dict(entries(self.owner))

    def before(self) -> Any:
        return self.items

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        owner, items = entries(self.owner), self.items
        if len(owner) != len(items):
            return False
        if all(map(is_, owner, items)) and all(map(is_, owner.values(), items.values())):
            return True
        return all(
            (k is k2 or (same(k, k2) or (type(k) is type(k2) and k == k2))) and same(v, v2)
            for (k, v), (k2, v2) in zip(owner.items(), items.items(), strict=True)
        )

    def restore(self) -> None:
        self.owner.clear()
        self.owner.update(self.items)


class SomeItemsGuard(ItemsGuard):
    """How many elements a list or deque has, and those that are not ``apart``: an input's place."""

    __slots__ = ("apart",)

    def __init__(self, guard: ItemsGuard, apart: frozenset[Any]) -> None:
        """Guard what ``guard`` does but for the elements at the places ``apart``."""
        super().__init__((), guard.label)
        self.owner = guard.owner
        self.items = tuple(None if i in apart else x for i, x in enumerate(guard.items))
        self.apart = apart

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return len(self.owner) == len(self.items) and all(
            i in self.apart or same(x, y)
            for i, (x, y) in enumerate(zip(self.owner, self.items, strict=True))
        )

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"len({name(self.owner)}) == {len(self.items)} and {name(self.check)}()"

    def restore(self) -> None:
        """Do nothing: the guard in whose place this is does."""

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        before, now = len(self.items), len(self.owner)
        return f"`{self.label}` changed: {before} elements → {now if now != before else 'others'}"


class SomeEntriesGuard(EntriesGuard):
    """What a dictionary holds under other keys than some: those are places of inputs, or are only
    written (``may_miss``), so that it does not matter whether they are there."""

    __slots__ = ("apart", "may_miss")

    def __init__(self, guard: EntriesGuard, apart: frozenset[Any], may_miss: bool) -> None:
        super().__init__({}, guard.label)
        self.owner = guard.owner
        self.items = {k: None if k in apart else v for k, v in guard.items.items()}
        self.apart = apart
        self.may_miss = may_miss

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        owner, items = dict(entries(self.owner)), self.items
        if self.may_miss:
            owner = {k: v for k, v in owner.items() if k not in self.apart}
            items = {k: v for k, v in items.items() if k not in self.apart}
        return len(owner) == len(items) and all(
            (k is k2 or same(k, k2) or (type(k) is type(k2) and k == k2))
            and (k in self.apart or same(v, v2))
            for (k, v), (k2, v2) in zip(owner.items(), items.items(), strict=True)
        )

    def restore(self) -> None:
        """Do nothing: the guard in whose place this is does."""

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"`{self.label}` changed: its keys, or what other keys than those written have"


class FormGuard(ValueGuard):
    """What a container or object in a place consists of besides tensors, which are inputs."""

    __slots__ = ("pattern", "place")

    def __init__(self, place: ValuePlace, held: Any, is_apart: Callable[[Any], bool]) -> None:
        """Guard the form of what is ``held``. ``is_apart`` says which numbers are inputs, too."""
        super().__init__(place.owner, place.label)
        self.place = place
        self.pattern = _pattern(held, is_apart)

    def now(self) -> Any:
        return self.place.now()

    def before(self) -> Any:
        return self.pattern

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return _fits(self.place.now(), self.pattern)

    def restore(self) -> None:
        """Do nothing: the guard on the place does."""


#: The pattern of a number that is an input.
_NUMBER = (int, float)


class _Form(NamedTuple):
    """The class of a container or object, its keys or names, and the patterns of its parts."""

    kind: type
    keys: tuple[Any, ...]
    parts: tuple[Any, ...]


def _pattern(held: Any, is_apart: Callable[[Any], bool]) -> Any:
    """Return a form with the class of tensors in place of each, and the class of numbers that are
    inputs."""
    if isinstance(held, Tensor):
        return Tensor
    if is_apart(held):
        return _NUMBER
    parts = parts_of(held)
    if not (parts or isinstance(held, (list, dict, tuple))):
        return held
    patterns = [_pattern(x, is_apart) for x in parts.values()]
    return _Form(type(held), tuple(parts), tuple(patterns))


def _fits(now: Any, pattern: Any) -> bool:
    if pattern is Tensor or pattern is _NUMBER:
        return isinstance(now, pattern)
    if type(pattern) is not _Form:
        return same(now, pattern)
    if type(now) is not pattern.kind:
        return False
    parts = parts_of(now)
    return tuple(parts) == pattern.keys and all(map(_fits, parts.values(), pattern.parts))


class DistinctGuard(ValueGuard):
    """That what is in the places of `FormGuard` is no two times the same object, and none of
    ``known`` ones: code may change it, or ask which object it is."""

    __slots__ = ("known", "places")

    def __init__(self, places: Sequence[ValuePlace], known: frozenset[int]) -> None:
        super().__init__(places[0].owner, ", ".join(place.label for place in places))
        self.places = places
        self.known = known

    def now(self) -> Any:
        return None

    before = now

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        inside = [objects_in(place.now()) for place in self.places]
        found = [key for keys in inside for key in keys]
        is_apart = len(set(found)) == len(found) and self.known.isdisjoint(found)
        return is_apart and all(inside)

    def restore(self) -> None:
        """Do nothing: the guards on the places do."""

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"`{self.label}` changed: it is something else that the function reads, too"


def objects_in(value: Any) -> list[int]:
    """Return the ids of the containers and objects that a value consists of, as often as they are
    in it; none where they are more than their parts."""
    found: list[int] = []
    stack = [value]
    while stack:
        x = stack.pop()
        if isinstance(x, Tensor) and not vars(x).keys() <= FIELDS:
            return []
        parts = parts_of(x)
        is_more = type(x) not in CHANGEABLE or type(x) is defaultdict
        if isinstance(x, (list, dict)) and (is_more or len(parts) != len(x)):
            return []
        if (parts or type(x) in CHANGEABLE) and not isinstance(x, tuple):
            if id(x) in found:
                return []  # a circle
            found.append(id(x))
        stack += parts.values()
    return found


class HoldsGuard(ItemsGuard):
    """That a set holds what it held: what the body adds to it besides is added at each call."""

    __slots__ = ()

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.owner.issuperset(self.items)

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"{name(self.owner)}.issuperset({name(self.items)})"


class AttributesGuard(EntriesGuard):
    """All attributes of an object."""

    __slots__ = ("of",)

    def __init__(self, of: Any, space: dict[str, Any], label: str) -> None:
        super().__init__(space, label)
        self.of = of

    @property
    def holder(self) -> Any:
        return self.of


class NoAttributesGuard(ValueGuard):
    """That a function or dictionary has no attributes: one look in place of one for each name that
    code asks for (700 functions and 110 names made a guard of 60 ms)."""

    __slots__ = ("space",)

    def __init__(self, owner: Any, space: dict[str, Any], label: str) -> None:
        super().__init__(owner, label)
        self.space = space

    def now(self) -> Any:
        return dict(self.space)

    def before(self) -> Any:
        return {}

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return not self.space

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"not {name(self.space)}"

    def restore(self) -> None:
        self.space.clear()


class ArrayGuard(ValueGuard):
    """The contents of a NumPy array, and whether it may be written to."""

    __slots__ = ("contents", "writeable")

    def __init__(self, owner: np.ndarray, label: str) -> None:
        super().__init__(owner, label)
        self.contents = self.now().copy()
        self.writeable = owner.flags.writeable

    def now(self) -> Any:
        """Return the array, of the class that hides nothing (a masked array does)."""
        owner = self.owner
        return owner if type(owner) is np.ndarray else np.ndarray.view(owner, np.ndarray)

    def before(self) -> Any:
        return self.contents

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        a, b = self.now(), self.contents
        if a.shape != b.shape or a.dtype != b.dtype or a.flags.writeable is not self.writeable:
            return False
        if a.dtype.hasobject:
            return all(map(same, a.ravel().tolist(), b.ravel().tolist()))
        return a.tobytes() == b.tobytes()

    def restore(self) -> None:
        memory = self.now()
        if memory.flags.writeable is not self.writeable:
            self.owner.flags.writeable = True
        if memory.flags.writeable:
            memory[...] = self.contents
        self.owner.flags.writeable = self.writeable


class TableGuard(Guard):
    """What a module's table of parameters, buffers or children binds, in order; but not what the
    names ``apart`` are bound to, which programs bind.

    Modules' tables are plain dictionaries, which users write to directly without moving
    ``modes.epoch``.
    """

    __slots__ = ("apart", "bound", "kind", "names", "owner")

    def __init__(self, owner: dict[str, Any], apart: frozenset[str] | set[str], kind: str) -> None:
        """Guard the names of a table and what they are bound to. ``kind``: the class of the module,
        for messages."""
        self.owner = owner
        self.kind = kind
        self.names = list(owner)
        self.apart = frozenset(apart).intersection(owner)
        self.bound = {name: t for name, t in owner.items() if name not in self.apart}

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        owner, bound = self.owner, self.bound
        if list(owner) != self.names:
            return False
        if not self.apart:
            return all(map(is_, owner.values(), bound.values()))
        return all(owner[name] is t for name, t in bound.items())

    def expression(self, name: Callable[[Any], str]) -> str | None:
        # Most modules have no buffers: 30 ns, not 300.
        return None if self.names else f"not {name(self.owner)}"

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        for name in dict.fromkeys((*self.names, *self.owner)):
            if name not in self.owner:
                return f"`{self.kind}.{name}` was removed"
            if name not in self.names:
                return f"`{self.kind}.{name}` was added"
            now = self.owner[name]
            if name in self.bound and now is not self.bound[name]:
                what = "tensor" if isinstance(now, Tensor) else type(now).__name__
                return f"`{self.kind}.{name}` was bound to another {what}"
        return f"the order of what {self.kind} holds changed"


class HooksGuard(TableGuard):
    """The hooks of a module."""

    __slots__ = ()

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"the hooks of {self.kind} changed"


# -------------------------------------------------------------------------------------------------
# Guards on the environment: variables that code reads by ``os.environ``, ``os.getenv`` and kin.


#: What both ``os.environ`` and ``os.environb`` keep the variables in, encoded.
_VARIABLES: Any = os.environ._data  # type: ignore[attr-defined]


class EnvironmentVariableGuard(VariableGuard):
    """One environment variable, by its encoded name."""

    __slots__ = ("name", "value")

    def __init__(self, name: Any) -> None:
        super().__init__(_VARIABLES, f"os.environ[{os.fsdecode(name)!r}]")
        self.name = name
        self.value = _VARIABLES.get(name)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return bool(_VARIABLES.get(self.name) == self.value)

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"{name(_VARIABLES.get)}({self.name!r}) == {self.value!r}"

    def before(self) -> Any:
        return MISSING if self.value is None else os.fsdecode(self.value)

    def now(self) -> Any:
        value = _VARIABLES.get(self.name)
        return MISSING if value is None else os.fsdecode(value)

    def put(self, value: Any) -> None:
        if value is MISSING:
            os.environ.pop(os.fsdecode(self.name), None)
        else:
            os.environ[os.fsdecode(self.name)] = value


class EnvironmentGuard(EntriesGuard):
    """All environment variables: code asks which there are."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(_VARIABLES, "os.environ")

    def _changed(self) -> list[Any]:
        """Return the names of the variables that differ."""
        return [k for k in {**self.items, **_VARIABLES} if _VARIABLES.get(k) != self.items.get(k)]

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        for name in self._changed():
            before, now = (
                MISSING if x is None else os.fsdecode(x)
                for x in (self.items.get(name), _VARIABLES.get(name))
            )
            label = f"os.environ[{os.fsdecode(name)!r}]"
            return f"`{label}` changed: {describe(before)} → {describe(now)}"
        return "the order of `os.environ` changed"

    def restore(self) -> None:
        for name in self._changed():
            before = self.items.get(name)
            if before is None:
                del os.environ[os.fsdecode(name)]
            else:
                os.environ[os.fsdecode(name)] = os.fsdecode(before)
