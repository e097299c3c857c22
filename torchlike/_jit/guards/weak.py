"""Guards of what weak references refer to, and how a capture knows that they alone lead there."""

from __future__ import annotations

import _weakref
import gc
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from torchlike._jit.guards.guard import Guard, NameGuard, ValueGuard
from torchlike.tensor import Tensor

_CONTAINERS = frozenset((list, tuple, dict, set, frozenset))
#: Attributes of guards in which a container is the one that is compared, and no copy.
_OF_THE_USER = frozenset(("of", "owner", "space", "value"))

#: Modules whose objects a program consists of.
_OF_PROGRAMS = (
    "torchlike._jit.program",
    "torchlike._jit.trace.outputs",
    "torchlike._jit.guards",
    "torchlike._runtime.scheduling",
)


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
        for held in _referents(stack.pop()):
            key = id(held)
            if key in refs:
                found.add(key)
            elif key not in seen and _is_of_a_program(type(held)):
                seen.add(key)
                stack.append(held)
    return found


def _referents(x: Any) -> list[Any]:
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
        kind.__module__.startswith(_OF_PROGRAMS) or kind.__name__ == "Slot"
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


# -------------------------------------------------------------------------------------------------
# What a capture has reached, and of it what weak references alone lead to: that must stay free to
# die, however the guards and the capture know of it.


PROXIES = frozenset((weakref.ProxyType, weakref.CallableProxyType))


class Reached:
    """What was reached from names in the code, and how.

    Attributes:
      tensors: tensors that were reached, for their requires_grad.
      modules: modules (of nn) that were reached by name: their owner guards their plain attributes.
      weak: what live weak references refer to: {id: (reference, label)}; ids of objects that are
        reached by no other way, and whether such are being visited.
    """

    def __init__(self) -> None:
        self.guards: dict[Any, ValueGuard] = {}
        self.tensors: dict[int, Tensor] = {}
        self.modules: dict[int, Any] = {}
        #: Tensors whose attributes of the user's count: {id: (tensor, label)}. Most have none.
        self._noted_on: dict[int, tuple[Tensor, str]] = {}
        self._functions: dict[int, list[types.FunctionType]] = {}
        #: Everything visited: {id: (object, label, depth)}.
        self._visited: dict[int, tuple[Any, str, int]] = {}
        #: Objects whose attributes are followed by name.
        self._objects: dict[int, tuple[Any, str, int]] = {}
        self._spaces: dict[int, tuple[Any, dict[str, Any]]] = {}
        #: Ids of visited objects that may have been made by the capture itself.
        self._unrooted: set[int] = set()
        self._rooted = True
        self.weak: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._weakly_reached: set[int] = set()
        self._weakly = False

    def visit(self, value: Any, label: str, depth: int = 0) -> None:
        """Follow a value that user code can reach."""
        raise NotImplementedError

    def _is_known(self, key: int) -> bool:
        """Return whether a value has been visited in as good a way as now. If not, it counts as
        reached in this way from here on."""
        if key in self._visited:
            if not self._rooted or not (
                key in self._unrooted or (key in self._weakly_reached and not self._weakly)
            ):
                return True
            self._unrooted.discard(key)  # reached from a root after all, and so is what it holds
            if not self._weakly:
                self._weakly_reached.discard(key)
        elif self._weakly:
            self._weakly_reached.add(key)
        if not self._rooted:
            self._unrooted.add(key)
        return False

    def _reach_as(self, value: Any) -> None:
        """Have what an object holds be reached in the way that the object is."""
        self._rooted = id(value) not in self._unrooted
        self._weakly = id(value) in self._weakly_reached

    def _reference(self, value: Any, label: str, depth: int) -> None:
        self._referent(_weakref.ReferenceType.__call__(value), f"{label}()", depth)

    def _proxied(self, value: Any, label: str, depth: int) -> None:
        try:
            referent = value.__sizeof__.__self__
        except (ReferenceError, AttributeError):
            return
        self._referent(referent, label, depth)

    def _referent(self, value: Any, label: str, depth: int) -> None:
        """Follow what is referred to weakly: it may die, and no guard may keep it alive."""
        if value is None:
            return
        if self._rooted:
            ref = weakref.ref(value)
            self.weak.setdefault(id(value), (ref, label))
            self.guards.setdefault((id(value), AliveGuard), AliveGuard(ref, label))
        before, self._weakly = self._weakly, True
        self.visit(value, label, depth + 1)
        self._weakly = before

    def weak_referents(self) -> dict[int, weakref.ref[Any]]:
        """Return the weak references to what guards may not keep alive, by ids. A program holds
        modules and tensors that are reached in other ways as well."""
        return {
            key: ref
            for key, (ref, _) in self.weak.items()
            if key in self._weakly_reached or not _is_held(ref())
        }

    def why_held(self, key: int) -> str:
        """Return the reason why a program cannot be kept that holds what is reached by a weak
        reference alone."""
        ref, label = self.weak[key]
        return (
            f"it can follow the weak reference `{label}` to a {type(ref()).__name__}, which a "
            "compiled program would keep alive; pass it as an argument"
        )

    def let_go(self) -> None:
        """Hold no longer what weak references refer to: a capture that is over would, until garbage
        is collected."""
        for table in (
            self._visited,
            self._objects,
            self._spaces,
            self._noted_on,
            self.tensors,
            self.modules,
        ):
            for key in self.weak:
                table.pop(key, None)
        self._functions = {
            code: [fn for fn in functions if id(fn) not in self.weak]
            for code, functions in self._functions.items()
        }
        refs = {key: ref for key, (ref, _) in self.weak.items()}
        self.guards = {k: g for k, g in self.guards.items() if not holds(g, refs)}


def _is_held(value: Any) -> bool:
    """Return whether a program holds an object that its code uses: a tensor, a module, an
    optimizer."""
    if issubclass(type(value), Tensor):
        return True
    try:
        space = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return False
    return "_parameters" in space or "param_groups" in space
