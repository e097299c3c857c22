"""Watch: every plain Python value that user code could reach while it was being captured.

A compiled graph has the Python values frozen into it that the body read: globals, closure
variables, attributes, elements of lists. So while the one run of the body is going on, a profile
function sees each user function being entered, before its first instruction. What its code names
is looked up then and there: that is the value *before*, against which two questions are asked.

- After the capture: did the body change it? Then the change would not happen again at the next call,
  and the program must not be kept.
- At each later call: is it still what it was? If not, the graph no longer fits.

Objects are followed by the names that entered code mentions (``cfg.alpha`` watches ``alpha`` of
``cfg``, not the rest of it), containers as a whole. Library code (torchlike, JAX, NumPy, the standard
library) is not looked into.
"""

from __future__ import annotations

import _weakref
import builtins
import functools
import gc
import os
import random
import sys
import sysconfig
import time
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from torchlike.jit import places
from torchlike.jit.bytecode import Reads, reads_of
from torchlike.jit.places import MISSING, Place
from torchlike.tensor import _FIELDS, Tensor

#: Packages whose code is no user's: what they read is theirs to keep right.
_LIBRARIES = frozenset(
    ("torchlike", "jax", "jaxlib", "numpy", "ml_dtypes", "scipy", "opt_einsum", "optax", "flax",
     "chex", "pytest", "_pytest", "pluggy", "IPython", "ipykernel", "coverage", "debugpy",
     "etils", "absl", "typing_extensions", "setuptools", "_distutils_hack")
)  # fmt: skip
_ATOMS = frozenset(
    (int, float, complex, bool, str, bytes, type(None), type(...), range, slice,
     types.BuiltinFunctionType, types.CodeType, types.GetSetDescriptorType,
     types.WrapperDescriptorType, types.MethodWrapperType, types.MethodDescriptorType)
)  # fmt: skip
#: Containers with more elements are compared, but not looked into.
_MAX_ELEMENTS = 2000
_MAX_DEPTH = 12
#: What differs at each call and cannot be seen to: asked for inside a capture, it would be frozen.
_CLOCKS = frozenset(
    (time.time, time.time_ns, time.perf_counter, time.perf_counter_ns, time.monotonic,
     time.monotonic_ns, time.process_time, os.urandom, builtins.input)
)  # fmt: skip
#: Functions of the standard library that ask the system for entropy (Random only without a seed).
_ENTROPY = frozenset(
    (("uuid1", "uuid.py"), ("uuid4", "uuid.py"), ("token_bytes", "secrets.py"),
     ("__init__", "random.py"))
)  # fmt: skip
_builtin_names = frozenset(vars(builtins))
_stdlib = tuple({p + os.sep for k, p in sysconfig.get_paths().items() if "stdlib" in k}
                | {os.path.dirname(os.__file__) + os.sep})  # fmt: skip


def is_library(module: Any, filename: str) -> bool:
    """Whether code of this module and file is a library's that is not looked into."""
    if isinstance(module, str) and module.partition(".")[0] in _LIBRARIES:
        return True
    if filename.startswith("<frozen") or str(module).startswith("namedtuple_"):
        return True
    return filename.startswith(_stdlib) and "site-packages" not in filename


@functools.lru_cache(maxsize=4096)
def _is_library_module(name: str) -> bool:
    if name == "builtins" or name.partition(".")[0] in _LIBRARIES:
        return True
    module = sys.modules.get(name)
    return module is not None and _is_library_file(module)


def _is_library_file(module: types.ModuleType) -> bool:
    filename = getattr(module, "__file__", None)
    if filename is None:
        return module.__name__ in sys.builtin_module_names
    return is_library(module.__name__, filename)


class Entered:
    """A user's code object that was entered, and the cells of its function where known."""

    __slots__ = ("code", "free", "reads", "resolved")

    def __init__(self, code: types.CodeType) -> None:
        self.code = code
        #: Closure variables as they were at the entry, where the function is not known yet.
        self.free: dict[str, Any] = {}
        self.reads: Reads = reads_of(code)
        self.resolved = not code.co_freevars


#: Code objects known to be a library's, kept alive so that their ids stay theirs.
_library_code: dict[int, types.CodeType] = {}


class Watch:
    """What one capture's user code named, reached and found."""

    def __init__(self) -> None:
        self.places: dict[Any, Place] = {}
        #: Why the program cannot be kept, from what was seen to happen.
        self.reasons: list[str] = []
        #: Tensors that were reached, for their requires_grad.
        self.tensors: dict[int, Tensor] = {}
        #: Modules (of nn) that were reached by name: their owner guards their plain attributes.
        self.modules: dict[int, Any] = {}
        self.names: set[str] = set()
        #: Names that are read as values somewhere; the others are only called.
        self._read: set[str] = set()
        self._probed: set[str] = set()
        self._entered: dict[int, Entered] = {}
        self._functions: dict[int, list[types.FunctionType]] = {}
        #: Where classes keep functions: {id(code): (class, name, what stands there)}.
        self._class_functions: dict[int, list[tuple[type, str, Any]]] = {}
        #: Everything visited: {id: (object, label, depth)}.
        self._visited: dict[int, tuple[Any, str, int]] = {}
        #: Objects whose attributes are followed by name, and those followed whole.
        self._objects: dict[int, tuple[Any, str, int]] = {}
        self._whole: set[int] = set()
        #: Ids of visited objects that may have been made by the capture itself.
        self._unrooted: set[int] = set()
        self._rooted = True
        self._spaces: dict[int, tuple[Any, dict[str, Any]]] = {}
        self._random = random.getstate()
        self._numpy_random = _numpy_state()
        self._previous: Any = None
        self._gc_was_on = False

    # -- watching a run ----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to see functions being entered in this thread."""
        # Whatever exists now leaves the youngest generation; what is made from here on stays in it.
        self._gc_was_on = gc.isenabled()
        gc.collect(0)
        gc.disable()
        self._previous = sys.getprofile()
        if self._previous is not None and not callable(self._previous):
            self._previous.disable()  # cProfile
        sys.setprofile(self._chained if callable(self._previous) else self._event)

    def stop(self) -> None:
        """End seeing; a profiler that was on before is on again."""
        previous = self._previous
        if previous is not None and not callable(previous):
            sys.setprofile(None)
            previous.enable()
        else:
            sys.setprofile(previous)
        if self._gc_was_on:
            gc.enable()

    def _chained(self, frame: Any, event: str, arg: Any) -> None:
        self._event(frame, event, arg)
        self._previous(frame, event, arg)

    def _event(self, frame: Any, event: str, arg: Any) -> None:
        key = id(frame.f_code)
        if key in _library_code:
            return
        entered = self._entered.get(key)
        if entered is None:
            code = frame.f_code
            if code.co_name == "<module>" or is_library(
                frame.f_globals.get("__name__"), code.co_filename
            ):
                source = (code.co_name, os.path.basename(code.co_filename))
                if source not in _ENTROPY:
                    _library_code[key] = code
                elif event == "call" and frame.f_locals.get("x") is None:
                    self.reasons.append(
                        f"it calls {source[1].removesuffix('.py')}.{source[0]}(), whose result "
                        "would be frozen; call it outside and pass the value as a tensor"
                    )
                return
            if event != "call":
                return  # a frame that was running before the capture began
            if "site-packages" in code.co_filename and not self._called_by_user(frame):
                return
            entered = self._entered[key] = Entered(code)
            self._enter_first(frame, entered)
        if event == "call":
            self._see_locals(frame, entered)
        elif event == "return":
            self._see_locals(frame, entered)
        elif event == "c_call":
            self._see_builtin(frame, arg)

    def _called_by_user(self, frame: Any) -> bool:
        """Whether an installed package runs for the user rather than for JAX: whether, past the
        standard library, user code or torchlike's (a module's forward, a hook) called it."""
        at = frame.f_back
        while at is not None:
            if id(at.f_code) in self._entered:
                return True
            name = str(at.f_globals.get("__name__"))
            if name.partition(".")[0] in _LIBRARIES:
                return name.partition(".")[0] == "torchlike"
            if "importlib" in name or "site-packages" in at.f_code.co_filename:
                return False
            at = at.f_back
        return False

    def _enter_first(self, frame: Any, entered: Entered) -> None:
        """Look up what the code names, before its first instruction."""
        reads, space = entered.reads, frame.f_globals
        new = (reads.attributes - self._read) | (reads.methods - self.names)
        new |= reads.probed - self._probed
        self._read |= reads.attributes
        self._probed |= reads.probed
        self.names |= new
        self._rooted = True
        for name in reads.globals:
            if name in space:
                value = space[name]
                self._name(space, space, name, value, name)
                self.visit(value, name)
            elif name not in _builtin_names:
                self._name(space, space, name, MISSING, name)
        for name in reads.imports:
            module = sys.modules.get(name)
            if module is not None:
                self.visit(module, name)
        for fn in self._functions.get(id(entered.code), ()):
            self._function_entered(fn, entered)
        for base, name, found in self._class_functions.get(id(entered.code), ()):
            self._name(base, base.__dict__, name, found, f"{base.__name__}.{name}")
        if not entered.resolved:
            at = frame.f_locals
            entered.free = {n: at.get(n, MISSING) for n in entered.code.co_freevars}
        if new:
            for at in list(self._objects.values()):
                self._rooted = id(at[0]) not in self._unrooted
                self._scan(*at, new)
            self._rooted = True

    def _see_locals(self, frame: Any, entered: Entered) -> None:
        """Objects that a frame holds. They may be the capture's own; see ``settle``."""
        for name, value in frame.f_locals.items():
            kind = type(value)
            if kind in _ATOMS or isinstance(value, (Tensor, list, tuple, dict, set)):
                continue
            self._rooted = False
            self.visit(value, name)
            self._rooted = True
            if entered.reads.whole:
                self._follow_whole(value, name)

    def _see_builtin(self, frame: Any, function: Any) -> None:
        """A user's frame calls a function written in C."""
        try:
            clock = function in _CLOCKS or (
                function.__name__ in ("now", "utcnow", "today")
                and getattr(function.__self__, "__module__", "") == "datetime"
            )
        except (TypeError, AttributeError):
            return
        if clock:
            file = frame.f_code.co_filename.rpartition("/")[2]
            self.reasons.append(
                f"it calls {function.__name__}() ({file}:{frame.f_lineno}), whose result would be "
                "frozen; call it outside and pass the value as a tensor"
            )

    # -- visiting ----------------------------------------------------------------------------------

    def visit(self, value: Any, label: str, depth: int = 0) -> None:
        """Follow a value that user code can reach."""
        kind = type(value)
        if kind in _ATOMS or depth > _MAX_DEPTH:
            return
        key = id(value)
        if key in self._visited:
            if not (self._rooted and key in self._unrooted):
                return
            self._unrooted.discard(key)  # reached from a root after all, and so is what it holds
        self._visited[key] = (value, label, depth)
        if not self._rooted:
            self._unrooted.add(key)
        if isinstance(value, Tensor):
            self.tensors[key] = value
            if not vars(value).keys() <= _FIELDS:
                self._follow(value, label, depth)
            return
        visitor = _visitor(kind)
        if visitor is not None:
            visitor(self, value, label, depth)

    def _place(self, key: Any, place: Place) -> None:
        self.places.setdefault(key, place)

    def _name(self, owner: Any, space: Any, name: str, value: Any, label: str) -> None:
        key = (id(owner), name)
        if key not in self.places:
            self.places[key] = places.Name(owner, space, name, value, label)

    def _follow(self, value: Any, label: str, depth: int) -> None:
        """Follow an object by the names that code mentions."""
        self._objects[id(value)] = (value, label, depth)
        self._scan(value, label, depth, self.names)

    def _follow_whole(self, value: Any, label: str) -> None:
        """Follow every attribute of an object: code may ask for any of them."""
        if id(value) in self._objects and id(value) not in self._whole:
            self._whole.add(id(value))
            space = getattr(value, "__dict__", None)
            if isinstance(space, dict):
                self._rooted = id(value) not in self._unrooted
                self._scan(value, label, 1, set(space))
                self._rooted = True

    def _scan(self, value: Any, label: str, depth: int, names: set[str]) -> None:
        """Look up ``names`` in one object."""
        space = _space_of(value)
        cls = value if isinstance(value, type) else type(value)
        is_module = "_parameters" in space and "_modules" in space if space is not None else False
        of_class = isinstance(value, type) or not _is_library_module(str(cls.__module__))
        if space is not None and not is_module and not isinstance(
            value, (type, types.ModuleType, types.FunctionType, Tensor)
        ):  # fmt: skip
            self._spaces.setdefault(id(value), (value, space))
        for name in list(names):
            if space is not None and not isinstance(value, type) and name in space:
                found = space[name]
                if name not in self._read and not callable(found) and name in self.names:
                    continue
                if isinstance(value, Tensor) and name in _FIELDS:
                    continue
                if not is_module:
                    self._name(value, space, name, found, f"{label}.{name}")
                self.visit(found, f"{label}.{name}", depth + 1)
                continue
            if of_class and self._scan_class(value, cls, space, name, label, depth):
                continue
            if name in self._probed and space is not None and not is_module and not (
                isinstance(value, (type, Tensor, types.ModuleType))
                or (isinstance(value, types.FunctionType) and name not in self._read)
            ):  # fmt: skip
                self._name(value, space, name, MISSING, f"{label}.{name}")

    def _scan_class(
        self, value: Any, cls: type, space: Any, name: str, label: str, depth: int
    ) -> bool:
        """Look up a name in the classes of an object (or in a class itself)."""
        for base in cls.__mro__:
            found = base.__dict__.get(name, MISSING)
            if found is MISSING:
                continue
            if _is_library_module(str(base.__module__)):
                return True
            if isinstance(found, types.MemberDescriptorType):
                if not isinstance(value, type):
                    member = places.Member(value, found, f"{label}.{name}")
                    self._place((id(value), name), member)
                    self.visit(member.value, f"{label}.{name}", depth + 1)
                return True
            self._name(base, base.__dict__, name, found, f"{base.__name__}.{name}")
            self.visit(found, f"{base.__name__}.{name}", depth + 1)
            if isinstance(space, dict) and not hasattr(type(found), "__set__"):
                # An attribute of the instance would come first.
                if "_modules" not in space:
                    self._name(value, space, name, MISSING, f"{label}.{name}")
            return True
        return False

    def _function_entered(self, fn: types.FunctionType, entered: Entered) -> None:
        """A function whose code runs: its closure is read."""
        entered.resolved = True
        label = fn.__qualname__
        self._place((id(fn), "parts"), places.Function(fn, f"{label} (its code or defaults)"))
        for default in (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()):
            self.visit(default, f"a default of {label}", 1)
        for name, cell in zip(entered.code.co_freevars, fn.__closure__ or (), strict=False):
            if id(cell) not in self.places:
                place = self.places[id(cell)] = places.Cell(cell, name)
                if name in entered.free:
                    place.value = entered.free[name]
                self.visit(place.value, name, 1)

    # -- kinds of values ---------------------------------------------------------------------------

    def _function(self, fn: types.FunctionType, label: str, depth: int) -> None:
        if is_library(fn.__module__, fn.__code__.co_filename):
            # A decorator's wrapper: what it holds may be the user's function.
            for cell in fn.__closure__ or ():
                held = places.Cell(cell, label).value
                if callable(held):
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
        self.visit(value.func, label, depth + 1)
        self.visit(value.args, label, depth + 1)
        self.visit(value.keywords, f"{label}.keywords", depth + 1)

    def _wrapping(self, value: Any, label: str, depth: int) -> None:
        for name in ("__func__", "func", "fget", "fset", "fdel", "_fn", "__wrapped__"):
            held = getattr(value, name, None)
            if held is not None:
                self.visit(held, label, depth + 1)

    def _cached(self, value: Any, label: str, depth: int) -> None:
        """A functools.lru_cache: what it remembers is handed out without entering the function."""
        self.visit(value.__wrapped__, label, depth + 1)
        for held in gc.get_referents(value):
            if held is value.__dict__ or isinstance(held, type):
                continue
            # Results stand in the cache's dictionary, or (a bounded one) are referents themselves.
            results = list(held.values())[:_MAX_ELEMENTS] if type(held) is dict else [held]
            for found in results:
                self.visit(found, f"{label}()", depth + 1)

    def _class(self, cls: type, label: str, depth: int) -> None:
        if _is_library_module(str(cls.__module__)):
            return
        for base in cls.__mro__:
            if _is_library_module(str(base.__module__)):
                continue
            for name, found in list(base.__dict__.items()):
                if _visitor(type(found)) not in (Watch._function, Watch._wrapping, Watch._cached):
                    continue
                code = getattr(getattr(found, "__func__", found), "__code__", None)
                if code is not None:
                    self._class_functions.setdefault(id(code), []).append((base, name, found))
                    if id(code) in self._entered:
                        self._name(base, base.__dict__, name, found, f"{base.__name__}.{name}")
                self.visit(found, f"{base.__name__}.{name}", depth + 1)
        self._follow(cls, label, depth)

    def _module(self, module: types.ModuleType, label: str, depth: int) -> None:
        if module is os:
            if "environ" in self.names or "getenv" in self.names:
                self._environ(os.environ, "os.environ", depth)
        elif not _is_library_file(module):
            self._follow(module, label, depth)

    def _environ(self, environ: Any, label: str, depth: int) -> None:
        self._place(id(environ), places.Entries(environ._data, label))

    def _list(self, value: Any, label: str, depth: int) -> None:
        self._place(id(value), places.Items(value, label))
        self._elements(value, label, depth)

    def _elements(self, value: Any, label: str, depth: int) -> None:
        if len(value) <= _MAX_ELEMENTS:
            for i, element in enumerate(value):
                if type(element) not in _ATOMS:
                    self.visit(element, f"{label}[{i}]", depth + 1)

    def _dict(self, value: Any, label: str, depth: int) -> None:
        self._place(id(value), places.Entries(value, label))
        if len(value) <= _MAX_ELEMENTS:
            for k, element in list(value.items()):
                if type(element) not in _ATOMS:
                    self.visit(element, f"{label}[{k!r}]", depth + 1)
        if type(value) is not dict:
            self._instance(value, label, depth)

    def _array(self, value: np.ndarray, label: str, depth: int) -> None:
        self._place(id(value), places.Numbers(value, label))

    def _generator(self, value: Any, label: str, depth: int) -> None:
        if isinstance(value, random.Random):
            state = places.State(value, label, random.Random.getstate, random.Random.setstate)
        elif isinstance(value, np.random.RandomState):
            state = places.State(value, label, _legacy_state)
        else:
            state = places.State(value, label, _bit_state)
        self._place(id(value), state)

    def _variable(self, value: Any, label: str, depth: int) -> None:
        self._place(id(value), places.State(value, label, _context))
        self.visit(value.get(None), label, depth + 1)

    def _reference(self, value: Any, label: str, depth: int) -> None:
        self.visit(value(), f"{label}()", depth + 1)

    def _iterator(self, value: Any, label: str, depth: int) -> None:
        if self._rooted:
            self.reasons.append(
                f"it can take from the iterator `{label}`, whose elements would be frozen; take "
                "the element outside and pass it as an argument"
            )

    def _instance(self, value: Any, label: str, depth: int) -> None:
        cls = type(value)
        space = _space_of(value)
        if space is not None and "_modules" in space and "_parameters" in space:
            if id(value) not in self._unrooted:
                self.modules[id(value)] = value
            for name, child in list(space["_modules"].items()):
                self.visit(child, f"{label}.{name}", depth + 1)
            for name, held in list(space.items()):
                if name.endswith("_hooks") and held:
                    for hook in list(held.values()):
                        self.visit(hook, f"{label}.{name}", depth + 1)
                elif isinstance(held, (types.FunctionType, types.MethodType)):
                    self.visit(held, f"{label}.{name}", depth + 1)  # an exchanged forward
        if not _is_library_module(str(cls.__module__)):
            self.visit(cls, cls.__name__, depth + 1)
        elif space is None:
            return
        self._follow(value, label, depth)

    # -- what it comes to --------------------------------------------------------------------------

    def settle(self) -> None:
        """Drop what the capture made itself, and find closures of functions reached by odd ways.

        Called when the body has returned and before anything collects garbage.
        """
        missing = [e for e in self._entered.values() if not e.resolved]
        nested = {
            id(c) for e in self._entered.values() for c in e.code.co_consts
            if isinstance(c, types.CodeType)
        }  # fmt: skip
        missing = [e for e in missing if id(e.code) not in nested]
        if missing:
            by_code = {id(e.code): e for e in missing}
            found: dict[int, list[types.FunctionType]] = {}
            for fn in gc.get_referrers(*[e.code for e in missing]):
                if isinstance(fn, types.FunctionType) and id(fn.__code__) in by_code:
                    found.setdefault(id(fn.__code__), []).append(fn)
            for key, functions in found.items():
                entered = by_code[key]
                ran = [fn for fn in functions if _closes_over(fn, entered.free)]
                for fn in ran or (functions if len(functions) == 1 else ()):
                    self._function_entered(fn, entered)
            for entered in missing:
                if not entered.resolved:
                    entered.resolved = True
                    self.reasons.append(
                        f"the closure of {entered.code.co_qualname} cannot be found, so a change "
                        "of it could not be seen"
                    )
        if self._unrooted:
            self._drop_own()
        if random.getstate() != self._random:
            self.reasons.append(
                "it draws from Python's random, whose numbers would be frozen; use torchlike.rand"
            )
        now = _numpy_state()
        if now is not None and now != self._numpy_random:
            self.reasons.append(
                "it draws from numpy.random, whose numbers would be frozen; use torchlike.rand"
            )

    def _drop_own(self) -> None:
        young = {id(o) for o in gc.get_objects(generation=0)}
        own = self._unrooted & young
        # An empty dictionary joins the collector's lists only when something is put in, so one
        # from outside may look young; every other kind of owner is listed from its beginning.
        self.places = {
            k: p for k, p in self.places.items()
            if id(p.owner) not in own and (isinstance(p.owner, dict) or id(p.owner) not in young)
        }  # fmt: skip
        for key in own:
            self._objects.pop(key, None)
            self._visited.pop(key, None)
            self._spaces.pop(key, None)
            self.modules.pop(key, None)
            self.tensors.pop(key, None)
        self._unrooted -= own

    def changes(self) -> list[Place]:
        """Places that hold something else than when they were first seen."""
        return [p for p in self.places.values() if not p.holds()]

    def restore(self) -> None:
        """Put every changed place back: the capture failed, or is run once more."""
        for place in self.changes():
            place.restore()

    def label_of(self, value: Any) -> str:
        """How a visited value was reached."""
        return self._visited[id(value)][1]

    def spaces(self) -> list[tuple[Any, dict[str, Any]]]:
        """Instances and the attribute dictionaries they had."""
        return list(self._spaces.values())


def _closes_over(fn: types.FunctionType, values: dict[str, Any]) -> bool:
    """Whether a function's closure holds these values."""
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False)
    return all(places.Cell(c, n).value is values.get(n, MISSING) for n, c in cells)


def _space_of(value: Any) -> Any:
    if isinstance(value, type):
        return value.__dict__
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None


def _numpy_state() -> Any:
    return _legacy_state(np.random.mtrand._rand)


def _legacy_state(state: Any) -> Any:
    name, keys, position, has_gauss, gauss = state.get_state(legacy=True)
    return name, keys.tobytes(), position, has_gauss, gauss


def _bit_state(generator: Any) -> str:
    return repr(generator.bit_generator.state)


def _context(variable: Any) -> Any:
    return variable.get(None)


_LRU = type(functools.lru_cache(is_library))
_KINDS: tuple[tuple[Any, Callable[..., None]], ...] = (
    (types.FunctionType, Watch._function),
    (types.MethodType, Watch._method),
    (functools.partial, Watch._partial),
    ((staticmethod, classmethod, property, functools.cached_property), Watch._wrapping),
    (_LRU, Watch._cached),
    (type, Watch._class),
    (types.ModuleType, Watch._module),
    (type(os.environ), Watch._environ),
    ((list, set, deque), Watch._list),
    ((tuple, frozenset), Watch._elements),
    (dict, Watch._dict),
    (np.ndarray, Watch._array),
    ((random.Random, np.random.Generator, np.random.RandomState), Watch._generator),
    (ContextVar, Watch._variable),
    (_weakref.ReferenceType, Watch._reference),
)


@functools.lru_cache(maxsize=4096)
def _visitor(kind: type) -> Callable[..., None] | None:
    """How values of a type are followed; None for those that nothing can be read from."""
    for kinds, visitor in _KINDS:
        if issubclass(kind, kinds):
            return visitor
    top = str(kind.__module__).partition(".")[0]
    if kind.__name__ == "JitFunction" and top == "torchlike":
        return Watch._wrapping
    if issubclass(kind, Iterator):
        return Watch._iterator
    if top in ("jax", "jaxlib", "numpy") or kind.__module__ in ("torchlike.dtypes", "threading"):
        return None
    return Watch._instance
