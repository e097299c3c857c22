"""`FrameObserver` sees user code run during a capture, and notes which Python values it can read.

A compiled graph has the Python values frozen into it that the body read: globals, closure
variables, attributes, elements of lists. So while the one run of the body is going on, a profile
function sees each user function being entered, before its first instruction. What its code names
is looked up then and there: that is the value *before*, against which two questions are asked.

- After the capture: did the body change it? Then the change would not happen again at the next
  call, and the program must not be kept.
- At each later call: is it still what it was? If not, the graph no longer fits.

``guard_collector`` finds what is reached through those names. Library code (torchlike, JAX, NumPy,
the standard library) is not looked into; ``library_calls`` says which of its functions count.
"""

from __future__ import annotations

import builtins
import contextlib
import enum
import gc
import inspect
import io
import random
import sys
import types
import warnings
from collections import deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from typing import Any

import numpy as np
from jax import monitoring

from torchlike._core import devices, dtypes
from torchlike._core.errors import JitCaptureError
from torchlike._jit.capture.bytecode import (
    given_to,
    lines_that_change,
    lines_that_store,
    loads,
    mentions,
    only_adds,
    only_records,
)
from torchlike._jit.capture.effects import Tables
from torchlike._jit.capture.guard_collector import Entered, GuardCollector
from torchlike._jit.capture.library_calls import Handler, frozen, handler_of, see
from torchlike._jit.capture.refusals import LIBRARIES, is_library, line_of
from torchlike._jit.capture.value_visits import ATOMS, MAX_ELEMENTS, legacy_state
from torchlike._jit.guards.containers import EntriesGuard, ItemsGuard
from torchlike._jit.guards.guard import (
    MISSING,
    VALUES,
    CellGuard,
    NameGuard,
    ValueGuard,
    VariableGuard,
)
from torchlike._jit.guards.objects import (
    UNSEEN,
    ComparedGuard,
    StateGuard,
    is_too_large,
    state_told_by,
)
from torchlike._runtime.collector import functions_of
from torchlike.tensor import Tensor

_FILES = io.TextIOWrapper, io.BufferedWriter
#: Methods that change a list or dictionary.
_CHANGES = frozenset(
    (
        "append",
        "extend",
        "insert",
        "pop",
        "remove",
        "clear",
        "sort",
        "reverse",
        "update",
        "popitem",
        "setdefault",
        "move_to_end",
        "__setitem__",
        "__delitem__",
        "__iadd__",
        "__ior__",
    )
)
#: Immutable objects, whose identity nobody asks for.
_ALWAYS_THE_SAME = (
    types.BuiltinFunctionType,
    types.CodeType,
    range,
    slice,
    type(...),
    dtypes.dtype,
    devices.device,
)
_builtin_names = frozenset(vars(builtins))

#: Code objects known to be a library's, kept alive so that their ids stay theirs.
_library_code: dict[int, types.CodeType] = {}
#: A library's code objects at which something is done.
_handled_code: dict[int, tuple[types.CodeType, Handler]] = {}


#: The module that calls those who registered to hear what JAX does (``jax.monitoring``).
_MONITORING = monitoring.record_event.__module__
#: Containers in containers, at most, of which one is recorded in.
_DEEPEST = 4
#: What reads attributes of an object whose names no code spells.
_READ_ALL = frozenset(("copy", "deepcopy", "pickle", "dumps", "format", "format_map", "replace"))
#: What tells a view from another tensor on the same memory.
_OF_VIEWS = frozenset(("_base", "_is_view"))


class FrameObserver(GuardCollector):
    """What one capture's user code named, reached and found.

    Attributes:
      errors_of_jax: errors that JAX made because it has no value yet of a traced array.
      within: branches and loops on values that are being traced, the innermost last.
      containers: ids of lists and dictionaries that are arguments, and where a method changed them
        first.
    """

    def __init__(self, placeholders: Container[int] = (), tables: Tables | None = None) -> None:
        super().__init__(tables)
        self.errors_of_jax: list[BaseException] = []
        #: By their ids, what the function sees instead of its arguments.
        self._placeholders = placeholders
        self._random = random.getstate()
        self._numpy_random = _numpy_state()
        self._previous: Any = None
        #: Guards on values that the code only records something in; see take_records.
        self._records: list[ValueGuard] = []
        self.within: list[str] = []
        self._gc_was_on = False
        #: Ids of lists, dictionaries and objects that are arguments, and where a method changed
        #: them first.
        self.containers: Collection[int] = ()
        self._changed_at: dict[int, str] = {}
        #: Ids of generators' frames that ran.
        self._resumed: set[int] = set()

    # -- watching a run ----------------------------------------------------------------------------

    def start(self, collect: bool = True) -> None:
        """Begin to see functions being entered in this thread."""
        # Whatever exists now leaves the youngest generation; what is made from here on stays in it.
        self._gc_was_on = gc.isenabled()
        if collect:
            gc.collect(0)
        gc.disable()
        for callback in gc.callbacks:
            # A collection in between calls these (hypothesis has one): no part of the function.
            code = getattr(callback, "__code__", None)
            if code is not None:
                _library_code[id(code)] = code
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

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Stop watching within a `with` block: library code that JAX traces makes most of a
        capture's calls. Seeing them too took half of a convolutional step's capture (0.29 s, 0.15
        without)."""
        seeing = sys.getprofile()
        if seeing not in (self._event, self._chained):
            yield
            return
        sys.setprofile(None)
        try:
            yield
        finally:
            sys.setprofile(seeing)

    def unseen(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return ``function(*args)`` while `paused`."""
        seeing = sys.getprofile()
        if seeing not in (self._event, self._chained):
            return function(*args)
        sys.setprofile(None)
        try:
            return function(*args)
        finally:
            sys.setprofile(seeing)

    def can_be_undone(self) -> bool:
        """Return whether the code that has run until now took nothing from iterators, generators of
        random numbers and the like."""
        now = _numpy_state()
        drawn = now is not None and now != self._numpy_random
        resumed = any(frame in self._resumed for _, frame, _ in self._generators)
        return not (self.reasons or resumed or drawn or random.getstate() != self._random)

    def _chained(self, frame: Any, event: str, arg: Any) -> None:
        self._event(frame, event, arg)
        self._previous(frame, event, arg)

    def _event(self, frame: Any, event: str, arg: Any) -> None:
        key = id(frame.f_code)
        if key in _library_code:
            return
        entered = self._entered.get(key)
        if entered is None:
            if key in _handled_code:
                _handled_code[key][1](self, frame, event, arg)
                return
            code, module = frame.f_code, frame.f_globals.get("__name__")
            if code.co_name == "<module>" or is_library(module, code.co_filename):
                handler = handler_of(module, code)
                if handler is None:
                    _library_code[key] = code
                else:
                    _handled_code[key] = code, handler
                    handler(self, frame, event, arg)
                return
            if event != "call" or frame.f_back.f_globals.get("__name__") == _MONITORING:
                return  # a frame that was running before the capture began; who hears JAX compile
            if "site-packages" in code.co_filename and not self.is_called_by_user(frame):
                return
            entered = self._entered[key] = Entered(code)
            self.compares = self.compares or entered.reads.compares
            self._enter_first(frame, entered)
        if event == "call" and frame.f_code.co_flags & inspect.CO_GENERATOR:
            self._resumed.add(id(frame))
        if event == "call" or event == "return":
            self._see_locals(frame, entered)
        elif event == "c_call":
            self._see_builtin(frame, arg)

    def say(self, by: str) -> None:
        """Raise JitCaptureError where the code is about to tell the outside something and a
        tensor's value decides whether it would."""
        if self.within:
            raise JitCaptureError(
                f"{by} in {self.within[-1]} cannot be compiled: it would be done whether the code "
                "is taken or not.\n  Return what is to be told, or move it outside."
            )

    @contextlib.contextmanager
    def tracing(self, what: str) -> Iterator[None]:
        """Note within a `with` block that a branch or loop on a value is being traced."""
        self.within.append(what)
        try:
            yield
        finally:
            self.within.pop()

    def has_entered(self, frame: Any) -> bool:
        """Return whether a frame is of user code."""
        return id(frame.f_code) in self._entered

    def is_called_by_user(self, frame: Any) -> bool:
        """Return whether an installed package runs for the user rather than for JAX: whether, past
        the standard library, user code or torchlike's (a module's forward, a hook) called it."""
        at = frame.f_back
        while at is not None:
            if id(at.f_code) in self._entered:
                return True
            name = str(at.f_globals.get("__name__"))
            if name.partition(".")[0] in LIBRARIES:
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
            self.learn(new)
        self.note(reads.noted)
        if entered.reads.whole:
            self.follow_all_whole()

    def _see_locals(self, frame: Any, entered: Entered) -> None:
        """Visit the objects that a frame holds. They may be the capture's own; see ``settle``."""
        for name, value in frame.f_locals.items():
            kind = type(value)
            if kind in ATOMS or issubclass(kind, (Tensor, list, tuple, dict, set)):
                continue
            self._rooted = False
            self.visit(value, name)
            self._rooted = True
        for root, path in entered.reads.whole_of:
            self._follow_path(frame, root, path)

    def _follow_path(self, frame: Any, root: str, path: tuple[str, ...]) -> None:
        """Follow every attribute of ``root.path``, which the code takes attributes of by names that
        it computes."""
        here = root in frame.f_locals
        value = frame.f_locals[root] if here else frame.f_globals.get(root, MISSING)
        for name in path:
            value = _look_up(value, name)
        if value is MISSING or type(value) in ATOMS:
            return
        self._rooted = not here
        label = ".".join((root, *path))
        elements = value.values() if isinstance(value, dict) else value
        if isinstance(value, (dict, list, tuple, deque)):
            for element in list(elements)[:MAX_ELEMENTS]:
                if type(element) not in ATOMS:
                    self.follow_whole(element, f"{label}[…]")
        self.follow_whole(value, label)
        self._rooted = True

    def _see_builtin(self, frame: Any, function: Any) -> None:
        """Look at a call of a function written in C by a user's frame: record what it changes or
        tells the outside, guard what it asks for, and refuse ``id`` and ``hash`` of an argument."""
        owner = id(getattr(function, "__self__", None))
        if owner in self.containers and function.__name__ in _CHANGES:
            self._changed_at.setdefault(owner, line_of(frame.f_code, frame.f_lineno))
        if function is warnings.warn:
            self.say("warnings.warn")
        elif function is id or function is hash:
            name = given_to(frame.f_code, frame.f_lasti)
            given = id(frame.f_locals.get(name))
            if given in self._placeholders or given in self.containers:
                raise JitCaptureError(
                    f"{function.__name__}({name}) of an argument cannot be compiled: it is another "
                    "at each call.\n  Use a dictionary keyed by tensors, or ask for it outside."
                )
        elif getattr(function, "__name__", "") in ("write", "writelines") and isinstance(
            getattr(function, "__self__", None), _FILES
        ):
            self.say(f"{function.__name__} of a file")
        self._see_method(frame, function)
        see(self, frame, function)

    def _see_method(self, frame: Any, function: Any) -> None:
        """Guard the state of an object that a method written in C may tell, where it is from
        outside."""
        owner, name = getattr(function, "__self__", None), function.__name__
        kind = type(owner)
        if owner is None or kind is types.ModuleType:
            return
        getter = state_told_by(kind, name)
        if getter is None or not self._may_be_from_outside(owner):
            return
        if getter is UNSEEN or is_too_large(owner):
            line = line_of(frame.f_code, frame.f_lineno)
            self.reasons.append(frozen(f"{kind.__name__}.{name}", line))
        else:
            what = f"the state of a {kind.__name__}, as of {name}()"
            self._add((id(owner), getter), ComparedGuard(owner, what, getter))

    def _may_be_from_outside(self, value: Any) -> bool:
        """Return whether an object was there before the capture, or nobody knows."""
        key = id(value)
        if key in self._visited and key not in self._unrooted:
            return True
        return gc.is_tracked(value) and self.is_from_outside(value)

    def lines_that_change(self, container: Any) -> str:
        """Return the lines, `` (model.py:12)``, where the code changes a container that is an
        argument, or may: by a method, or by a statement like ``d[k] = …``. The first lines of its
        functions at worst."""
        found = self._changed_at.get(id(container))
        codes = [e.code for e in self._entered.values()]
        stores = [line_of(code, line) for code in codes for line in lines_that_store(code)]
        lines = (
            [found]
            if found
            else list(dict.fromkeys(stores))
            or [line_of(code, code.co_firstlineno) for code in codes]
        )
        return f" ({' or '.join(lines[:3])})" if lines else ""

    def has_written(self, owner: dict[Any, Any], key: Any) -> bool:
        """Return whether the body has put another value into a dictionary from outside."""
        return any(
            isinstance(guard, EntriesGuard)
            and guard.owner is owner
            and guard.items.get(key) is not owner.get(key)
            for guard in self.guards.values()
        )

    def lines_of(self, name: str) -> str:
        """Return the lines, `` (model.py:12)``, where the code binds a name or may change what it
        stands for."""
        found = [
            line_of(e.code, line)
            for e in self._entered.values()
            for line in lines_that_change(e.code, name)
        ]
        return f" ({' or '.join(dict.fromkeys(found[:3]))})" if found else ""

    def see_setting(self, name: str, ask: Callable[[], Any], tell: Callable[[Any], None]) -> None:
        """Guard a switch of torchlike's own, or of the process, before the body reads or sets
        it."""
        if ask not in self.guards:
            self.guards[ask] = StateGuard(ask, name, _answer, lambda _, value: tell(value))

    # -- what it comes to --------------------------------------------------------------------------

    def settle(self) -> None:
        """Drop what the capture made itself, and find closures of functions reached by odd ways.

        Called when the body has returned and before anything collects garbage.
        """
        missing = [e for e in self._entered.values() if not e.resolved]
        nested = {
            id(c)
            for e in self._entered.values()
            for c in e.code.co_consts
            if isinstance(c, types.CodeType)
        }
        missing = [e for e in missing if id(e.code) not in nested]
        if missing:
            by_code = {id(e.code): e for e in missing}
            found: dict[int, list[types.FunctionType]] = {}
            for fn in functions_of([e.code for e in missing]):
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
        for generator, frame, label in self._generators:
            if frame in self._resumed or generator.gi_frame is None:
                self._takes_from(label)
        self._generators = []
        for entered in self._entered.values():
            entered.free = {}  # it would keep the capture's own tensors alive
        if self._unrooted:  # unseen, since `isinstance` may run a `__getattribute__` of the user's
            self.unseen(self._drop_own)
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
        young = set(map(id, gc.get_objects(generation=0)))  # no calls that a profiler would see
        young.update(self.containers)
        own = self._unrooted & young
        # An empty dictionary joins the collector's lists only when something is put in, so one
        # from outside may look young; every other kind of owner is listed from its beginning.
        self.guards = {
            k: p
            for k, p in self.guards.items()
            if id(p.holder) not in own and (isinstance(p.holder, dict) or id(p.holder) not in young)
        }
        for key, functions in list(self._functions.items()):
            self._functions[key] = [fn for fn in functions if id(fn) not in own]
        for key in own:
            self._objects.pop(key, None)
            self._visited.pop(key, None)
            self._spaces.pop(key, None)
            self.modules.pop(key, None)
            self.tensors.pop(key, None)
            self._noted_on.pop(key, None)
        self._unrooted -= own

    def is_from_outside(self, value: Any) -> bool:
        """Return whether an object was there before the capture, or can be no other at each
        call."""
        key = id(value)
        if isinstance(value, (type, types.ModuleType, enum.Enum, *_ALWAYS_THE_SAME)):
            return True
        if key in self._visited and key not in self._unrooted:
            return True
        if not gc.is_tracked(value):
            return False  # the collector does not know when it was made
        return not any(o is value for o in gc.get_objects(generation=0))

    def own_objects(self) -> Callable[[Any], bool]:
        """Return a function that says whether an object was made during the capture, for many; see
        `is_from_outside`."""
        young: frozenset[int] | None = None  # most captures ask for none

        def is_own(value: Any) -> bool:
            nonlocal young
            key = id(value)
            if isinstance(value, (*VALUES, type, types.ModuleType, enum.Enum)):
                return False
            if young is None:
                young = frozenset(map(id, gc.get_objects(generation=0)))
            return key in young and (key not in self._visited or key in self._unrooted)

        return is_own

    def changes(self) -> list[ValueGuard]:
        """Return the guards on values that are no longer what they were at first sight."""
        return [p for p in self.guards.values() if not p.check()]

    def take_records(self) -> list[ValueGuard]:
        """Take out of the guards, and return, those of `changes` that the code only recorded
        something in (a counter, a log): what it computes cannot depend on them, so they are
        compared no more."""
        records = [p for p in self.changes() if self.is_record(p)]
        for key in [k for k, p in self.guards.items() if p in records]:
            del self.guards[key]
        self._records += records
        return records

    def is_record(self, guard: ValueGuard, of_anything: bool = False) -> bool:
        """Return whether all code that ran only records something in a value: numbers and strings,
        or (``of_anything``) whatever there is."""
        if isinstance(guard, (ItemsGuard, EntriesGuard)):
            if not of_anything and not (
                isinstance(guard, ItemsGuard) and all(map(_is_constant, guard.now()))
            ):
                return False
            names = self._names_of(guard.owner, 0)
        else:
            names = {n for p, n in self._holders() if p is guard}
        enters = isinstance(guard, EntriesGuard)
        return bool(names) and all(self.only_records(name, enters) for name in names)

    def _names_of(self, owner: Any, depth: int) -> set[str]:
        """Return the names by which code reaches a container, also through others; none where it
        may reach it in a way that has no name."""
        names = {n for p, n in self._holders() if p.before() is owner}
        for module in self.modules.values():
            names |= {n for n, value in vars(module).items() if value is owner}
        for p in self.guards.values():
            if isinstance(p, (ItemsGuard, EntriesGuard)):
                items = p.items.values() if isinstance(p, EntriesGuard) else p.items
                if any(x is owner for x in items):
                    outer = self._names_of(p.owner, depth + 1) if depth < _DEEPEST else set()
                    if not outer:
                        return set()
                    names |= outer
        return names

    def _holders(self) -> list[tuple[ValueGuard, str]]:
        """Return the guards on variables and attributes, with their names."""
        found: list[tuple[ValueGuard, str]] = []
        for p in self.guards.values():
            if isinstance(p, (NameGuard, CellGuard)):
                found.append((p, _name_of(p)))
        return found

    def only_records(self, name: str, enters: bool = False) -> bool:
        """Return whether all code that ran uses a name only to record something (and some does:
        what no code names was changed by a library's)."""
        codes = [e.code for e in self._entered.values()]
        return any(mentions(code, name) for code in codes) and all(
            only_records(code, name, enters) for code in codes
        )

    def only_adds(self, name: str) -> bool:
        """Return whether numbers are added to a name that is only recorded in, and nothing else."""
        return all(only_adds(e.code, name) for e in self._entered.values())

    def adds_to(self, guard: VariableGuard) -> bool:
        """Return whether numbers are added to a variable that is only recorded in."""
        return self.only_adds(_name_of(guard))

    def adds_in_front(self) -> bool:
        """Return whether code may put something in front of a deque: of one that was empty, which
        end it was cannot be told."""
        return any(mentions(e.code, "appendleft") for e in self._entered.values())

    def only_binds(self, guard: VariableGuard) -> bool:
        """Return whether no code that ran reads a variable or attribute, which it binds."""
        name, codes = _name_of(guard), [e.code for e in self._entered.values()]
        if isinstance(guard, CellGuard):
            return not any(loads(code, name) for code in codes)
        is_global = isinstance(guard, NameGuard) and guard.owner is guard.space
        if is_global and any(loads(code, name) for code in codes):
            return False
        return not self.reads(name)

    def reads(self, name: str) -> bool:
        """Return whether code that ran may read an attribute of this name."""
        return (
            self.loads(name)
            or name in self._by_getters
            or any(
                name in e.reads.methods or any(mentions(e.code, x) for x in _READ_ALL)
                for e in self._entered.values()
            )
        )

    def release(self, guard: ValueGuard, instead: ValueGuard | None = None) -> None:
        """Compare a value no more that the body changed, or by the guard ``instead``; `restore`
        puts it back nevertheless."""
        for key, found in self.guards.items():
            if found is guard:
                if instead is None:
                    del self.guards[key]
                else:
                    self.guards[key] = instead
                break
        self._records.append(guard)

    def forget_way(self, label: str) -> None:
        """Forget that tensors were reached by this way, or through it: it leads to others at the
        next call."""
        for key, ways in self._tensor_labels.items():
            gone = {
                way for way in ways if way == label or way.startswith((f"{label}[", f"{label}."))
            }
            if gone:
                ways -= gone
                if not ways:
                    self.tensors.pop(key, None)

    def forget_object(self, value: Any) -> None:
        """Compare no more what an object consists of: there is another one at the next call."""
        gone = {id(value), id(getattr(value, "__dict__", value))}
        self.guards = {
            key: g for key, g in self.guards.items() if gone.isdisjoint((id(g.owner), id(g.holder)))
        }
        self._spaces.pop(id(value), None)
        self._objects.pop(id(value), None)

    def forget_notes(self, tensors: Iterable[Any]) -> None:
        """Compare no more which attributes there are on tensors that are not reached any more."""
        gone = {id(t) for t in tensors} - self.tensors.keys()
        self.guards = {k: g for k, g in self.guards.items() if id(g.owner) not in gone}

    def storages_held(self, places: Container[tuple[int, str]]) -> set[int]:
        """Return the ids of the storages of tensors that guards compare, or that are plain
        attributes of modules but for ``places``: {(id of the owner, name)}."""
        found: set[int] = set()
        stack: list[Any] = [
            value
            for module in self.modules.values()
            for name, value in vars(module).items()
            if (id(module), name) not in places
        ]
        for p in self.guards.values():
            if isinstance(p, EntriesGuard):
                stack += p.items.values()
            elif isinstance(p, ItemsGuard):
                stack += p.items
            elif isinstance(p, VariableGuard):
                stack.append(p.before())
        while stack:
            x = stack.pop()
            if isinstance(x, Tensor):
                found.add(id(x._storage))
            elif isinstance(x, tuple):
                stack += x
        return found

    def loads(self, name: str) -> bool:
        """Return whether code that ran may look up an attribute of this name."""
        return any(
            name in e.reads.loaded or e.reads.whole or e.reads.whole_of
            for e in self._entered.values()
        )

    def names_any(self, names: frozenset[str]) -> bool:
        """Return whether code that ran mentions an attribute or method of these names."""
        return any(
            not names.isdisjoint(e.reads.attributes | e.reads.methods)
            for e in self._entered.values()
        )

    def asks_for_bases(self) -> bool:
        """Return whether code may ask what an argument is a view of: its placeholder does not
        know."""
        return self.names_any(_OF_VIEWS)

    def asks_for_types(self) -> bool:
        """Return whether code that ran names ``type`` or ``id``, which see what an object really
        is."""
        return any(not {"type", "id"}.isdisjoint(e.reads.globals) for e in self._entered.values())

    def restore(self) -> None:
        """Put every changed value back: the capture failed, or is run once more."""
        for guard in (*self.changes(), *self._records):
            guard.restore()
        if random.getstate() != self._random:
            random.setstate(self._random)
        if _numpy_state() != self._numpy_random:
            name, keys, *rest = self._numpy_random
            np.random.set_state((name, np.frombuffer(keys, np.uint32), *rest))

    def has_visited(self, value: Any) -> bool:
        """Return whether a value was reached from outside."""
        return id(value) in self._visited and self._visited[id(value)][0] is value

    def followed(self) -> set[int]:
        """Return the ids of the objects that code may read attributes of."""
        return set(self._objects)

    def label_of(self, value: Any) -> str:
        """Return the label of a visited value: how it was reached."""
        return self._visited[id(value)][1]

    def spaces(self) -> list[tuple[Any, dict[str, Any]]]:
        """Return the instances and the attribute dictionaries they had."""
        return list(self._spaces.values())


def _look_up(value: Any, name: str) -> Any:
    """Look up an attribute, without running any code of the user's."""
    found = getattr(value, "__dict__", {}) if not isinstance(value, Tensor) else {}
    for table in (found, found.get("_modules", {})):
        if name in table:
            return table[name]
    return MISSING


def _name_of(guard: VariableGuard) -> str:
    """Return the name that code has for a variable or attribute."""
    return guard.name if isinstance(guard, NameGuard) else guard.label.rpartition(".")[2]


def _is_constant(value: Any) -> bool:
    """Return whether a value is a number, a string, or a tuple of such."""
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return isinstance(value, VALUES)


def _answer(ask: Callable[[], Any]) -> Any:
    return ask()


def _closes_over(fn: types.FunctionType, values: dict[str, Any]) -> bool:
    """Return whether a function's closure holds these values."""
    cells = zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False)
    return all(CellGuard(c, n).value is values.get(n, MISSING) for n, c in cells)


def _numpy_state() -> Any:
    return legacy_state(np.random.mtrand._rand)
