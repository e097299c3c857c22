"""Guards put together: many look-ups of one kind become one question.

A compiled model of transformers has 17,000 guards on plain values: each name that some code
mentions is asked of each class, function and parameter that code can reach. Compared one by one
they take 0.75 ms a call, and their source is 430 KB. So for a program's calls

- the names of a class, and of its bases, are compared where the class has another version;
- names that must not be in a dictionary are compared with its few keys, of many dictionaries in
  one pass at C's speed;
- dictionaries that must be empty are asked in one pass, and so are the contents of others;
- the names of an object of which all attributes are compared are not compared apart.

What is put together is true only if each of its guards is. Where it does not hold at once they are
asked, and so a value that is equal, and no more the same object, is taken for what it was.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import is_
from types import MappingProxyType
from typing import Any

from torchlike._jit.guards.containers import (
    AttributesGuard,
    EntriesGuard,
    NoAttributesGuard,
    TableGuard,
)
from torchlike._jit.guards.guard import MISSING, Guard, NameGuard, same
from torchlike._runtime import class_versions
from torchlike.tensor import Tensor

#: Of a dictionary with more keys for each name, names are looked up one by one.
_MOST_KEYS = 4
#: Of so many values at most each is a condition of its own.
_MOST_VALUES = 1000
_TEXT = frozenset((str,))


class MergedGuard(Guard):
    """Several guards that are asked together."""

    __slots__ = ("guards",)

    def __init__(self, guards: Sequence[Guard]) -> None:
        self.guards = list(guards)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return all(guard.check(arguments) for guard in self.guards)

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return next(g.explain(arguments) for g in self.guards if not g.check(arguments))


class ClassNamesGuard(MergedGuard):
    """Names in a class and its bases, and which these are: compared when the class has another
    version."""

    __slots__ = ("bases", "cls", "place", "version")

    def __init__(self, cls: type, guards: Sequence[Guard]) -> None:
        super().__init__(guards)
        self.cls = cls
        self.bases = cls.__mro__
        self.place = class_versions.version_of(cls)
        #: The one under which the names were last found to hold; -1 where they have to be compared.
        self.version = -1

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        if self.place is None:
            return self._is_alike()
        class_versions.renew(self.cls)
        now = self.place.value  # before the names: who changes them meanwhile changes it
        if now != self.version:
            if not self._is_alike():
                return False
            self.version = now or -1
        return True

    def _is_alike(self) -> bool:
        now = self.cls.__mro__
        return len(now) == len(self.bases) and all(map(is_, now, self.bases)) and super().check()

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"the bases of {self.cls.__name__} changed"

    def expression(self, name: Callable[[Any], str]) -> str | None:
        if self.place is None:
            return None
        own = name(self)
        return f"({name(self.place)}.value == {own}.version or {own}.check())"


class AbsentNamesGuard(MergedGuard):
    """Names that are in none of some dictionaries."""

    __slots__ = ("names", "owner")

    def __init__(self, names: frozenset[str], owner: Sequence[Any], guards: Sequence[Guard]):
        super().__init__(guards)
        self.names = names
        self.owner = tuple(owner)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.names.isdisjoint(chain.from_iterable(self.owner))

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"{name(self.names.isdisjoint)}({name(chain.from_iterable)}({name(self.owner)}))"


class EmptyGuard(MergedGuard):
    """Dictionaries that are empty."""

    __slots__ = ("owner",)

    def __init__(self, owner: Sequence[Any], guards: Sequence[Guard]) -> None:
        super().__init__(guards)
        self.owner = tuple(owner)

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return not any(self.owner)

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"not any({name(self.owner)})"


class ContentsGuard(MergedGuard):
    """The keys (in order) and values of dictionaries."""

    __slots__ = ("_are_strings", "keys", "owner", "sizes", "values")

    def __init__(
        self,
        owner: Sequence[dict[Any, Any]],
        contents: Sequence[Mapping[Any, Any]],
        guards: Sequence[Guard],
    ) -> None:
        super().__init__(guards)
        self.owner = tuple(owner)
        self._remember(contents)

    def _remember(self, contents: Sequence[Mapping[Any, Any]]) -> None:
        """Compare with these contents from now on, object for object."""
        self.sizes = list(map(len, contents))
        self.keys = list(chain.from_iterable(contents))
        self._are_strings = _TEXT.issuperset(map(type, self.keys))
        self.values = tuple(chain.from_iterable([items.values() for items in contents]))

    def is_same(self) -> bool:
        """Return whether the dictionaries hold the very objects that they held."""
        owner = self.owner
        return (
            list(map(len, owner)) == self.sizes
            and all(map(is_, chain.from_iterable(map(dict.values, owner)), self.values))
            and self.has_same_keys()
        )

    def has_same_keys(self) -> bool:
        """Return whether the dictionaries, which are as long as they were, have the same keys."""
        if self._are_strings:
            return list(chain.from_iterable(self.owner)) == self.keys
        return all(map(is_, chain.from_iterable(self.owner), self.keys))

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        if self.is_same():
            return True
        now = [dict(owner) for owner in self.owner]
        if not super().check(arguments):
            return False
        self._remember(now)  # equal values, by other objects
        return True

    def expression(self, name: Callable[[Any], str]) -> str | None:
        otherwise = f"{name(self.check)}()"
        kinds = set(map(type, self.owner))  # a defaultdict would make what it has not
        if len(self.values) > _MOST_VALUES or not self._are_strings or kinds != {dict}:
            return f"({name(self.is_same)}() or {otherwise})"
        conditions = []  # 15 ns a value, of 50 in passes over views of them
        entries = zip(self.keys, self.values, strict=True)
        for owner, size in zip(map(name, self.owner), self.sizes, strict=True):
            conditions.append(f"len({owner}) == {size}")
            of_one = itertools.islice(entries, size)
            conditions += [f"{owner}[{key!r}] is {name(value)}" for key, value in of_one]
        conditions.append(f"{name(self.has_same_keys)}()")
        return f"({' and '.join(conditions)} or {otherwise})"


def merged(guards: Iterable[Guard]) -> list[Guard]:
    """Return guards that hold only if all of ``guards`` do, of which there are fewer."""
    guards = list(guards)
    whole = {id(g.owner): g.items for g in guards if type(g) is AttributesGuard}
    kinds: dict[Any, list[Any]] = defaultdict(list)
    found: list[Guard] = []
    for guard in guards:
        kinds[_kind(guard, whole)].append(guard)
    rest = kinds.pop(None, [])
    kinds.pop("known", None)
    if empty := kinds.pop("empty", None):
        spaces = [g.space if type(g) is NoAttributesGuard else g.owner for g in empty]
        found.append(EmptyGuard(spaces, empty))
    for kind in ("tables", "entries", "keyed"):
        tables = kinds.pop(kind, None)
        if tables:
            contents = [g.bound if isinstance(g, TableGuard) else g.items for g in tables]
            found.append(ContentsGuard([g.owner for g in tables], contents, tables))
    found += _of_classes([of for (kind, _), of in kinds.items() if kind == "class"])
    found += _absent([of for (kind, _), of in kinds.items() if kind == "absent"])
    return [*found, *rest]


def _kind(guard: Guard, whole: Mapping[int, Mapping[Any, Any]]) -> Any:
    """Return with which others a guard is put together; None where it stays alone. ``whole``: the
    contents of dictionaries that are compared as a whole, by their ids."""
    kind = type(guard)
    if type(guard) is NameGuard:
        space = guard.space
        if type(space) is MappingProxyType:
            return ("class", id(guard.owner)) if isinstance(guard.owner, type) else None
        if same(whole.get(id(space), {}).get(guard.name, MISSING), guard.value) and (
            id(space) in whole
        ):
            return "known"
        return ("absent", id(space)) if guard.value is MISSING and type(space) is dict else None
    if kind is NoAttributesGuard or (isinstance(guard, TableGuard) and not guard.names):
        return "empty"
    if isinstance(guard, TableGuard) and not guard.apart and type(guard.owner) is dict:
        return "tables"
    if isinstance(guard, EntriesGuard) and kind in (EntriesGuard, AttributesGuard):
        is_plain = type(guard.owner) in (dict, defaultdict)
        of_text = "entries" if _TEXT.issuperset(map(type, guard.items)) else "keyed"
        return of_text if is_plain else None
    return None


def _of_classes(groups: Sequence[Sequence[NameGuard]]) -> Iterator[Guard]:
    """Yield the guards on names in classes: ``groups`` are those of each. Those of a base are asked
    with a class derived from it, whose version they change."""
    classes = {id(guards[0].owner): guards[0].owner for guards in groups}
    derived = {id(base): id(c) for c in classes.values() for base in c.__mro__[1:]}
    asked: dict[int, list[Guard]] = defaultdict(list)
    for guards in groups:
        key = id(guards[0].owner)
        while key in derived:
            key = derived[key]
        asked[key] += guards
    for key, together in asked.items():
        yield ClassNamesGuard(classes[key], together)


def _absent(groups: Sequence[Sequence[NameGuard]]) -> Iterator[Guard]:
    """Yield the guards on names that are not in dictionaries: ``groups`` are those of each."""
    alike: dict[frozenset[str], list[Sequence[NameGuard]]] = defaultdict(list)
    for guards in groups:
        if len(guards[0].space) > _MOST_KEYS * len(guards):
            yield from guards
        else:
            alike[frozenset([g.name for g in guards])].append(guards)
    for names, together in alike.items():
        spaces = [guards[0].space for guards in together]
        yield AbsentNamesGuard(names, spaces, list(chain.from_iterable(together)))
