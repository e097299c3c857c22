"""`ChangesOutside` finds what a body changed in Python, and drops guards that would not last.

What is found is what ``observer.changes`` finds: the guards on values that are no longer what they
were. Of each, one of three things becomes:

- nothing that the body computes depends on the value (no code loads the name): no guard is left;
- it was a tensor: the place is an input, as a slot is (`PlaceSlot`);
- it is guarded as it was before. A number there that differs at the next call is an input then
  (``movable``; see ``scalars``).
"""

from __future__ import annotations

import contextlib
import gc
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torchlike._jit.capture.changes import (
    Adding,
    Binding,
    Change,
    Counting,
    ElementPlace,
    Entering,
    Filling,
    ModulePlace,
    is_filled,
    is_table,
    key_of,
    place_of,
    places_within,
    put_unseen,
)
from torchlike._jit.capture.scalars import Number
from torchlike._jit.guards.containers import (
    AttributesGuard,
    DistinctGuard,
    EntriesGuard,
    FormGuard,
    HoldsGuard,
    ItemsGuard,
    SomeEntriesGuard,
    SomeItemsGuard,
    objects_in,
)
from torchlike._jit.guards.guard import (
    MISSING,
    CellGuard,
    MemberGuard,
    NameGuard,
    ValueGuard,
    VariableGuard,
    same,
)
from torchlike._jit.guards.modules import library_names
from torchlike._jit.guards.sources import PlaceSlot
from torchlike._runtime.trees import parts_of
from torchlike.tensor import FIELDS, Tensor

#: Keys of places that programs change, whichever they are: what another function reads there is an
#: input as well. A key that has become another place's costs that one an input in place of a guard.
_moved: dict[Any, None] = {}
_MOST_MOVED = 10_000
_VARIABLES = (NameGuard, CellGuard, MemberGuard)


class ChangesOutside:
    """The changes that one body made to Python's objects, for each call to make again."""

    def __init__(self, capture: Any, numbers: dict[Any, tuple[Any, Any]]) -> None:
        """Begin with no change. ``numbers``: by key, the places of numbers that are inputs, and
        what they held."""
        self._capture = capture
        self._observer = capture.observer
        self._numbers = numbers
        self.changes: list[Change] = []
        #: Numbers that a later call may find changed: their places by key.
        self.movable: dict[Any, Any] = {}
        #: By the ids of the guards whose changes are made again: what was left, and the guard.
        self._covered: dict[int, tuple[Any, Any]] = {}
        self._attributes: set[tuple[int, str]] = set()
        #: How often objects are held, and the ids of what is left; see `_is_form`.
        self._holds: Counter[int] = Counter()
        self._leaves: set[int] = set()

    def collect(self) -> None:
        """Find what was changed, once the body has returned."""
        if not self._observer.weak:
            self._holds, self._leaves = self._held(), self._left()
            # Those of all attributes first, while the guards of each are there.
            for guard in sorted(self._observer.changes(), key=_is_of_each):
                self._collect(guard)
            self._collect_attributes()
            self._settle_moved()
            self._set_apart()
        self._settle_numbers()
        slots = self._capture.bindings.slots.values()
        moved = [slot.initial for slot in slots if isinstance(slot, PlaceSlot)]
        self._observer.forget_notes(t for t in moved if type(t) is Tensor)

    def covers(self, guard: ValueGuard) -> bool:
        """Return whether each call makes the change that a guard sees; not what came later."""
        left, _ = self._covered.get(id(guard), (MISSING, None))
        return left is not MISSING and _is_alike(left, guard.now())

    def covers_attribute(self, key: tuple[int, str]) -> bool:
        """Return whether each call makes the change of a module's attribute: (id, name)."""
        return key in self._attributes

    def values(self) -> list[Any]:
        """Return what the changes leave, to be given out like a result."""
        return [change.left for change in self.changes]

    def from_outside(self, values: Iterable[Any]) -> dict[int, Any]:
        """Return the containers and objects in some values that were there before, by their ids:
        each call gives these very ones."""
        found: dict[int, Any] = {}
        seen: set[int] = set()
        is_own, visited = self._observer.own_objects(), self._observer.has_visited

        def walk(x: Any) -> None:
            if isinstance(x, Tensor) or type(x) is Number or id(x) in seen:
                return
            seen.add(id(x))
            parts = x.values() if isinstance(x, dict) else x
            if isinstance(x, (list, dict)) or hasattr(x, "__dict__"):
                if not is_own(x) and (gc.is_tracked(x) or visited(x)):
                    found[id(x)] = x
                    return
                if not isinstance(x, (list, dict)):
                    parts = vars(x).values()
            elif not isinstance(x, tuple):
                return
            for y in list(parts):
                walk(y)

        for left in values:
            for x in left if isinstance(left, list) else (left,):
                walk(x)
        return found

    def explain_numbers(self, places: Sequence[Any]) -> str:
        """Describe numbers that are needed in Python, for which a program is for one call alone."""
        return ", ".join(f"the value of `{place.label}` is needed in Python" for place in places)

    def lines(self, said: str) -> str:
        """Return the lines, `` (model.py:12)``, that change what a message names."""
        name = said.partition("`")[2].partition("`")[0].rpartition(".")[2].partition("[")[0]
        return self._observer.lines_of(name)

    def _is_plain_key(self, key: Any) -> bool:
        if isinstance(key, tuple):
            return all(map(self._is_plain_key, key))
        given = id(key) in self._observer.containers
        return not given and not isinstance(key, Tensor) and type(key) is not Number

    # -- what becomes of a change ------------------------------------------------------------------

    def _settle_moved(self) -> None:
        """Have what the body reads where programs change it be an input: a tensor at once, a number
        in the next program."""
        if not _moved:
            return
        for guard in list(self._observer.guards.values()):
            owner = id(guard.owner)
            if type(guard) in _VARIABLES:
                key, before = key_of(guard), guard.before()
                if key not in _moved or key in self._numbers or not guard.check():
                    continue
                if self._is_form(before):
                    self._observer.release(guard)
                    self._input(place_of(guard), before)  # type: ignore[arg-type]
                elif type(before) in (int, float):
                    self.movable[key] = place_of(guard)  # type: ignore[arg-type]
            elif type(guard) in (ItemsGuard, EntriesGuard) and guard.check():
                self._settle_moved_elements(guard, owner)

    def _set_apart(self) -> None:
        """Have what is in places whose containers are others at each call be none that is known."""
        guards = self._observer.guards
        forms = [g.place for g in guards.values() if type(g) is FormGuard and objects_in(g.now())]
        if forms:
            known = {id(g.owner) for g in guards.values()} | self._observer.followed()
            guard = DistinctGuard(forms, frozenset(known))
            guards[id(guard)] = guard
            self._covered[id(guard)] = guard.now(), guard

    def _settle_moved_elements(self, guard: Any, owner: int) -> None:
        items = guard.items
        found = items.items() if isinstance(items, dict) else enumerate(items)
        here = {k: x for k, x in found if (owner, ("[]", k)) in _moved}
        for k, x in here.items():
            if type(x) in (int, float):
                self.movable[owner, ("[]", k)] = ElementPlace(guard.owner, k, guard.label)
        if is_table(guard.owner) or is_filled(guard.owner):
            self._slots(guard, {k: x for k, x in here.items() if self._is_form(x)})

    def take_numbers_out(self, places: Iterable[tuple[Any, Any]]) -> None:
        """Put numbers back into the places from which a trace took them, which its body may have
        changed: no container, nor what a guard knows of one, holds a `Number` afterwards."""
        for place, number in places:
            with contextlib.suppress(LookupError):  # of a list that is shorter now
                put_unseen(place, number)
            _make_plain(place.owner)
        for guard in self._observer.guards.values():
            if isinstance(guard, EntriesGuard):
                _make_plain(guard.items)
            elif isinstance(guard, ItemsGuard):
                items = list(guard.items)
                if _make_plain(items):
                    guard.items = tuple(items)

    def _settle_numbers(self) -> None:
        """Have the guards on numbers that are inputs know what they were, and compare them no
        more."""
        for guard in list(self._observer.guards.values()):
            if type(guard) in _VARIABLES and key_of(guard) in self._numbers:
                guard.value = self._numbers[key_of(guard)][1]  # type: ignore[attr-defined]
                self._observer.release(guard)
            elif here := self._numbers_in(guard):
                self._fix(guard, here)
                self._loosen(guard, here)
        bindings = self._capture.bindings
        bindings.released |= self._numbers.keys()
        for key in self._numbers.keys() & bindings.attributes_written.keys():
            owner, name, _ = bindings.attributes_written[key]
            bindings.attributes_written[key] = owner, name, self._numbers[key][1]

    def _numbers_in(self, guard: Any) -> dict[Any, Any]:
        """Return the elements of a container that are inputs, as they were."""
        if not self._numbers or not isinstance(guard, (ItemsGuard, EntriesGuard)):
            return {}
        items, of = guard.items, id(guard.owner)
        keys = items if isinstance(items, dict) else range(len(items))
        return {
            k: self._numbers[of, ("[]", k)][1] for k in keys if (of, ("[]", k)) in self._numbers
        }

    def _fix(self, guard: Any, here: dict[Any, Any]) -> None:
        """Have a guard on a container know the numbers in it as they were."""
        if isinstance(guard, EntriesGuard):
            guard.items = {**guard.items, **here}
        else:
            guard.items = tuple(here.get(i, x) for i, x in enumerate(guard.items))

    def _collect(self, guard: ValueGuard) -> None:
        if type(guard) in _VARIABLES:
            self._variable(guard)  # type: ignore[arg-type]
        elif isinstance(guard, ItemsGuard) and is_filled(guard.owner):
            self._items(guard)
        elif type(guard) is EntriesGuard and is_table(guard.owner):
            self._entries(guard)  # type: ignore[arg-type]
        elif type(guard) is AttributesGuard:
            self._names(guard)

    def _names(self, guard: AttributesGuard) -> None:
        """Have each attribute be guarded by itself of an object of which code may set any."""
        before, now, observer = guard.items, guard.now(), self._observer
        differ = [n for n in {**before, **now} if _differs(before, n, now)]
        for name in differ:
            if (id(guard.of), name) not in observer.guards:
                was, label = before.get(name, MISSING), f"{guard.label}.{name}"
                found = NameGuard(guard.of, guard.owner, name, was, label)
                observer.guards[id(guard.of), name] = found
                self._variable(found)
        self._release(guard, SomeEntriesGuard(guard, frozenset(differ), True))

    def _add(self, guard: ValueGuard, change: Change) -> None:
        self._covered[id(guard)] = guard.now(), guard
        self.changes.append(change)

    def _variable(self, guard: VariableGuard) -> None:
        observer, before, place = self._observer, guard.before(), place_of(guard)
        change = self._counting(guard, place)
        if key_of(guard) in self._numbers:
            guard.value = self._numbers[key_of(guard)][1]  # type: ignore[attr-defined]
            observer.release(guard)
        elif change is not None or (not isinstance(before, Tensor) and observer.only_binds(guard)):
            observer.release(guard)
        elif self._is_form(before, guard.now()):
            self._input(place, before)
            self._may_move(place, before, guard.now())
            observer.release(guard)
        else:
            self._may_move(place, before, guard.now())
        self._add(guard, change or Binding(place))

    def _counting(self, guard: VariableGuard, place: VariableGuard) -> Counting | None:
        """Return the change of a counter that no code reads; None for what is more."""
        observer, before, now = self._observer, guard.before(), guard.now()
        if type(before) is not int or type(now) is not int:
            return None  # sums of floats depend on where they begin
        if not (observer.is_record(guard) and observer.adds_to(guard)):
            return None
        _note_moved(key_of(place))
        return Counting(place, now - before)

    def _items(self, guard: ItemsGuard) -> None:
        observer, owner, before = self._observer, guard.owner, list(guard.items)
        now, n = list(owner), len(guard.items)
        if observer.is_record(guard, True) and not observer.adds_in_front():
            if type(owner) is set:
                new = [x for x in owner if x not in before]
                instead = HoldsGuard(before, guard.label)
                instead.owner = owner
                self._release(guard, instead)
                self._add(guard, Adding(owner, new))
                return
            if len(now) > n and all(map(_is, now[:n], before)):
                self._release(guard, None)
                observer.forget_way(guard.label)
                self._add(guard, Adding(owner, now[n:]))
                return
        apart: dict[Any, Any] = {}
        if type(owner) is not set:
            later = [*now, *[MISSING] * len(before)]
            apart = {i: x for i, x in enumerate(before) if self._is_form(x, later[i])}
            for i, (x, y) in enumerate(zip(before, now, strict=False)):
                self._may_move(ElementPlace(owner, i, guard.label), x, y)
        self._slots(guard, apart)
        self._add(guard, Filling(owner))

    def _entries(self, guard: EntriesGuard) -> None:
        owner, before = guard.owner, guard.items
        change = Entering(owner, before)
        if not all(map(self._is_plain_key, change.keys)):
            return
        if change.only_writes and self._observer.is_record(guard, True):
            self._release(guard, SomeEntriesGuard(guard, change.keys, True))
            for key in change.keys:
                self._observer.forget_way(ElementPlace(owner, key, guard.label).label)
        else:
            keys = [k for k in change.keys if k in before]
            apart = {k: before[k] for k in keys if self._is_form(before[k], owner[k])}
            for k in change.keys:
                place = ElementPlace(owner, k, guard.label)
                self._may_move(place, before.get(k), owner[k])
            self._slots(guard, apart)
        self._add(guard, change)

    def _slots(self, guard: Any, apart: dict[Any, Any]) -> None:
        """Have elements of a container that are tensors be inputs."""
        for key, t in apart.items():
            self._input(ElementPlace(guard.owner, key, guard.label), t)
        numbers = self._numbers_in(guard)
        self._fix(guard, numbers)
        if apart or numbers:
            self._loosen(guard, {**apart, **numbers})

    def _loosen(self, guard: Any, apart: Iterable[Any]) -> None:
        """Compare these elements of a container no more."""
        all_apart = frozenset(apart) | getattr(guard, "apart", frozenset())
        if isinstance(guard, EntriesGuard):
            may_miss = getattr(guard, "may_miss", False)
            self._release(guard, SomeEntriesGuard(guard, all_apart, may_miss))
        else:
            self._release(guard, SomeItemsGuard(guard, all_apart))

    def _release(self, guard: Any, instead: ValueGuard | None) -> None:
        self._observer.release(guard, instead)
        if instead is not None:
            self._covered[id(instead)] = guard.now(), instead

    def _input(self, place: Any, before: Any) -> None:
        """Have a place be an input that held a tensor, or a tuple of tensors and other things."""
        if isinstance(before, Tensor):
            self._capture.bindings.slots[key_of(place)] = PlaceSlot(place, before)
        else:
            guard = FormGuard(place, before, lambda x: type(x) is Number)
            self._observer.guards[id(guard)] = guard
            self._covered[id(guard)] = place.now(), guard
            self._inputs_within(place, before)
        self._observer.forget_way(place.label)
        _note_moved(key_of(place))

    def _inputs_within(self, place: Any, before: Any) -> None:
        self._observer.forget_object(before)
        for key, at in places_within(place, before).items():
            x = parts_of(before)[key]
            if isinstance(x, Tensor):
                self._capture.bindings.slots[key_of(at)] = PlaceSlot(at, x)
            elif parts_of(x):
                self._inputs_within(at, x)

    def _is_form(self, before: Any, now: Any = MISSING) -> bool:
        """Return whether a container or object, of which no other place knows, is one for another
        that the body made: the next call finds that, and what is in it is an input."""
        if holds_tensors(before):
            return True
        if now is not MISSING and (now is before or type(now) is not type(before)):
            return False
        inside = objects_in(before)
        held, left = self._holds, self._leaves
        return bool(inside) and all(held[key] == 1 and key not in left for key in inside)

    def _held(self) -> Counter[int]:
        """Count how often objects are held by what guards compare, where none of it was changed
        inside."""
        found: Counter[int] = Counter()
        for guard in list(self._observer.guards.values()):
            if type(guard) in _VARIABLES:
                found[id(guard.before())] += 1
            elif type(guard) in (ItemsGuard, EntriesGuard):
                items = guard.items
                found.update(map(id, items.values() if isinstance(items, dict) else items))
            if type(guard) is not AttributesGuard and not guard.check():
                found[id(guard.holder)] += 2
        for module in self._observer.modules.values():
            found.update(map(id, vars(module).values()))
        for _, _, before in self._capture.bindings.attributes_written.values():
            found[id(before)] += 1
        return found

    def _left(self) -> set[int]:
        """Return the ids of what the body leaves in the places that it changed."""
        written = self._capture.bindings.attributes_written.values()
        stack = [vars(owner).get(name) for owner, name, _ in written]
        stack += [g.now() for g in self._observer.changes() if type(g) is not AttributesGuard]
        found: set[int] = set()
        while stack:
            x = stack.pop()
            if id(x) not in found and (parts := parts_of(x)):
                found.add(id(x))
                stack += parts.values()
        return found

    def _may_move(self, place: Any, before: Any, now: Any) -> None:
        kind = type(before)
        if kind is type(now) and not isinstance(before, tuple):
            later = parts_of(now)
            for key, at in places_within(place, before).items():
                self._may_move(at, parts_of(before)[key], later.get(key))
        if kind in (int, float) and _kind_of(now) is kind and not same(before, now):
            self.movable[key_of(place)] = place
            _note_moved(key_of(place))

    def _collect_attributes(self) -> None:
        """Find what was set of modules' plain attributes."""
        bindings, observer = self._capture.bindings, self._observer
        is_own = observer.own_objects()
        for key, (owner, name, before) in bindings.attributes_written.items():
            space = owner.__dict__
            now = space.get(name, MISSING)
            is_slot = isinstance(before, Tensor) or key in bindings.written
            if is_slot or same(now, before) or is_own(owner):
                continue
            label = f"{type(owner).__name__}.{name}"
            place = ModulePlace(owner, space, name, None, label)
            change: Change = Binding(place)
            counts = observer.only_adds(name) and observer.only_records(name)
            if type(before) is int and type(now) is int and counts:
                change = Counting(place, now - before)
                bindings.released.add(key)
            elif self._is_form(before, now):
                self._input(place, before)
                self._may_move(place, before, now)
                if observer.has_visited(owner):
                    observer.forget_way(f"{observer.label_of(owner)}.{name}")
                bindings.released.add(key)
            elif not observer.reads(name) and name not in library_names(type(owner)):
                bindings.released.add(key)
            elif key not in self._numbers:
                self._may_move(place, before, now)
            self._attributes.add(key)
            self.changes.append(change)


def _make_plain(container: Any) -> bool:
    """Replace the numbers of a trace in a list, deque or dictionary by their values; return whether
    there were any."""
    if not isinstance(container, (list, deque, dict)):
        return False
    items = container.items() if isinstance(container, dict) else enumerate(container)
    found = {k: x.value for k, x in items if type(x) is Number and x.table is not None}
    for key, value in found.items():
        container[key] = value
    return bool(found)


def _note_moved(key: Any) -> None:
    if len(_moved) >= _MOST_MOVED:
        _moved.clear()
    _moved[key] = None


def holds_tensors(value: Any) -> bool:
    """Return whether a value is a tensor, or a tuple that holds some: one with attributes of a
    user's is compared."""
    if isinstance(value, tuple):
        return any(map(holds_tensors, value))
    return isinstance(value, Tensor) and vars(value).keys() <= FIELDS


def _is_of_each(guard: ValueGuard) -> bool:
    return type(guard) is not AttributesGuard


def _differs(before: Mapping[str, Any], name: str, now: Mapping[str, Any]) -> bool:
    return not same(before.get(name, MISSING), now.get(name, MISSING))


def _kind_of(value: Any) -> type:
    return value.kind if type(value) is Number else type(value)


def _is(a: Any, b: Any) -> bool:
    return a is b


def _is_alike(left: Any, now: Any) -> bool:
    """Return whether a container holds the very elements that it held, or a variable its value."""
    if left is now:
        return True
    if type(left) is not type(now) or not isinstance(left, (list, dict)):
        return same(left, now)
    if isinstance(left, dict):
        return list(left) == list(now) and all(map(_is, left.values(), now.values()))
    return len(left) == len(now) and all(map(_is, left, now))
