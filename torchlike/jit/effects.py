"""Effects: what a branch or a loop's body changed in Python while it was traced.

Both branches are traced and a loop's body once, so a list that one of them appends to would be
wrong afterwards. What the functions can reach through their closures is compared before and after,
as is every place that the capture watches.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from torchlike.errors import JitCaptureError
from torchlike.jit import places
from torchlike.jit.libraries import is_library_module
from torchlike.tensor import Tensor

_MAX_DEPTH = 5
_MAX_ELEMENTS = 2000


class Effects:
    """The Python values that functions can reach, as they are now."""

    def __init__(self, functions: Iterable[Callable[..., Any]], watch: Any) -> None:
        self._watch = watch
        self._places: dict[int, places.Place] = {}
        for fn in functions:
            self._function(fn, 0)
        #: Variables seen from here on may be those of the traced functions themselves.
        self._known = {id(p) for p in watch.places.values()}
        self._changed_before = {id(p) for p in watch.changes()}

    def check(self, what: str) -> None:
        """JitCaptureError where something changed since."""
        changed = [p for p in self._places.values() if not p.holds()]
        changed += [
            p for p in self._watch.changes()
            if id(p) not in self._changed_before
            and (id(p) in self._known or not isinstance(p, places.Cell))
        ]  # fmt: skip
        if not changed:
            return
        for p in self._places.values():
            if not p.holds():
                p.restore()
        label = changed[0].label
        raise JitCaptureError(
            f"changing `{label}` in {what} cannot be compiled: the change would be made whether "
            "the code is taken or not.\n  Assign a variable that both branches (or all turns) bind "
            "alike, or move the change outside."
        )

    def _function(self, fn: Any, depth: int) -> None:
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False):
            if depth:
                self._places[id(cell)] = places.Cell(cell, name)
            try:
                self._visit(cell.cell_contents, name, depth)
            except ValueError:
                continue  # not bound yet

    def _visit(self, value: Any, label: str, depth: int) -> None:
        if depth > _MAX_DEPTH or id(value) in self._places or isinstance(value, Tensor):
            return
        if isinstance(value, (list, set, deque)):
            self._places[id(value)] = places.Items(value, label)
            self._all(value, label, depth)
        elif isinstance(value, dict):
            self._places[id(value)] = places.Entries(value, label)
            self._all(value.values(), label, depth)
        elif isinstance(value, tuple):
            self._all(value, label, depth)
        elif isinstance(value, types.FunctionType):
            if not is_library_module(str(value.__module__)):
                self._function(value, depth + 1)
        elif isinstance(value, types.MethodType):
            self._visit(value.__self__, label, depth)
        elif not isinstance(value, (type, types.ModuleType)) and not is_library_module(
            str(type(value).__module__)
        ):
            space = getattr(value, "__dict__", None)
            if isinstance(space, dict):
                self._places[id(value)] = places.Entries(space, label)
                self._all(space.values(), label, depth)

    def _all(self, values: Any, label: str, depth: int) -> None:
        if len(values) <= _MAX_ELEMENTS:
            for value in list(values):
                if type(value) not in (int, float, bool, str):
                    self._visit(value, label, depth + 1)
