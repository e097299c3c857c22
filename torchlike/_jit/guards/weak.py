"""Guards of what weak references refer to: that it lives, and others that let it die."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torchlike._jit.guards.guard import Guard
from torchlike._jit.guards.values import ValueGuard
from torchlike._jit.guards.variables import NameGuard
from torchlike.tensor import Tensor

_CONTAINERS = frozenset((list, tuple, dict, set, frozenset))
#: Attributes of guards in which a container is the one that is compared, and no copy.
_OF_THE_USER = frozenset(("of", "owner", "space", "value"))


class AliveGuard(ValueGuard):
    """That what a weak reference refers to is there."""

    __slots__ = ()

    def __init__(self, ref: weakref.ref[Any], label: str) -> None:
        super().__init__(ref, label)

    def now(self) -> Any:
        return "alive" if self.owner() is not None else "gone"

    def before(self) -> Any:
        return "alive"

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.owner() is not None

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"{name(self.owner)}() is not None"

    def restore(self) -> None:
        """Do nothing: what is gone does not come back."""


class WeakenedGuard(Guard):
    """A guard whose objects are free to die: it keeps what it knows without them, and is put
    together again for each check."""

    __slots__ = ("_holes", "_kept", "_kind")

    def __init__(self, guard: Guard, refs: Mapping[int, weakref.ref[Any]]) -> None:
        self._kind = type(guard)
        #: Its attributes as they are, and those in which an object's place is a reference.
        self._kept: list[tuple[str, Any]] = []
        self._holes: list[tuple[str, Any]] = []
        for name, held in _attributes(guard):
            weakened = _weakened(held, refs)
            (self._kept if weakened is held else self._holes).append((name, weakened))

    @property
    def follows_epoch(self) -> bool:  # type: ignore[override]
        return self._kind.follows_epoch

    @property
    def of_arguments(self) -> bool:  # type: ignore[override]
        return self._kind.of_arguments

    def _whole(self) -> Guard | None:
        """Rebuild the guard with its objects; return None where one is gone."""
        guard = object.__new__(self._kind)
        for name, held in self._kept:
            setattr(guard, name, held)
        for name, held in self._holes:
            strong = _strong(held)
            if strong is None:
                return None
            setattr(guard, name, strong)
        return guard

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        guard = self._whole()
        return guard is not None and guard.check(arguments)

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        guard = self._whole()
        label = next((x for name, x in self._kept if name == "label"), "an object")
        return f"what `{label}` belongs to is gone" if guard is None else guard.explain(arguments)


class _Ref:
    """The place of an object that may be gone."""

    __slots__ = ("ref",)

    def __init__(self, ref: weakref.ref[Any]) -> None:
        self.ref = ref


def weakened(guards: Sequence[Guard], refs: Mapping[int, weakref.ref[Any]]) -> Iterator[Guard]:
    """Yield the guards, changed so that they do not hold what ``refs`` refer to: {id:
    reference}."""
    for guard in guards:
        holes = _holes(guard, refs)
        if holes == ["owner"] and type(guard) is NameGuard:
            guard.owner = None  # which is not compared
            yield guard
        else:
            yield WeakenedGuard(guard, refs) if holes else guard


def holds(guard: Guard, refs: Mapping[int, weakref.ref[Any]]) -> bool:
    """Return whether a guard holds something of what ``refs`` refer to."""
    return bool(_holes(guard, refs))


def held_by(program: Any, refs: Mapping[int, weakref.ref[Any]]) -> set[int]:
    """Return the ids of those objects to which ``refs`` refer that a program holds."""
    if not refs:
        return set()
    found, seen, stack = set(), {id(program)}, [program]
    while stack:
        for held in _held(stack.pop()):
            key = id(held)
            if key in refs:
                found.add(key)
            elif key not in seen and _is_of_a_program(type(held)):
                seen.add(key)
                stack.append(held)
    return found


def _held(x: Any) -> list[Any]:
    """Return the objects that an object of a program holds, the user's own containers aside."""
    if not isinstance(x, Guard):
        return gc.get_referents(x)
    attributes = x._kept if isinstance(x, WeakenedGuard) else _attributes(x)
    return [
        held
        for name, held in attributes
        if type(held) not in _CONTAINERS or name not in _OF_THE_USER
    ]


def _is_of_a_program(kind: type) -> bool:
    return kind in _CONTAINERS or (
        kind.__module__.startswith(("torchlike._jit.compile", "torchlike._jit.guards"))
        or kind.__name__ == "Slot"
    )


def _holes(guard: Guard, refs: Mapping[int, weakref.ref[Any]]) -> list[str]:
    return [name for name, x in _attributes(guard) if _weakened(x, refs) is not x]


def _attributes(guard: Guard) -> list[tuple[str, Any]]:
    names = [name for cls in type(guard).__mro__ for name in getattr(cls, "__slots__", ())]
    return [(name, getattr(guard, name)) for name in names if hasattr(guard, name)]


def _weakened(held: Any, refs: Mapping[int, weakref.ref[Any]]) -> Any:
    """Replace in ``held``, or in the containers in it, what ``refs`` refer to by references; return
    it itself where it holds none."""
    if id(held) in refs:
        return _Ref(refs[id(held)])
    if type(held) is tuple and any(id(x) in refs for x in held):
        return tuple(_Ref(refs[id(x)]) if id(x) in refs else x for x in held)
    if type(held) is dict and any(id(x) in refs for x in (*held, *held.values())):
        found = {k: _Ref(refs[id(x)]) if id(x) in refs else x for k, x in held.items()}
        return tuple((_Ref(refs[id(k)]) if id(k) in refs else k, x) for k, x in found.items()), dict
    return held


def _strong(held: Any) -> Any:
    """Return the object that `_weakened` was given; None where something in it is gone."""
    if type(held) is _Ref:
        return held.ref()
    if len(held) == 2 and held[1] is dict:
        items: list[Any] = [
            tuple(x.ref() if type(x) is _Ref else x for x in item) for item in held[0]
        ]
        gone = any(
            new is None and type(old) is _Ref
            for item, before in zip(items, held[0], strict=True)
            for new, old in zip(item, before, strict=True)
        )
        return None if gone else dict(items)
    strong = tuple(x.ref() if type(x) is _Ref else x for x in held)
    gone = any(x is None and type(y) is _Ref for x, y in zip(strong, held, strict=True))
    return None if gone else strong
