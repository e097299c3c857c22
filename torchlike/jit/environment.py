"""What a capture took for granted besides cells: closures, globals, modules' plain attributes.

A jitted function reads Python names while it is captured. Their values are in the graph; when one
of them is bound to something else, the graph no longer fits. The names of the function itself (and
of functions defined inside it) are compared at each call, at ~50 ns a name; modules' attributes
only after some module was changed (``modes.epoch``).
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable
from typing import Any

from torchlike.tensor import Tensor

_VALUES = (int, float, complex, bool, str, bytes, type(None))


def _unwrapped(fn: Any) -> Any:
    while True:
        if isinstance(fn, types.MethodType):
            fn = fn.__func__
        elif hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        elif hasattr(fn, "func") and not isinstance(fn, types.FunctionType):
            fn = fn.func  # functools.partial
        else:
            return fn


def _names(code: types.CodeType) -> set[str]:
    """The globals that a code object, or one nested in it, loads."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names |= _names(const)
    return names


class Environment:
    """The closure cells and globals that a function's code names."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        fn = _unwrapped(fn)
        self.cells: list[Any] = []
        self.globals: dict[str, Any] = {}
        self.names: list[str] = []
        if isinstance(fn, types.FunctionType):
            self.cells = list(fn.__closure__ or ())
            self.globals = fn.__globals__
            self.names = sorted(_names(fn.__code__))


_MISSING: Any = object()


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


class Snapshot:
    """The environment and module attributes as a capture saw them."""

    def __init__(self, environment: Environment, capture: Any) -> None:
        self.cells: list[tuple[Any, Any]] = []
        self.names: list[tuple[str, Any]] = []
        #: Tensors reached by name, and whether they required grad.
        self.flags: list[tuple[Tensor, Any]] = []
        self.table = environment.globals
        for cell in environment.cells:
            value = _cell(cell)
            self.cells.append((cell, value))
            self._remember(value)
        for name in environment.names:
            value = self.table.get(name, _MISSING)
            if value is not _MISSING and not isinstance(value, types.ModuleType):
                self.names.append((name, value))
                self._remember(value)
        self.attributes = [
            (owner, name, value) for owner, name, value in capture.attributes.values()
        ]
        bound = set(capture.slots_written)
        self.modules = [
            (m, skip, _plain(m, skip))
            for m in capture.modules.values()
            for skip in [frozenset(name for owner, name in bound if owner == id(m))]
        ]
        changed = capture.attributes_written
        self.attributes = [a for a in self.attributes if (id(a[0]), a[1]) not in changed]

    def holds(self) -> Any:
        """Whether closure and globals are unchanged."""
        for cell, value in self.cells:
            now = cell.cell_contents
            if now is not value and not _equal(now, value):
                return False
        table = self.table
        for name, value in self.names:
            now = table.get(name)
            if now is not value and not _equal(now, value):
                return False
        return True

    def structure_holds(self) -> Any:
        """Whether the modules' attributes are unchanged."""
        for owner, name, value in self.attributes:
            if owner.__dict__.get(name) != value:
                return False
        if any(t.requires_grad != flag for t, flag in self.flags):
            return False
        return all(_plain(m, skip) == plain for m, skip, plain in self.modules)

    def _remember(self, value: Any) -> None:
        if isinstance(value, Tensor):
            self.flags.append((value, value.requires_grad))


def _equal(a: Any, b: Any) -> Any:
    """Whether two different objects are the same to a graph: numbers and strings, by value."""
    return type(a) is type(b) and isinstance(a, _VALUES) and a == b


def _plain(module: Any, skip: frozenset[str]) -> dict[str, Any]:
    """What a module's graph depends on besides cells: plain values, and the identities of its
    tensors and submodules (but for attributes in ``skip``, which the program binds itself)."""
    found: dict[str, Any] = {}
    for name, value in module.__dict__.items():
        if name in skip:
            continue
        if isinstance(value, _VALUES) and name[:1] != "_":
            found[name] = value
        elif isinstance(value, Tensor):
            found[name] = id(value), value.requires_grad
    for table in ("_parameters", "_buffers", "_modules"):
        for name, value in module.__dict__.get(table, {}).items():
            if name not in skip:
                flag = value.requires_grad if isinstance(value, Tensor) else None
                found[f"{table}.{name}"] = id(value), flag
    return found
