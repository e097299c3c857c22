"""`ValueVisits`: what of a value is guarded, and what it leads to, by its type.

A list is compared as a whole and its elements are visited, a function leads to its closure, a
random generator has a state. `GuardCollector` visits what the code names, and is the only one of
this class.
"""

from __future__ import annotations

import _ctypes
import _weakref
import array
import decimal
import functools
import gc
import io
import operator
import random
import threading
import types
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from torchlike._jit.capture.library_calls import asks, frozen
from torchlike._jit.capture.refusals import (
    is_library,
    is_library_class,
    is_library_file,
    is_library_function,
    is_library_module,
)
from torchlike._jit.capture.scalars import Number
from torchlike._jit.capture.unread import UnreadString
from torchlike._jit.guards.containers import ArrayGuard, EntriesGuard, ItemsGuard, entries
from torchlike._jit.guards.guard import CellGuard, NameGuard, ValueGuard
from torchlike._jit.guards.objects import (
    UNSEEN,
    CacheGuard,
    ClassGuard,
    ComparedGuard,
    StateGuard,
    is_too_large,
    sees_locks,
    state_of,
)
from torchlike._jit.guards.weak import Reached
from torchlike._runtime.homes import home
from torchlike.tensor import FIELDS, Tensor, whole_dict

ATOMS = frozenset(
    (int, float, complex, bool, str, bytes, type(None), type(...), range, slice)
) | frozenset(
    (
        Number,
        UnreadString,
        types.BuiltinFunctionType,
        types.CodeType,
        types.GetSetDescriptorType,
        types.WrapperDescriptorType,
        types.MethodWrapperType,
        types.MethodDescriptorType,
    )
)
#: Modules of the standard library whose classes, written in Python, hold the user's values.
_CONTAINERS = frozenset(
    (
        "collections",
        "weakref",
        "_weakrefset",
        "queue",
        "configparser",
        "threading",
        "subprocess",
        "sched",
        "graphlib",
        "unittest.mock",
    )
)
_PACKAGES = ("asyncio.", "concurrent.futures.", "multiprocessing.")
#: What code reads of the standard library's modules as attributes.
OF_MODULES = {
    "sys": frozenset(("argv", "path", "stdin", "dont_write_bytecode")),
    "warnings": frozenset(("filters",)),
    "gc": frozenset(("garbage", "callbacks")),
    "tempfile": frozenset(("tempdir",)),
    "logging": frozenset(("raiseExceptions", "lastResort")),
}
#: Containers with more elements are compared, but not looked into.
MAX_ELEMENTS = 2000


class ValueVisits(Reached):
    """The visits to values, one method for a kind of type."""

    def __init__(self) -> None:
        super().__init__()
        #: Why the program cannot be kept, from what was seen to happen.
        self.reasons: list[str] = []
        #: Whether code asks which object a value is; see `GuardCollector.comparable_tensors`.
        self.compares = False
        self.names: set[str] = set()
        #: Names that are read as values somewhere; the others are only called.
        self._read: set[str] = set()
        #: Those that an ``operator.attrgetter`` or one of its kin looks up.
        self._by_getters: set[str] = set()
        #: The user's code that was entered: {id(code): Entered}.
        self._entered: dict[int, Any] = {}
        #: Where classes keep functions: {id(code): (class, name, what stands there)}.
        self._class_functions: dict[int, list[tuple[type, str, Any]]] = {}
        #: Users' generators that can be reached, with their frames; see FrameObserver.settle.
        self._generators: list[tuple[types.GeneratorType[Any, Any, Any], int, str]] = []

    def learn(self, new: set[str] | frozenset[str]) -> None:
        """Look up the further names that code mentions in the objects that are followed."""
        raise NotImplementedError

    def _follow(self, value: Any, label: str, depth: int) -> None:
        """Follow an object by the names that code mentions."""
        raise NotImplementedError

    def _function_entered(self, fn: types.FunctionType, entered: Any) -> None:
        """Guard a function whose code runs, and read its closure."""
        raise NotImplementedError

    def _note_on(self, t: Tensor, label: str) -> None:
        """Look up the names that code notes something under in one more tensor."""
        raise NotImplementedError

    def _add(self, key: Any, guard: ValueGuard) -> None:
        self.guards.setdefault(key, guard)

    def _name(self, owner: Any, space: Any, name: str, value: Any, label: str) -> None:
        key = (id(owner), name)
        if key not in self.guards:
            self.guards[key] = NameGuard(owner, space, name, value, label)

    def _function(self, fn: types.FunctionType, label: str, depth: int) -> None:
        if is_library_function(fn):
            # A decorator's wrapper: what it holds may be the user's function.
            for cell in fn.__closure__ or ():
                held = CellGuard(cell, label).value
                if callable(held) or type(held) is dict:  # functools.singledispatch has a table
                    self.visit(held, label, depth + 1)
            return
        self._functions.setdefault(id(fn.__code__), []).append(fn)
        entered = self._entered.get(id(fn.__code__))
        if entered is not None:
            self._function_entered(fn, entered)
        self._follow(fn, label, depth)

    def _method(self, method: types.MethodType, label: str, depth: int) -> None:
        self.visit(method.__self__, label.rpartition(".")[0] or label, depth)
        self.visit(method.__func__, label, depth)

    def _partial(self, value: Any, label: str, depth: int) -> None:
        if type(value.func) is types.BuiltinFunctionType and asks(value.func):
            # Called by nothing that is seen.
            self.reasons.append(frozen(value.func.__name__, label))
        self.visit(value.func, label, depth + 1)
        self.visit(value.args, label, depth + 1)
        self.visit(value.keywords, f"{label}.keywords", depth + 1)

    def _wrapping(self, value: Any, label: str, depth: int) -> None:
        for name in (
            "__func__",
            "func",
            "fget",
            "fset",
            "fdel",
            "_fn",
            "__wrapped__",
            "dispatcher",
        ):
            held = getattr(value, name, None)
            if held is not None:
                self.visit(held, label, depth + 1)

    def _cached(self, value: Any, label: str, depth: int) -> None:
        """Guard the results of a functools.lru_cache: what it remembers is handed out without
        entering the function."""
        if is_library_module(home(value)):
            return
        self.visit(value.__wrapped__, label, depth + 1)
        guard = CacheGuard(value, f"{label} (a result it remembered)")
        self._add((id(value), CacheGuard), guard)
        for found in guard.results[:MAX_ELEMENTS]:
            self.visit(found, f"{label}()", depth + 1)

    def _class(self, cls: type, label: str, depth: int) -> None:
        if is_library_class(cls):
            if cls is decimal.Decimal:
                self._decimal(cls, label, depth)
            return
        for base in cls.__mro__:
            if is_library_class(base):
                continue
            for name, found in list(base.__dict__.items()):
                if visitor_of(type(found)) not in _FUNCTIONS:
                    continue
                code = getattr(getattr(found, "__func__", found), "__code__", None)
                if code is not None:
                    self._class_functions.setdefault(id(code), []).append((base, name, found))
                    if id(code) in self._entered:
                        self._name(base, base.__dict__, name, found, f"{base.__name__}.{name}")
                self.visit(found, f"{base.__name__}.{name}", depth + 1)
        self._follow(cls, label, depth)

    def _module(self, module: types.ModuleType, label: str, depth: int) -> None:
        if module.__name__ in OF_MODULES or not is_library_file(module):
            self._follow(module, label, depth)
        elif module.__name__ == "decimal":
            self._decimal(module, label, depth)

    def _list(self, value: Any, label: str, depth: int) -> None:
        self._add(id(value), ItemsGuard(value, label))
        self._elements(value, label, depth)

    def _elements(self, value: Any, label: str, depth: int) -> None:
        if len(value) <= MAX_ELEMENTS:
            for i, element in enumerate(value):
                if type(element) not in ATOMS:
                    self.visit(element, f"{label}[{i}]", depth + 1)

    def _dict(self, value: Any, label: str, depth: int) -> None:
        self._add(id(value), EntriesGuard(value, label))
        if len(value) <= MAX_ELEMENTS:
            for k, element in list(entries(value).items()):
                if type(element) not in ATOMS:
                    self.visit(element, f"{label}[{k!r}]", depth + 1)
                if isinstance(k, Tensor):
                    self.compares = True
                    self.visit(k, f"a key of {label}", depth + 1)
        if isinstance(value, defaultdict):
            what = f"{label}.default_factory"
            self._add((id(value), defaultdict), ComparedGuard(value, what, _default_factory))
        if type(value) is not dict:
            self._instance(value, label, depth)

    def _array(self, value: np.ndarray, label: str, depth: int) -> None:
        self._add(id(value), ArrayGuard(value, label))
        if type(value) in (np.ndarray, np.memmap):
            return
        space = space_of(value) or {}
        for name, held in list(space.items()):
            self._name(value, space, name, held, f"{label}.{name}")
            self.visit(held, f"{label}.{name}", depth + 1)
        self._instance(value, label, depth)

    def _generator(self, value: Any, label: str, depth: int) -> None:
        if isinstance(value, random.Random):
            state = StateGuard(value, label, random.Random.getstate, random.Random.setstate)
        elif isinstance(value, np.random.RandomState):
            state = StateGuard(value, label, legacy_state)
        else:
            state = StateGuard(value, label, _bit_state)
        self._add(id(value), state)

    def _buffer(self, value: Any, label: str, depth: int) -> None:
        self._add(id(value), StateGuard(value, label, _contents, _put_contents))
        if isinstance(value, memoryview):
            self.visit(value.obj, label, depth + 1)

    def _event(self, value: threading.Event, label: str, depth: int) -> None:
        space = vars(value)
        self._name(value, space, "_flag", space["_flag"], f"{label}.is_set()")

    def _proxy(self, value: Any, label: str, depth: int) -> None:
        for held in gc.get_referents(value):
            self.visit(held, label, depth + 1)

    def _getter(self, value: Any, label: str, depth: int) -> None:
        """Learn the names that an ``operator.attrgetter`` or one of its kin looks up."""
        spelled = {
            part for x in value.__reduce__()[1] if isinstance(x, str) for part in x.split(".")
        }
        new = spelled - self._read
        self._by_getters |= spelled
        self._read |= new
        self.names |= new
        self.learn(new)

    def _variable(self, value: Any, label: str, depth: int) -> None:
        self._add(id(value), StateGuard(value, label, _context))
        self.visit(value.get(None), label, depth + 1)

    def _state(self, value: Any, label: str, depth: int) -> None:
        """Guard the state of an object written in C by its getter; where none sees it, record that
        as a reason against a program."""
        getter, kind = state_of(type(value)), type(value).__name__
        if not self._rooted or getter is None:
            return
        if getter is UNSEEN or is_too_large(value):
            self.reasons.append(
                f"it can read `{label}` (a {kind}), whose state would be frozen; read it outside "
                "and pass what it says as an argument"
            )
        else:
            self._add((id(value), getter), ComparedGuard(value, label, getter))

    def _decimal(self, value: Any, label: str, depth: int) -> None:
        """Guard the thread's setting on which what is computed of decimal numbers depends."""
        key = id(_precision), ComparedGuard
        self._add(key, ComparedGuard(_precision, "decimal.getcontext()", _answer))

    def _iterator(self, value: Any, label: str, depth: int) -> None:
        if not self._rooted or (isinstance(value, io.IOBase) and _is_only_written(value)):
            return
        if isinstance(value, types.GeneratorType) and value.gi_frame is not None:
            at = value.gi_frame
            if not is_library(at.f_globals.get("__name__"), at.f_code.co_filename):
                self._generators.append((value, id(at), label))
                return
        self._takes_from(label)

    def _takes_from(self, label: str) -> None:
        self.reasons.append(
            f"it can take from the iterator `{label}`, whose elements would be frozen; take "
            "the element outside and pass it as an argument"
        )

    def _instance(self, value: Any, label: str, depth: int) -> None:
        cls = type(value)
        space = space_of(value)
        is_module = False
        if space is not None and "_modules" in space and "_parameters" in space:
            is_module = True
            if id(value) not in self._unrooted:
                self.modules[id(value)] = value
            for name, child in list(space["_modules"].items()):
                self.visit(child, f"{label}.{name}", depth + 1)
            for name, held in (*space["_parameters"].items(), *space["_buffers"].items()):
                if held is None:
                    continue
                if not whole_dict(held).keys() <= FIELDS:  # attributes of a user's
                    self.visit(held, f"{label}.{name}", depth + 1)
                else:
                    self._note_on(held, f"{label}.{name}")
            for name, held in list(space.items()):
                if name.endswith("_hooks") and isinstance(held, dict):
                    for hook in list(held.values()):
                        self.visit(hook, f"{label}.{name}", depth + 1)
                elif isinstance(held, (types.FunctionType, types.MethodType)):
                    self.visit(held, f"{label}.{name}", depth + 1)  # an exchanged forward
        if not is_library_class(cls):
            self.visit(cls, cls.__name__, depth + 1)
            if not is_module:  # exchanging a module's moves the epoch
                self._add((id(value), ClassGuard), ClassGuard(value, f"type({label})"))
        elif space is None:
            return
        self._follow(value, label, depth)
        if space is not None and any(_is_container(base.__module__) for base in cls.__mro__):
            for name, held in list(space.items()):  # its methods, which are not seen, read these
                self._name(value, space, name, held, f"{label}.{name}")
                self.visit(held, f"{label}.{name}", depth + 1)
                if getter := sees_locks(type(held)):
                    self._add((id(held), getter), ComparedGuard(held, f"{label}.{name}", getter))


def _is_container(module: str) -> bool:
    return module in _CONTAINERS or module.startswith(_PACKAGES)


def _default_factory(table: Any) -> Any:
    return table.default_factory


def _precision() -> tuple[Any, ...]:
    at = decimal.getcontext()
    traps = " ".join(signal.__name__ for signal, trapped in at.traps.items() if trapped)
    return at.prec, at.rounding, at.Emin, at.Emax, at.capitals, at.clamp, traps


def _answer(ask: Callable[[], Any]) -> Any:
    return ask()


def _is_only_written(file: io.IOBase) -> bool:
    return file.closed or not file.readable()


def space_of(value: Any) -> Any:
    if isinstance(value, (type, threading.local)):  # the latter gives this thread's
        return value.__dict__
    if isinstance(value, Tensor):
        return whole_dict(value)
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None


def legacy_state(state: Any) -> Any:
    name, keys, position, has_gauss, gauss = state.get_state(legacy=True)
    return name, keys.tobytes(), position, has_gauss, gauss


def _bit_state(generator: Any) -> str:
    return repr(generator.bit_generator.state)


def _context(variable: Any) -> Any:
    return variable.get(None)


def _contents(value: Any) -> bytes:
    return value.tobytes() if hasattr(value, "tobytes") else bytes(value)


def _put_contents(value: Any, contents: bytes) -> None:
    if isinstance(value, array.array):
        del value[:]
        value.frombytes(contents)
    elif isinstance(value, bytearray):
        value[:] = contents
    else:
        held = memoryview(value)
        if not held.readonly:
            held.cast("B")[:] = contents


_CTYPES = (_ctypes._SimpleCData, _ctypes.Structure, _ctypes.Union, _ctypes.Array)
_LRU = type(functools.lru_cache(is_library))
_KINDS: tuple[tuple[Any, Callable[..., None]], ...] = (
    (types.FunctionType, ValueVisits._function),
    (types.MethodType, ValueVisits._method),
    (functools.partial, ValueVisits._partial),
    ((staticmethod, classmethod, property, functools.cached_property), ValueVisits._wrapping),
    (functools.singledispatchmethod, ValueVisits._wrapping),
    (_LRU, ValueVisits._cached),
    ((bytearray, array.array, memoryview, *_CTYPES), ValueVisits._buffer),
    (threading.Event, ValueVisits._event),
    (
        (types.MappingProxyType, *map(type, ({}.keys(), {}.values(), {}.items()))),
        ValueVisits._proxy,
    ),
    ((operator.attrgetter, operator.methodcaller), ValueVisits._getter),
    ((decimal.Decimal,), ValueVisits._decimal),
    (type, ValueVisits._class),
    (types.ModuleType, ValueVisits._module),
    ((list, set, deque), ValueVisits._list),
    ((tuple, frozenset), ValueVisits._elements),
    (dict, ValueVisits._dict),
    (np.ndarray, ValueVisits._array),
    ((random.Random, np.random.Generator, np.random.RandomState), ValueVisits._generator),
    (ContextVar, ValueVisits._variable),
    (_weakref.ReferenceType, ValueVisits._reference),
)


#: Those of what classes keep functions in.
_FUNCTIONS = (ValueVisits._function, ValueVisits._wrapping, ValueVisits._cached)


@functools.lru_cache(maxsize=4096)
def visitor_of(kind: type) -> Callable[..., None] | None:
    """Return the method that follows values of a type; None for those that nothing can be read
    from."""
    for kinds, visitor in _KINDS:
        if issubclass(kind, kinds):
            return visitor
    module = home(kind)
    top = module.partition(".")[0]
    if top == "torchlike" and any(base.__name__ == "JitFunction" for base in kind.__mro__):
        return ValueVisits._wrapping
    if state_of(kind) is not None:
        return ValueVisits._state
    if issubclass(kind, Iterator):
        return ValueVisits._iterator
    if top in ("jax", "jaxlib", "numpy") or (
        # A lock tells something where its methods are called; see `FrameObserver._see_method`.
        module in ("torchlike._core.dtypes", "_thread") and (not issubclass(kind, threading.local))
    ):
        return None
    return ValueVisits._instance
