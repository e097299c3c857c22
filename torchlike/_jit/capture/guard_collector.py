"""`GuardCollector` guards the Python values that code can read, from the names in it onwards.

Objects are followed by the names that entered code mentions (``cfg.alpha`` watches ``alpha`` of
``cfg``, not the rest of it), containers as a whole.
"""

from __future__ import annotations

import logging
import types
from typing import Any

from torchlike._core.errors import JitCaptureError, users_frame
from torchlike._jit.capture.bytecode import Reads, reads_of, rebinds
from torchlike._jit.capture.effects import Tables
from torchlike._jit.capture.refusals import is_library_class, line_of
from torchlike._jit.capture.value_visits import ATOMS, OF_MODULES, ValueVisits, space_of, visitor_of
from torchlike._jit.guards.containers import AttributesGuard, NoAttributesGuard
from torchlike._jit.guards.guard import MISSING, CellGuard, MemberGuard
from torchlike._jit.guards.objects import FunctionGuard
from torchlike._jit.guards.weak import PROXIES
from torchlike.tensor import FIELDS, Tensor, whole_dict

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


class GuardCollector(ValueVisits):
    """Guards on what user code can reach, with the values that were there at first sight."""

    def __init__(self, tables: Tables | None = None) -> None:
        super().__init__()
        #: Tables of modules that code names.
        self._tables = Tables(()) if tables is None else tables
        #: All ways to the tensors that were reached.
        self._tensor_labels: dict[int, set[str]] = {}
        self._noted: set[str] = set()
        self._probed: set[str] = set()
        self._entered: dict[int, Entered] = {}
        #: Objects of which all attributes are followed.
        self._whole: set[int] = set()
        self._all_whole = False

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
            if not whole_dict(value).keys() <= FIELDS:
                self._follow(value, label, depth)
            self._note_on(value, label)
            return
        visitor = visitor_of(kind)
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
            if name not in whole_dict(t) and not hasattr(type(t), name):
                self._name(t, whole_dict(t), name, MISSING, f"{label}.{name}")

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
        space = space_of(value)
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
        space = space_of(value)
        cls = value if isinstance(value, type) else type(value)
        is_module = "_parameters" in space and "_modules" in space if space is not None else False
        of_class = isinstance(value, type) or not is_library_class(cls)
        if (
            space is not None
            and not is_module
            and not isinstance(value, (type, types.ModuleType, types.FunctionType, Tensor))
        ):
            self._spaces.setdefault(id(value), (value, space))
        if isinstance(value, types.ModuleType) and value.__name__ in OF_MODULES:
            names = OF_MODULES[value.__name__].intersection(names)
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
                if not is_library_class(base):
                    before.append(base)
                continue
            if is_library_class(base):
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


def line_of_user() -> str:
    """Return the line where the user's code is, which begins with a space: `` (train.py:41)``."""
    frame = users_frame()
    return "" if frame is None else f" ({line_of(frame.f_code, frame.f_lineno)})"
