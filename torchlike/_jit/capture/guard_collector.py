"""`GuardCollector` guards the Python values that code can read, from the names in it onwards.

Objects are followed by the names that entered code mentions (``cfg.alpha`` watches ``alpha`` of
``cfg``, not the rest of it), containers as a whole.
"""

from __future__ import annotations

import _ctypes
import _weakref
import array
import decimal
import functools
import gc
import io
import logging
import operator
import random
import threading
import types
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from torchlike._core.errors import JitCaptureError, users_frame
from torchlike._jit.capture.bytecode import Reads, reads_of, rebinds
from torchlike._jit.capture.effects import Tables
from torchlike._jit.capture.library_calls import asks, frozen
from torchlike._jit.capture.refusals import is_library, is_library_file, is_library_module, line_of
from torchlike._jit.capture.scalars import Number
from torchlike._jit.guards.containers import (
    ArrayGuard,
    AttributesGuard,
    EntriesGuard,
    ItemsGuard,
    NoAttributesGuard,
    entries,
)
from torchlike._jit.guards.guard import MISSING, CellGuard, MemberGuard, NameGuard, ValueGuard
from torchlike._jit.guards.objects import (
    UNSEEN,
    CacheGuard,
    ClassGuard,
    ComparedGuard,
    FunctionGuard,
    StateGuard,
    is_too_large,
    sees_locks,
    state_of,
)
from torchlike._jit.guards.weak import PROXIES, Reached
from torchlike.tensor import FIELDS, Tensor

ATOMS = frozenset(
    (
        int,
        float,
        complex,
        bool,
        str,
        bytes,
        type(None),
        type(...),
        range,
        slice,
        types.BuiltinFunctionType,
        types.CodeType,
        types.GetSetDescriptorType,
        types.WrapperDescriptorType,
        types.MethodWrapperType,
        types.MethodDescriptorType,
        Number,
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
_OF_MODULES = {
    "sys": frozenset(("argv", "path", "stdin", "dont_write_bytecode")),
    "warnings": frozenset(("filters",)),
    "gc": frozenset(("garbage", "callbacks")),
    "tempfile": frozenset(("tempdir",)),
    "logging": frozenset(("raiseExceptions", "lastResort")),
}
#: What code reads of loggers: what is logged is no part of the program, since a body logs once per
#: compile.
_OF_LOGGERS = frozenset(("level", "disabled"))
#: A module's tables, and what they hold.
_TABLES = {
    "_parameters": "parameters",
    "_buffers": "buffers",
    "_modules": "children",
    "_non_persistent_buffers_set": "buffers that are not persistent",
}
#: Containers with more elements are compared, but not looked into.
MAX_ELEMENTS = 2000
_MAX_DEPTH = 12


class Entered:
    """A user's code object that was entered, and the cells of its function where known."""

    __slots__ = ("code", "free", "reads", "resolved")

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        #: Closure variables as they were at the entry, where the function is not known yet.
        self.free: dict[str, Any] = {}
        self.reads: Reads = reads_of(code)
        self.resolved = not code.co_freevars


class GuardCollector(Reached):
    """Guards on what user code can reach, with the values that were there at first sight."""

    def __init__(self, tables: Tables | None = None) -> None:
        super().__init__()
        #: Tables of modules that code names.
        self._tables = Tables(()) if tables is None else tables
        #: Why the program cannot be kept, from what was seen to happen.
        self.reasons: list[str] = []
        #: All ways to the tensors that were reached.
        self._tensor_labels: dict[int, set[str]] = {}
        #: Whether code asks which object a value is; see `comparable_tensors`.
        self.compares = False
        self._noted: set[str] = set()
        self.names: set[str] = set()
        #: Names that are read as values somewhere; the others are only called.
        self._read: set[str] = set()
        self._probed: set[str] = set()
        #: Those that an ``operator.attrgetter`` or one of its kin looks up.
        self._by_getters: set[str] = set()
        self._entered: dict[int, Entered] = {}
        #: Where classes keep functions: {id(code): (class, name, what stands there)}.
        self._class_functions: dict[int, list[tuple[type, str, Any]]] = {}
        #: Objects of which all attributes are followed.
        self._whole: set[int] = set()
        self._all_whole = False
        #: Users' generators that can be reached, with their frames; see FrameObserver.settle.
        self._generators: list[tuple[types.GeneratorType[Any, Any, Any], int, str]] = []

    # -- visiting ----------------------------------------------------------------------------------

    def visit(self, value: Any, label: str, depth: int = 0) -> None:
        """Follow a value that user code can reach."""
        kind = type(value)
        if kind in ATOMS or depth > _MAX_DEPTH:
            return
        if kind in PROXIES:
            self._proxied(value, label, depth)
            return
        key = id(value)
        if isinstance(value, Tensor):
            self._tensor_labels.setdefault(key, set()).add(label)
        if self._is_known(key):
            return
        self._visited[key] = (value, label, depth)
        if isinstance(value, Tensor):
            self.tensors[key] = value
            if not vars(value).keys() <= FIELDS:
                self._follow(value, label, depth)
            self._note_on(value, label)
            return
        visitor = _visitor(kind)
        if visitor is None:
            return
        try:
            visitor(self, value, label, depth)
        except JitCaptureError:
            raise
        except Exception as error:  # of a method of the user's that only this asks for
            raise JitCaptureError(
                f"`{label}` (of {kind.__qualname__}) cannot be looked into, for which it cannot be "
                f"compiled{line_of_user()}: {type(error).__name__}: {error}"
            ) from error

    def comparable_tensors(self) -> list[Tensor]:
        """Return the tensors from outside that the code may find an argument to be one of: it
        compares objects, or looks them up in what is keyed by tensors."""
        if not self.compares:
            return []
        found = self.tensors | {key: t for key, (t, _) in self._noted_on.items()}
        return [t for key, t in found.items() if key not in self._unrooted]

    def labels_of_storages(self) -> dict[int, set[str]]:
        """Return the labels by which the storages of reached tensors are reached: {id(storage):
        labels}."""
        found: dict[int, set[str]] = {}
        for key, t in self.tensors.items():
            found.setdefault(id(t._storage), set()).update(self._tensor_labels[key])
        return found

    def _note_on(self, t: Tensor, label: str) -> None:
        """Look up the names that code notes something under in one more tensor."""
        key = id(t)
        if not self._rooted and key not in self._noted_on:
            self._unrooted.add(key)
        elif self._rooted:
            self._unrooted.discard(key)
        if key not in self._noted_on:
            self._noted_on[key] = t, label
            self._look_for_notes(t, label, self._noted)

    def note(self, names: frozenset[str]) -> None:
        """Look on tensors for attributes of these names, which code stores or asks for: a tensor
        may have them or not."""
        new = {name for name in names - self._noted if not hasattr(Tensor, name)}
        self._noted |= new
        if new:
            for t, label in list(self._noted_on.values()):
                self._look_for_notes(t, label, new)

    def _look_for_notes(self, t: Tensor, label: str, names: set[str]) -> None:
        for name in names:
            if name not in vars(t) and not hasattr(type(t), name):
                self._name(t, vars(t), name, MISSING, f"{label}.{name}")

    def _add(self, key: Any, guard: ValueGuard) -> None:
        self.guards.setdefault(key, guard)

    def _name(self, owner: Any, space: Any, name: str, value: Any, label: str) -> None:
        key = (id(owner), name)
        if key not in self.guards:
            self.guards[key] = NameGuard(owner, space, name, value, label)

    def _follow(self, value: Any, label: str, depth: int) -> None:
        """Follow an object by the names that code mentions."""
        self._objects[id(value)] = (value, label, depth)
        self._scan(value, label, depth, self.names)
        if self._all_whole:
            self.follow_whole(value, label)

    def follow_whole(self, value: Any, label: str) -> None:
        """Follow every attribute of an object: code may ask for any of them, or which there are."""
        if isinstance(value, (type, types.ModuleType, Tensor)) or id(value) in self._whole:
            return
        self.visit(value, label)
        space = _space_of(value)
        if id(value) not in self._objects or not isinstance(space, dict):
            return
        self._whole.add(id(value))
        before = self._rooted, self._weakly
        self._reach_as(value)
        if "_modules" not in space:
            self._add((id(value), AttributesGuard), AttributesGuard(value, space, label))
        self._scan(value, label, 1, set(space))
        self._rooted, self._weakly = before

    def follow_all_whole(self) -> None:
        """Follow every attribute of all objects, as code takes attributes by computed names of
        objects that cannot be told."""
        if not self._all_whole:
            self._all_whole = True
            for value, label, _ in list(self._objects.values()):
                self.follow_whole(value, label)

    def is_whole(self, value: Any) -> bool:
        """Return whether every attribute of an object counts."""
        return id(value) in self._whole

    def learn(self, new: set[str] | frozenset[str]) -> None:
        """Look up the further names that code mentions in the objects that are followed."""
        before = self._rooted, self._weakly
        for at in list(self._objects.values()):
            self._reach_as(at[0])
            self._scan(*at, new)
        self._rooted, self._weakly = before

    def _scan(self, value: Any, label: str, depth: int, names: Any) -> None:
        """Look up ``names`` in one object."""
        space = _space_of(value)
        cls = value if isinstance(value, type) else type(value)
        is_module = "_parameters" in space and "_modules" in space if space is not None else False
        of_class = isinstance(value, type) or not is_library_module(str(cls.__module__))
        if (
            space is not None
            and not is_module
            and not isinstance(value, (type, types.ModuleType, types.FunctionType, Tensor))
        ):
            self._spaces.setdefault(id(value), (value, space))
        if isinstance(value, types.ModuleType) and value.__name__ in _OF_MODULES:
            names = _OF_MODULES[value.__name__].intersection(names)
        elif isinstance(value, (logging.Logger, logging.Handler)):
            names = _OF_LOGGERS.intersection(names)
        for name in list(names):
            if space is not None and not isinstance(value, type) and name in space:
                found = space[name]
                if name not in self._read and not callable(found) and name in self.names:
                    continue
                if isinstance(value, Tensor) and name in FIELDS:
                    continue
                if is_module and name in _TABLES and type(found) in (dict, set):
                    # Compared apart (by a `TableGuard`), as are the tensors and children.
                    what = f"the {_TABLES[name]} of {type(value).__name__}"
                    self._tables.about_to_change(value, found, what)
                    continue
                if not is_module:
                    self._name(value, space, name, found, f"{label}.{name}")
                self.visit(found, f"{label}.{name}", depth + 1)
                continue
            if of_class and self._scan_class(value, cls, space, name, label, depth):
                continue
            if (
                name in self._probed
                and space is not None
                and not is_module
                and not (
                    isinstance(value, (type, Tensor, types.ModuleType))
                    or (isinstance(value, types.FunctionType) and name not in self._read)
                )
            ):
                if not space and isinstance(value, (types.FunctionType, dict)):
                    none = NoAttributesGuard(value, space, label)
                    self._add((id(value), NoAttributesGuard), none)
                else:
                    self._name(value, space, name, MISSING, f"{label}.{name}")

    def _scan_class(
        self, value: Any, cls: type, space: Any, name: str, label: str, depth: int
    ) -> bool:
        """Look up a name in the classes of an object (or in a class itself)."""
        before: list[type] = []
        for base in cls.__mro__:
            found = base.__dict__.get(name, MISSING)
            if found is MISSING:
                if not is_library_module(str(base.__module__)):
                    before.append(base)
                continue
            if is_library_module(str(base.__module__)):
                return True
            if isinstance(found, types.MemberDescriptorType):
                if not isinstance(value, type):
                    member = MemberGuard(value, found, f"{label}.{name}")
                    self._add((id(value), name), member)
                    self.visit(member.value, f"{label}.{name}", depth + 1)
                return True
            for derived in before:  # what is set there would come first
                self._name(derived, derived.__dict__, name, MISSING, f"{derived.__name__}.{name}")
            self._name(base, base.__dict__, name, found, f"{base.__name__}.{name}")
            self.visit(found, f"{base.__name__}.{name}", depth + 1)
            shadowed = isinstance(space, dict) and "_modules" not in space
            if shadowed and not hasattr(type(found), "__set__"):
                # An attribute of the instance would come first.
                self._name(value, space, name, MISSING, f"{label}.{name}")
            return True
        return False

    def _function_entered(self, fn: types.FunctionType, entered: Entered) -> None:
        """Guard a function whose code runs, and read its closure."""
        entered.resolved = True
        label = fn.__qualname__
        # What a function made by the capture itself closes over may be the capture's own, too.
        before = self._rooted, self._weakly
        self._reach_as(fn)
        parts = FunctionGuard(fn, f"{label} (its code or defaults)")
        self._add((id(fn), FunctionGuard), parts)
        for default in (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()):
            self.visit(default, f"a default of {label}", 1)
        for name, cell in zip(entered.code.co_freevars, fn.__closure__ or (), strict=False):
            if id(cell) not in self.guards:
                guard = self.guards[id(cell)] = CellGuard(cell, name)
                # Another function with this code (a wrapper of one decorator) has its own.
                if name in entered.free and self._is_rebound(name):
                    guard.value = entered.free[name]
                self.visit(guard.value, name, 1)
        self._rooted, self._weakly = before

    def _is_rebound(self, name: str) -> bool:
        """Return whether code that ran assigns a variable of this name that functions share."""
        return any(name in rebinds(e.code) for e in self._entered.values())

    # -- kinds of values ---------------------------------------------------------------------------

    def _function(self, fn: types.FunctionType, label: str, depth: int) -> None:
        if is_library(fn.__module__, fn.__code__.co_filename):
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
        if is_library_module(str(value.__module__)):
            return
        self.visit(value.__wrapped__, label, depth + 1)
        guard = CacheGuard(value, f"{label} (a result it remembered)")
        self._add((id(value), CacheGuard), guard)
        for found in guard.results[:MAX_ELEMENTS]:
            self.visit(found, f"{label}()", depth + 1)

    def _class(self, cls: type, label: str, depth: int) -> None:
        if is_library_module(str(cls.__module__)):
            if cls is decimal.Decimal:
                self._decimal(cls, label, depth)
            return
        for base in cls.__mro__:
            if is_library_module(str(base.__module__)):
                continue
            for name, found in list(base.__dict__.items()):
                if _visitor(type(found)) not in _FUNCTIONS:
                    continue
                code = getattr(getattr(found, "__func__", found), "__code__", None)
                if code is not None:
                    self._class_functions.setdefault(id(code), []).append((base, name, found))
                    if id(code) in self._entered:
                        self._name(base, base.__dict__, name, found, f"{base.__name__}.{name}")
                self.visit(found, f"{base.__name__}.{name}", depth + 1)
        self._follow(cls, label, depth)

    def _module(self, module: types.ModuleType, label: str, depth: int) -> None:
        if module.__name__ in _OF_MODULES or not is_library_file(module):
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
        space = _space_of(value)
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
                if not vars(held).keys() <= FIELDS:  # attributes of a user's
                    self.visit(held, f"{label}.{name}", depth + 1)
                else:
                    self._note_on(held, f"{label}.{name}")
            for name, held in list(space.items()):
                if name.endswith("_hooks") and isinstance(held, dict):
                    for hook in list(held.values()):
                        self.visit(hook, f"{label}.{name}", depth + 1)
                elif isinstance(held, (types.FunctionType, types.MethodType)):
                    self.visit(held, f"{label}.{name}", depth + 1)  # an exchanged forward
        if not is_library_module(str(cls.__module__)):
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


def line_of_user() -> str:
    """Return the line where the user's code is, which begins with a space: `` (train.py:41)``."""
    frame = users_frame()
    return "" if frame is None else f" ({line_of(frame.f_code, frame.f_lineno)})"


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


def _space_of(value: Any) -> Any:
    if isinstance(value, (type, threading.local)):  # the latter gives this thread's
        return value.__dict__
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
    (types.FunctionType, GuardCollector._function),
    (types.MethodType, GuardCollector._method),
    (functools.partial, GuardCollector._partial),
    ((staticmethod, classmethod, property, functools.cached_property), GuardCollector._wrapping),
    (functools.singledispatchmethod, GuardCollector._wrapping),
    (_LRU, GuardCollector._cached),
    ((bytearray, array.array, memoryview, *_CTYPES), GuardCollector._buffer),
    (threading.Event, GuardCollector._event),
    (
        (types.MappingProxyType, *map(type, ({}.keys(), {}.values(), {}.items()))),
        GuardCollector._proxy,
    ),
    ((operator.attrgetter, operator.methodcaller), GuardCollector._getter),
    ((decimal.Decimal,), GuardCollector._decimal),
    (type, GuardCollector._class),
    (types.ModuleType, GuardCollector._module),
    ((list, set, deque), GuardCollector._list),
    ((tuple, frozenset), GuardCollector._elements),
    (dict, GuardCollector._dict),
    (np.ndarray, GuardCollector._array),
    ((random.Random, np.random.Generator, np.random.RandomState), GuardCollector._generator),
    (ContextVar, GuardCollector._variable),
    (_weakref.ReferenceType, GuardCollector._reference),
)


#: Those of what classes keep functions in.
_FUNCTIONS = (GuardCollector._function, GuardCollector._wrapping, GuardCollector._cached)


@functools.lru_cache(maxsize=4096)
def _visitor(kind: type) -> Callable[..., None] | None:
    """Return the method that follows values of a type; None for those that nothing can be read
    from."""
    for kinds, visitor in _KINDS:
        if issubclass(kind, kinds):
            return visitor
    top = str(kind.__module__).partition(".")[0]
    if top == "torchlike" and any(base.__name__ == "JitFunction" for base in kind.__mro__):
        return GuardCollector._wrapping
    if state_of(kind) is not None:
        return GuardCollector._state
    if issubclass(kind, Iterator):
        return GuardCollector._iterator
    if top in ("jax", "jaxlib", "numpy") or (
        # A lock tells something where its methods are called; see `FrameObserver._see_method`.
        kind.__module__ in ("torchlike._core.dtypes", "_thread")
        and (not issubclass(kind, threading.local))
    ):
        return None
    return GuardCollector._instance
