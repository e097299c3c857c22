"""Places: where Python keeps a value that a capture took for granted, and whether it still does.

A place is checked at each call of a compiled function, at ~50 ns, so each kind is one tight method.
"""

from __future__ import annotations

import gc
import itertools
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from operator import is_
from typing import Any

import numpy as np

from torchlike._core.tensor import Tensor

VALUES = (int, float, complex, bool, str, bytes, type(None), np.generic)


class _Missing:
    def __repr__(self) -> str:
        return "nothing"


MISSING: Any = _Missing()


def same(a: Any, b: Any) -> bool:
    """Whether two objects are the same to a graph: plain values by value (0.0 is not -0.0, 1 is not
    True, NaN is NaN), everything else by identity."""
    if a is b:
        return True
    kind = type(a)
    if kind is not type(b) or not issubclass(kind, VALUES):
        return False
    if isinstance(a, float) and not isinstance(a, np.generic):
        return a.hex() == b.hex()
    if kind is complex:
        return repr(a) == repr(b)
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    return bool(a == b)


def describe(value: Any) -> str:
    """A value in a few words, for messages."""
    if isinstance(value, Tensor):
        return f"tensor of shape {list(value.shape)} at {id(value):#x}"
    if isinstance(value, (*VALUES, list, tuple, dict, set, _Missing)):
        text = repr(value) if not _holds_tensors(value) else f"{type(value).__name__} of tensors"
        return text if len(text) <= 60 else text[:57] + "..."
    name = getattr(value, "__qualname__", None)
    return name if isinstance(name, str) else f"{type(value).__name__} object at {id(value):#x}"


def _holds_tensors(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, (list, tuple, dict, set)) and any(
        not isinstance(x, VALUES) for x in itertools.islice(items, 1000)
    )


class Place:
    """Base: a value kept somewhere, its label for messages, and who owns it."""

    __slots__ = ("label", "owner")

    def __init__(self, owner: Any, label: str) -> None:
        self.owner = owner
        self.label = label

    @property
    def holder(self) -> Any:
        """The object that has it."""
        return self.owner

    def holds(self) -> bool:
        """Whether the value is what it was."""
        raise NotImplementedError

    def condition(self, name: Callable[[Any], str]) -> str:
        """An expression that is True only if ``holds`` is (ValueError counts as False); ``name``
        gives an object a name in it."""
        return f"{name(self.holds)}()"

    def before(self) -> Any:
        """The value as it was."""
        raise NotImplementedError

    def now(self) -> Any:
        """The value as it is."""
        raise NotImplementedError

    def restore(self) -> None:
        """Put the value back as it was."""
        raise NotImplementedError


class Variable(Place):
    """Base: one value under a name, which can be bound anew."""

    __slots__ = ()

    def put(self, value: Any) -> None:
        """Bind it to a value, or (MISSING) to none."""
        raise NotImplementedError

    def restore(self) -> None:
        self.put(self.before())


class Name(Variable):
    """A name in a dictionary that Python looks names up in: globals, an instance, a class."""

    __slots__ = ("name", "space", "value")

    def __init__(self, owner: Any, space: Any, name: str, value: Any, label: str) -> None:
        super().__init__(owner, label)
        self.space = space
        self.name = name
        self.value = value

    def now(self) -> Any:
        return self.space.get(self.name, MISSING)

    def before(self) -> Any:
        return self.value

    def holds(self) -> bool:
        now = self.space.get(self.name, MISSING)
        return now is self.value or same(now, self.value)

    def put(self, value: Any) -> None:
        if isinstance(self.space, types.MappingProxyType):
            if value is MISSING:
                delattr(self.owner, self.name)
            else:
                setattr(self.owner, self.name, value)
        elif value is MISSING:
            self.space.pop(self.name, None)
        else:
            self.space[self.name] = value


class Member(Variable):
    """An attribute kept in ``__slots__``."""

    __slots__ = ("descriptor", "value")

    def __init__(self, owner: Any, descriptor: Any, label: str) -> None:
        super().__init__(owner, label)
        self.descriptor = descriptor
        self.value = self.now()

    def now(self) -> Any:
        try:
            return self.descriptor.__get__(self.owner)
        except AttributeError:
            return MISSING

    def before(self) -> Any:
        return self.value

    def holds(self) -> bool:
        return same(self.now(), self.value)

    def put(self, value: Any) -> None:
        if value is MISSING:
            self.descriptor.__delete__(self.owner)
        else:
            self.descriptor.__set__(self.owner, value)


class Cell(Variable):
    """A variable that functions share (a closure)."""

    __slots__ = ("value",)

    def __init__(self, cell: types.CellType, label: str) -> None:
        super().__init__(cell, label)
        self.value = self.now()

    def now(self) -> Any:
        try:
            return self.owner.cell_contents
        except ValueError:
            return MISSING

    def before(self) -> Any:
        return self.value

    def holds(self) -> bool:
        now = self.now()
        return now is self.value or same(now, self.value)

    def condition(self, name: Callable[[Any], str]) -> str:
        if self.value is MISSING:
            return super().condition(name)
        return f"{name(self.owner)}.cell_contents is {name(self.value)}"

    def put(self, value: Any) -> None:
        if value is MISSING:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value


class Items(Place):
    """The elements of a list, set or deque."""

    __slots__ = ("items",)

    def __init__(self, owner: Any, label: str) -> None:
        super().__init__(owner, label)
        self.items = tuple(owner)

    def now(self) -> Any:
        return list(self.owner)

    def before(self) -> Any:
        return list(self.items)

    def holds(self) -> bool:
        # Identity first: a pass at C's speed, ~15 ns an element.
        return len(self.owner) == len(self.items) and (
            all(map(is_, self.owner, self.items)) or all(map(same, self.owner, self.items))
        )

    def condition(self, name: Callable[[Any], str]) -> str:
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
    """What a dictionary holds, by none of its class's own methods: ``items()`` of an OrderedDict
    asks ``__getitem__``, which may make something new each time."""
    if type(owner) in _AS_STORED or not isinstance(owner, dict):
        return owner
    kind: Any = OrderedDict if isinstance(owner, OrderedDict) else dict
    return {k: dict.__getitem__(owner, k) for k in kind.__iter__(owner)}


class Entries(Place):
    """The keys (in order) and values of a dictionary."""

    __slots__ = ("items",)

    def __init__(self, owner: Any, label: str) -> None:
        super().__init__(owner, label)
        self.items = dict(entries(owner))

    def now(self) -> Any:
        return dict(entries(self.owner))

    def before(self) -> Any:
        return self.items

    def holds(self) -> bool:
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


class Bindings(Place):
    """What a module's table of parameters, buffers, children or hooks binds, in order; but not what
    the names ``apart`` are bound to, which programs bind."""

    __slots__ = ("apart", "bound", "names")

    def __init__(self, owner: dict[str, Any], apart: frozenset[str] | set[str]) -> None:
        super().__init__(owner, "")
        self.names = list(owner)
        self.apart = frozenset(apart).intersection(owner)
        self.bound = {name: t for name, t in owner.items() if name not in self.apart}

    def holds(self) -> bool:
        owner, bound = self.owner, self.bound
        if not self.apart:
            return all(map(is_, owner.values(), bound.values())) and owner.keys() == bound.keys()
        return list(owner) == self.names and all(owner[name] is t for name, t in bound.items())

    def condition(self, name: Callable[[Any], str]) -> str:
        if self.names:
            return super().condition(name)
        return f"not {name(self.owner)}"  # most modules have no buffers: 30 ns, not 300


class Attributes(Entries):
    """All attributes of an object."""

    __slots__ = ("of",)

    def __init__(self, of: Any, space: dict[str, Any], label: str) -> None:
        super().__init__(space, label)
        self.of = of

    @property
    def holder(self) -> Any:
        return self.of


class Class(Place):
    """Which class an object is of, which ``obj.__class__ = …`` exchanges."""

    __slots__ = ("cls",)

    def __init__(self, owner: Any, label: str) -> None:
        super().__init__(owner, label)
        self.cls = type(owner)

    def now(self) -> Any:
        return type(self.owner)

    def before(self) -> Any:
        return self.cls

    def holds(self) -> bool:
        return type(self.owner) is self.cls

    def condition(self, name: Callable[[Any], str]) -> str:
        return f"type({name(self.owner)}) is {name(self.cls)}"

    def restore(self) -> None:
        self.owner.__class__ = self.cls


class Without(Place):
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

    def holds(self) -> bool:
        return not self.space

    def condition(self, name: Callable[[Any], str]) -> str:
        return f"not {name(self.space)}"

    def restore(self) -> None:
        self.space.clear()


class Numbers(Place):
    """The contents of a NumPy array."""

    __slots__ = ("contents",)

    def __init__(self, owner: np.ndarray, label: str) -> None:
        super().__init__(owner, label)
        self.contents = owner.copy()

    def now(self) -> Any:
        return self.owner

    def before(self) -> Any:
        return self.contents

    def holds(self) -> bool:
        a, b = self.owner, self.contents
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.hasobject:
            return all(map(same, a.ravel().tolist(), b.ravel().tolist()))
        return a.tobytes() == b.tobytes()

    def restore(self) -> None:
        self.owner[...] = self.contents


class State(Place):
    """What a getter says of an object: a random generator's state, a context variable.

    ``put_back`` undoes a change; without it there is none that capture code could make.
    """

    __slots__ = ("getter", "put_back", "value")

    def __init__(
        self, owner: Any, label: str, getter: Callable[[Any], Any],
        put_back: Callable[[Any, Any], Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(owner, label)
        self.getter = getter
        self.put_back = put_back
        self.value = getter(owner)

    def now(self) -> Any:
        return self.getter(self.owner)

    def before(self) -> Any:
        return self.value

    def holds(self) -> bool:
        now = self.getter(self.owner)
        return now is self.value or bool(now == self.value)

    def restore(self) -> None:
        if self.put_back is not None:
            self.put_back(self.owner, self.value)


class Function(Place):
    """The parts of a function that can be exchanged under its name: code and defaults."""

    __slots__ = ("code", "defaults", "entries", "named")

    def __init__(self, owner: types.FunctionType, label: str) -> None:
        super().__init__(owner, label)
        self.code, self.defaults, self.named = self.now()
        #: Those by keyword are in a dictionary, which can be written to.
        self.entries = None if self.named is None else Entries(self.named, label)

    def now(self) -> Any:
        return self.owner.__code__, self.owner.__defaults__, self.owner.__kwdefaults__

    def before(self) -> Any:
        return self.code, self.defaults, self.named

    def holds(self) -> bool:
        owner = self.owner
        return (
            owner.__code__ is self.code
            and owner.__defaults__ is self.defaults
            and owner.__kwdefaults__ is self.named
            and (self.entries is None or self.entries.holds())
        )

    def condition(self, name: Callable[[Any], str]) -> str:
        if self.entries is not None:
            return super().condition(name)
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


class Remembered(Place):
    """What a ``functools.lru_cache`` had remembered: handed out without running any code, so no
    other place stands for it. What it remembers later is computed by code that is watched."""

    __slots__ = ("results",)

    def __init__(self, owner: Any, label: str) -> None:
        super().__init__(owner, label)
        self.results = results_of(owner)

    def now(self) -> Any:
        return results_of(self.owner)

    def before(self) -> Any:
        return self.results

    def holds(self) -> bool:
        if not self.results:
            return True
        now = set(map(id, results_of(self.owner)))
        return all(id(x) in now for x in self.results)

    def restore(self) -> None:
        """Nothing: only the cache itself can forget or remember."""


def results_of(cache: Any) -> list[Any]:
    """What a ``functools.lru_cache`` remembers (and some of its keys)."""
    found: list[Any] = []
    for held in gc.get_referents(cache):
        if held is not cache.__dict__ and held is not cache.__wrapped__ and (
            not isinstance(held, type)
        ):  # fmt: skip
            # Results stand in the cache's dictionary, or (a bounded one) are referents themselves.
            found += held.values() if type(held) is dict else [held]
    return found
