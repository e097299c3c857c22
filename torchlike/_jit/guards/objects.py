"""Guards on objects: classes, functions' code, caches, the state of those written in C."""

from __future__ import annotations

import datetime
import functools
import gc
import types
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._jit.guards.containers import EntriesGuard
from torchlike._jit.guards.guard import Guard, ValueGuard, describe, equal_tuples, same
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
        defaults, named = (
            "None" if x is None else name(x) for x in (self.defaults, self.named)
        )  # most have none, which Python compares at once
        return (
            f"{owner}.__code__ is {name(self.code)} and {owner}.__defaults__ is {defaults}"
            f" and {owner}.__kwdefaults__ is {named}"
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


Getter = Callable[[Any], Any]

#: Memory maps up to so many bytes are compared as they are.
_MOST_BYTES = 1 << 16


def UNSEEN(value: Any) -> Any:
    """Stand for the getter of a state that cannot be compared; it is never called."""
    raise AssertionError(value)


def _locked(lock: Any) -> bool:
    return lock.locked()


def _items(context: Any) -> tuple[Any, ...]:
    return tuple(x for item in context.items() for x in item)


def _alive(finalizer: Any) -> bool:
    return finalizer.alive


def _progress(future: Any) -> tuple[Any, ...]:
    return (future._state, *((future._result,) if future._state == "FINISHED" else ()))


def _remembered(cache: Any) -> tuple[int, ...]:
    return tuple(cache.cache_info())


def _subclasses(cls: type) -> tuple[type, ...]:
    return tuple(type.__subclasses__(cls))


def _bytes(memory: Any) -> tuple[Any, ...]:
    return (memory.tell(), memory[:])


#: By module and name of a type: of what code can reach by a name.
_STATES: dict[tuple[str, str], Getter] = {
    ("decimal", "Context"): repr,
    ("_contextvars", "Context"): _items,
    ("weakref", "finalize"): _alive,
    ("_asyncio", "Future"): _progress,
    ("_asyncio", "Task"): _progress,
    ("mmap", "mmap"): _bytes,
    **dict.fromkeys(
        (
            ("_queue", "SimpleQueue"),
            ("sqlite3", "Connection"),
            ("sqlite3", "Cursor"),
            ("xml.etree.ElementTree", "Element"),
            ("zlib", "Decompress"),
            ("zlib", "Compress"),
            ("_bz2", "BZ2Decompressor"),
            ("_lzma", "LZMADecompressor"),
            ("_socket", "socket"),
            ("select", "epoll"),
            ("_multiprocessing", "SemLock"),
            ("pyexpat", "xmlparser"),
        ),
        UNSEEN,
    ),
}
#: By type and method: of what a call of the method tells.
_ASKED: dict[tuple[str, str], tuple[frozenset[str], Getter]] = {
    # A lock that is taken and given back by a `with` tells nothing.
    ("_thread", "lock"): (frozenset(("locked", "acquire", "release")), _locked),
    ("_thread", "RLock"): (frozenset(("_is_owned", "acquire", "release")), repr),
    ("functools", "_lru_cache_wrapper"): (frozenset(("cache_info",)), _remembered),
    ("builtins", "type"): (frozenset(("__subclasses__",)), _subclasses),
}
#: Modules whose types have no state, or one that is compared by other guards.
_KNOWN = frozenset(
    (
        "builtins",
        "collections",
        "datetime",
        "re",
        "_struct",
        "decimal",
        "types",
        "functools",
        "operator",
        "_operator",
        "itertools",
        "numpy",
        "jax",
        "jaxlib",
        "ml_dtypes",
        "torchlike",
        "_ctypes",
        "ctypes",
        "array",
        "_contextvars",
        "random",
        "_random",
        "_weakref",
        "weakref",
        "typing",
        "zoneinfo",
        "_json",
        "_abc",
        "_thread",
        "uuid",
        "fractions",
        "_io",
        "io",
        "_csv",
        "posix",
        "nt",
        "_asyncio",
        "mmap",
        "unicodedata",
    )
)
_IMMUTABLE = (datetime.tzinfo,)
_WRITTEN_IN_C = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.BuiltinFunctionType,
)


@functools.lru_cache(maxsize=4096)
def state_of(kind: type) -> Getter | None:
    """Return the getter of the state of objects of a type that code reaches by name; None where
    nothing has to see it or other guards do.

    Says how the state of the standard library's objects written in C is seen: by a value to
    compare.

    A program may depend on it where code can reach such an object. `state_of` gives the getter of
    that value, or `UNSEEN` where there is none: code that can read the object is not compiled for
    good.
    """
    for base in kind.__mro__:
        found = _STATES.get((base.__module__, base.__qualname__))
        if found is not None:
            return found
    return None


@functools.lru_cache(maxsize=4096)
def state_told_by(kind: type, method: str) -> Getter | None:
    """Return the getter of the state that a call of a method written in C tells or changes; None
    where nothing has to see it."""
    if issubclass(kind, _IMMUTABLE):
        return None
    by_name = state_of(kind)
    if by_name is not None:
        return by_name
    for base in kind.__mro__:
        if isinstance(base.__dict__.get(method), _WRITTEN_IN_C):
            methods, getter = _ASKED.get((base.__module__, base.__qualname__), (frozenset(), None))
            if method in methods:
                return getter
            return None if base.__module__.partition(".")[0] in _KNOWN else UNSEEN
    return None


def sees_locks(kind: type) -> Getter | None:
    """Return the getter of the state of a lock, for objects of the standard library that have
    one."""
    if kind.__module__ != "_thread":
        return None
    return {"lock": _locked, "RLock": repr}.get(kind.__name__)


class ComparedGuard(StateGuard):
    """What a getter says of an object, in a tuple whose elements are compared like variables."""

    __slots__ = ()

    def check(self, arguments: Any = ()) -> bool:
        now = self.getter(self.owner)
        return same(now, self.value) or equal_tuples(now, self.value)


def is_too_large(value: Any) -> bool:
    """Return whether comparing an object's state would take as long as a call."""
    return type(value).__module__ == "mmap" and len(value) > _MOST_BYTES
