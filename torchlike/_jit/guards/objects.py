"""Guards on objects: their classes, functions' code, caches, and what a getter says of them."""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._jit.guards.containers import EntriesGuard
from torchlike._jit.guards.guard import Guard
from torchlike._jit.guards.values import ValueGuard, describe
from torchlike.tensor import Tensor


class ClassGuard(ValueGuard):
    """Which class an object is of, which ``obj.__class__ = …`` exchanges."""

    __slots__ = ("cls",)

    def __init__(self, owner: Any, label: str) -> None:
        super().__init__(owner, label)
        self.cls = type(owner)

    def now(self) -> Any:
        return type(self.owner)

    def before(self) -> Any:
        return self.cls

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return type(self.owner) is self.cls

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"type({name(self.owner)}) is {name(self.cls)}"

    def restore(self) -> None:
        self.owner.__class__ = self.cls


class AttributesOfGuard(Guard):
    """Which dictionary keeps an object's attributes, which ``obj.__dict__ = …`` exchanges."""

    __slots__ = ("owner", "space")

    def __init__(self, owner: Any, space: dict[str, Any]) -> None:
        self.owner = owner
        self.space = space

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        return self.owner.__dict__ is self.space

    def expression(self, name: Callable[[Any], str]) -> str | None:
        return f"{name(self.owner)}.__dict__ is {name(self.space)}"

    def explain(self, arguments: Sequence[Tensor] = ()) -> str:
        return f"the __dict__ of {describe(self.owner)} was replaced"


class StateGuard(ValueGuard):
    """What a getter says of an object: a random generator's state, a context variable.

    ``put_back`` undoes a change; without it there is none that capture code could make.
    """

    __slots__ = ("getter", "put_back", "value")

    def __init__(
        self,
        owner: Any,
        label: str,
        getter: Callable[[Any], Any],
        put_back: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        super().__init__(owner, label)
        self.getter = getter
        self.put_back = put_back
        self.value = getter(owner)

    def now(self) -> Any:
        return self.getter(self.owner)

    def before(self) -> Any:
        return self.value

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        now = self.getter(self.owner)
        return now is self.value or _equal(now, self.value)

    def restore(self) -> None:
        if self.put_back is not None:
            self.put_back(self.owner, self.value)


def _equal(a: Any, b: Any) -> bool:
    """Return whether two objects call themselves equal; what has no answer (tensors) is not."""
    try:
        return bool(a == b)
    except Exception:
        return False


class FunctionGuard(ValueGuard):
    """The parts of a function that can be exchanged under its name: code and defaults."""

    __slots__ = ("code", "defaults", "entries", "named")

    def __init__(self, owner: types.FunctionType, label: str) -> None:
        super().__init__(owner, label)
        self.code, self.defaults, self.named = self.now()
        #: Those by keyword are in a dictionary, which can be written to.
        self.entries = None if self.named is None else EntriesGuard(self.named, label)

    def now(self) -> Any:
        return self.owner.__code__, self.owner.__defaults__, self.owner.__kwdefaults__

    def before(self) -> Any:
        return self.code, self.defaults, self.named

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        owner = self.owner
        return (
            owner.__code__ is self.code
            and owner.__defaults__ is self.defaults
            and owner.__kwdefaults__ is self.named
            and (self.entries is None or self.entries.check())
        )

    def expression(self, name: Callable[[Any], str]) -> str | None:
        if self.entries is not None:
            return None
        owner = name(self.owner)
        return (
            f"{owner}.__code__ is {name(self.code)} and {owner}.__defaults__ is "
            f"{name(self.defaults)} and {owner}.__kwdefaults__ is {name(self.named)}"
        )

    def restore(self) -> None:
        owner = self.owner
        owner.__code__, owner.__defaults__, owner.__kwdefaults__ = self.before()
        if self.entries is not None:
            self.entries.restore()


class CacheGuard(ValueGuard):
    """What a ``functools.lru_cache`` had remembered: handed out without running any code, so no
    other guard stands for it. What it remembers later is computed by code that is watched."""

    __slots__ = ("results",)

    def __init__(self, owner: Any, label: str) -> None:
        super().__init__(owner, label)
        self.results = results_of(owner)

    def now(self) -> Any:
        return results_of(self.owner)

    def before(self) -> Any:
        return self.results

    def check(self, arguments: Sequence[Tensor] = ()) -> bool:
        if not self.results:
            return True
        now = set(map(id, results_of(self.owner)))
        return all(id(x) in now for x in self.results)

    def restore(self) -> None:
        """Do nothing: only the cache itself can forget or remember."""


def results_of(cache: Any) -> list[Any]:
    """Return the results that a ``functools.lru_cache`` remembers (and some of its keys)."""
    found: list[Any] = []
    for held in gc.get_referents(cache):
        if (
            held is not cache.__dict__
            and held is not cache.__wrapped__
            and (not isinstance(held, type))
        ):
            # Results stand in the cache's dictionary, or (a bounded one) are referents themselves.
            found += held.values() if type(held) is dict else [held]
    return found
