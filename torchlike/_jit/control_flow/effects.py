"""Finds what a branch or a loop's body changed in Python while it was traced.

Both branches are traced and a loop's body once, so a list that one of them appends to would be
wrong afterwards. What the functions can reach through their closures is compared before and after,
as are every value that the capture watches and the modes of the thread.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import operator
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from io import IOBase
from typing import Any

from torchlike._core import dtypes, modes
from torchlike._core.errors import JitCaptureError
from torchlike._jit.capture.libraries import is_library_module
from torchlike._jit.guards.containers import EntriesGuard, ItemsGuard
from torchlike._jit.guards.objects import StateGuard
from torchlike._jit.guards.values import ValueGuard, same
from torchlike._jit.guards.variables import CellGuard
from torchlike.tensor import Tensor

_MAX_DEPTH = 12
_MAX_ELEMENTS = 2000
#: Where functions stand around the user's: a turn of a loop, given its row.
_AROUND = "torchlike._jit.control_flow.operators"


class Effects:
    """The Python values that functions can reach, as they are now."""

    def __init__(
        self, functions: Iterable[Callable[..., Any]], observer: Any, called: Iterable[Any] = ()
    ) -> None:
        """Guard the Python values that the functions can reach. ``functions`` are parts of a user's
        function, whose variables are theirs to bind; ``called`` are the user's own."""
        self.observer = observer
        self._guards: dict[int, ValueGuard] = {}
        for fn in functions:
            self._function(fn, 0)
        for fn in called:
            self._visit(fn, getattr(fn, "__qualname__", type(fn).__name__), 0)
        #: Variables seen from here on may be those of the traced functions themselves.
        self._known = {id(p) for p in observer.guards.values()}
        #: What the function itself had changed before it came here.
        self._changed_before = {id(p): p.now() for p in observer.changes()}
        self._modes = ThreadModes()

    @contextlib.contextmanager
    def refused(self, what: str) -> Iterator[None]:
        """Refuse effects of a function that is traced in a `with` block: JitCaptureError where it
        tells the outside something, and afterwards where something changed."""
        with self.observer.tracing(what):
            yield
        self._check(what)

    def _check(self, what: str) -> None:
        changed: list[ValueGuard] = [p for p in self._guards.values() if not p.check()]
        changed += [
            p
            for p in self.observer.changes()
            if not (id(p) in self._changed_before and _alike(self._changed_before[id(p)], p.now()))
            and (id(p) in self._known or not isinstance(p, CellGuard))
        ]
        self._modes.check(what)
        if changed:
            for p in self._guards.values():
                if not p.check():
                    p.restore()
            raise JitCaptureError(
                f"changing `{changed[0].label}` in {what} cannot be compiled: the change would be "
                "made whether the code is taken or not.\n  Assign a variable that both branches "
                "(or all turns) bind alike, or move the change outside."
            )

    def _function(self, fn: Any, depth: int) -> None:
        for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=False):
            if depth:
                self._guards[id(cell)] = CellGuard(cell, name)
            try:
                self._visit(cell.cell_contents, name, depth)
            except ValueError:
                continue  # not bound yet

    def _visit(self, value: Any, label: str, depth: int) -> None:
        if depth > _MAX_DEPTH or id(value) in self._guards or isinstance(value, Tensor):
            return
        if isinstance(value, (list, set, deque)):
            self._guards[id(value)] = ItemsGuard(value, label)
            self._all(value, label, depth)
        elif isinstance(value, dict):
            self._guards[id(value)] = EntriesGuard(value, label)
            self._all(value.values(), label, depth)
        elif isinstance(value, tuple):
            self._all(value, label, depth)
        elif isinstance(value, types.FunctionType):
            module = str(value.__module__)
            if module == _AROUND or not is_library_module(module):
                self._function(value, depth + 1)
        elif isinstance(value, Iterator):
            self._iterator(value, label, depth)
        elif isinstance(value, types.MethodType):
            self._visit(value.__self__, label, depth)
        elif not isinstance(value, (type, types.ModuleType)) and not is_library_module(
            str(type(value).__module__)
        ):
            space = getattr(value, "__dict__", None)
            if isinstance(space, dict):
                self._guards[id(value)] = EntriesGuard(space, label)
                self._all(space.values(), label, depth)

    def _iterator(self, value: Any, label: str, depth: int) -> None:
        """Guard the position of an iterator, and of those that it takes from."""
        if isinstance(value, IOBase):
            return
        self._guards[id(value)] = StateGuard(value, label, _position)
        self._all(
            [x for x in gc.get_referents(value) if isinstance(x, (Iterator, tuple))], label, depth
        )

    def _all(self, values: Any, label: str, depth: int) -> None:
        if len(values) <= _MAX_ELEMENTS:
            for value in list(values):
                if type(value) not in (int, float, bool, str):
                    self._visit(value, label, depth + 1)


class ThreadModes:
    """Modes of the thread that code can set for good, as they are now."""

    def __init__(self) -> None:
        current = modes.current
        self._values = {
            "the grad mode": (current.grad_enabled, current.inference),
            "the default dtype": dtypes.get_default_dtype(),
            "the default device": current.device,
            "autocast": current.autocast,
            "anomaly detection": (current.anomaly, current.anomaly_nan),
        }

    def changed(self) -> list[str]:
        """Return the names of the modes that differ by now."""
        now = ThreadModes()._values
        return [mode for mode, was in self._values.items() if now[mode] != was]

    def restore(self) -> None:
        values, current = self._values, modes.current
        current.grad_enabled, current.inference = values["the grad mode"]
        dtypes.set_default_dtype(values["the default dtype"])
        current.device, current.autocast = values["the default device"], values["autocast"]
        current.anomaly, current.anomaly_nan = values["anomaly detection"]

    def check(self, what: str) -> None:
        """Raise JitCaptureError where a mode differs, which is put back."""
        for mode in self.changed():
            self.restore()
            raise JitCaptureError(
                f"setting {mode} in {what} cannot be compiled: it would be set whether the "
                "code is taken or not.\n  Set it outside, or use it as a context manager."
            )


def _position(iterator: Any) -> Any:
    """Return a value that differs when an iterator has moved on."""
    if isinstance(iterator, types.GeneratorType):
        frame = iterator.gi_frame
        return None if frame is None else (frame.f_lasti, [*map(id, frame.f_locals.values())])
    if isinstance(iterator, itertools.count):
        return repr(iterator)
    return operator.length_hint(iterator, -1)


def _alike(before: Any, now: Any) -> bool:
    """Return whether what was held is what is held now: containers by their elements."""
    if type(before) is not type(now):
        return False
    if isinstance(before, list):
        return len(before) == len(now) and all(map(same, before, now))
    if isinstance(before, dict):
        return before.keys() == now.keys() and all(
            same(value, now[key]) for key, value in before.items()
        )
    return same(before, now)
