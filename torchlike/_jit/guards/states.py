"""Says how the state of the standard library's objects written in C is seen: by a value to compare.

A program may depend on it where code can reach such an object. `state_of` gives the getter of
that value, or `UNSEEN` where there is none: code that can read the object is not compiled for good.
"""

from __future__ import annotations

import datetime
import functools
import types
from collections.abc import Callable
from typing import Any

from torchlike._jit.guards.objects import StateGuard
from torchlike._jit.guards.values import equal_tuples, same

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
    nothing has to see it or other guards do."""
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
