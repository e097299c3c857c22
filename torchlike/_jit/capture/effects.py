"""What a body tells the outside and may not leave: prints, tables, effects of branches.

What it changes of Python's objects, which each call changes again, is in ``replay``.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import gc
import io
import itertools
import operator
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from io import IOBase
from types import TracebackType
from typing import Any

from torchlike._core import dtypes, modes
from torchlike._core.errors import JitCaptureError
from torchlike._jit.capture.refusals import is_library_class, is_library_function
from torchlike._jit.guards.containers import EntriesGuard, ItemsGuard
from torchlike._jit.guards.guard import CellGuard, ValueGuard, same
from torchlike._jit.guards.objects import StateGuard
from torchlike._runtime.patches import in_use
from torchlike._runtime.printing import CAPTURED
from torchlike.tensor import Tensor

#: Does to Python's objects what one run of the body did.
Effect = Callable[[], None]


# -------------------------------------------------------------------------------------------------
# Deferred prints: what a body prints while it is captured is printed at each call of its program.
#
# A function under ``torch.compile`` prints at each call, as in PyTorch: what the capture printed
# is held back, comes out when the program is there, and again at each of its later calls. It is
# the same text then, because all that it was made of is guarded. Nothing is printed twice where
# the capture fails and the call runs eagerly, or is made a second time.
#
# ``print`` is exchanged, not ``sys.stdout``: a debugger in the body writes to that, and is
# answered. It is one exchange for all captures, undone by the last to end: were each to put back
# what it found, then captures that overlap without being nested would leave one's in place.


class _Captures(threading.local):
    #: The DeferredPrints whose capture runs in this thread, or None.
    printed: DeferredPrints | None = None


_captures = _Captures()
_lock = threading.Lock()
_running = 0
_print = builtins.print


# As what it stands for, so that it is pickled as that while a capture runs in another thread.
@functools.wraps(builtins.print)
def _seen(*values: Any, **how: Any) -> None:
    printed = _captures.printed
    if printed is None:
        _print(*values, **how)
    else:
        printed.take(*values, **how)


class DeferredPrints:
    """A context in which this thread's ``print`` is seen, and held back if it ``is_deferring``: for
    each call.
    With ``silent`` all is held back, for this call."""

    def __init__(
        self,
        say: Callable[[str], None],
        refuse_value: Callable[[str, str], None],
        is_from_outside: Callable[[Any], bool],
    ) -> None:
        self.is_deferring = self.silent = False
        self._say = say
        #: What is held back: (whether to stderr, text).
        self._texts: list[tuple[bool, str]] = []
        #: What is held back for this call alone.
        self._once: list[Callable[[], None]] = []
        self._refuse_value, self._is_from_outside = refuse_value, is_from_outside

    def __enter__(self) -> None:
        global _running, _print
        self._outer, _captures.printed = _captures.printed, self
        self._out = sys.stdout
        with _lock:
            if not _running and builtins.print is not _seen:
                _print = builtins.print
                in_use.PRINT.replace(builtins, "print", _seen)
            _running += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _running
        _captures.printed = self._outer
        with _lock:
            _running -= 1
            if not _running:
                in_use.PRINT.restore()

    def take(self, *values: Any, file: Any = None, **how: Any) -> None:
        """Take over a ``print(*values, file=file, **how)`` of the body: hold its text back, or
        print at once what cannot be held."""
        self._say("print")
        redirected = file is None and sys.stdout is not self._out
        if not self.is_deferring or redirected or not (file is None or file is sys.stderr):
            file = sys.stdout if file is None else file
            if self.silent and self._is_from_outside(file):
                said = io.StringIO()
                _print(*values, file=said, **how)
                self._once.append(functools.partial(_print, said.getvalue(), end="", file=file))
            else:
                _print(*values, file=file, **how)
            return
        text = io.StringIO()
        _print(*values, file=text, **how)
        if CAPTURED in text.getvalue():
            self._refuse_value("print of a tensor", "a returned tensor, which the caller prints")
        self._texts.append((file is not None, text.getvalue()))

    def let_out(self) -> None:
        """Print what is held back."""
        for write in self._once:
            write()
        if prints := self.effect():
            prints()

    def effect(self) -> Effect | None:
        """Return a function that prints it all (again); None where nothing was held back."""
        if not self._texts:
            return None
        texts = tuple(self._texts)

        def write() -> None:
            for to_stderr, text in texts:
                print(text, end="", file=sys.stderr if to_stderr else None)

        return write


class Tables:
    """The tables that one capture's body was about to change.

    Parameters, buffers, children, hooks and parameter groups are kept in plain dictionaries and
    lists. Whoever is about to change one says so first (`modes.table_changes`), and code that names
    one may change it. A program whose body left one changed is for the structure that it found,
    which is no more: it runs once and is not kept. What was only changed for a while (a hook that
    was removed again) changes nothing, and what a name is bound to anew is a slot's (see
    ``capture``).
    """

    def __init__(self, slots: Iterable[Any]) -> None:
        """Begin without tables. ``slots``: those that the body binds."""
        self._slots = slots
        #: By the table's id: whose it is, what it held, and what is to be said of a change.
        self._seen: dict[int, tuple[Any, ValueGuard, str]] = {}

    def about_to_change(
        self, owner: Any, table: Any, what: str, where: Callable[[], str] = str
    ) -> None:
        """Record that ``table`` of ``owner`` is about to change; the first record counts."""
        if id(table) not in self._seen:
            kind = EntriesGuard if isinstance(table, dict) else ItemsGuard
            self._seen[id(table)] = owner, kind(table, what), what + where()

    def owners(self) -> Iterator[Any]:
        """Yield the objects whose tables the body was about to change: it may have seen what they
        hold."""
        for owner, *_ in self._seen.values():
            yield owner

    def drop(self, is_own: Callable[[Any], bool]) -> None:
        """Forget the tables of what the body made itself."""
        self._seen = {k: seen for k, seen in self._seen.items() if not is_own(seen[0])}

    def changes(self) -> list[str]:
        """Return descriptions of what was left changed, with the lines that began it."""
        return [said for _, _, said in self._left_changed()]

    def changed(self) -> list[Any]:
        """Return the present contents of the tables that were left changed."""
        return [guard.now() for _, guard, _ in self._left_changed()]

    def _left_changed(self) -> list[tuple[Any, ValueGuard, str]]:
        found = [seen for seen in self._seen.values() if not seen[1].check()]
        if not found:
            return found
        bound: dict[int, set[str]] = {}
        for slot in self._slots:
            bound.setdefault(id(slot.owner), set()).add(slot.name)
        return [seen for seen in found if _is_changed(seen[1], bound.get(id(seen[0]), set()))]

    def restore(self) -> None:
        """Put every table back as it was."""
        for _, guard, _ in self._seen.values():
            if not guard.check():
                guard.restore()


def _is_changed(guard: ValueGuard, bound: set[str]) -> bool:
    """Return whether a table holds something else, but for the names ``bound``, where it has them
    yet."""
    if not bound or not isinstance(guard, EntriesGuard):
        return True
    before, now = guard.items, guard.now()
    return list(before) != list(now) or any(
        before[name] is not value and name not in bound for name, value in now.items()
    )


_MAX_DEPTH = 12
_MAX_ELEMENTS = 2000
#: Where functions stand around the user's: a turn of a loop, given its row.
_AROUND = "torchlike._jit.trace.operators"


class Effects:
    """The Python values that functions can reach, as they are now.

    Both branches are traced and a loop's body once, so a list that one of them appends to would be
    wrong afterwards. What the functions can reach through their closures is compared before and
    after, as are every value that the capture watches and the modes of the thread.
    """

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
            if value.__module__ == _AROUND or not is_library_function(value):
                self._function(value, depth + 1)
        elif isinstance(value, Iterator):
            self._iterator(value, label, depth)
        elif isinstance(value, types.MethodType):
            self._visit(value.__self__, label, depth)
        elif not isinstance(value, (type, types.ModuleType)) and not is_library_class(type(value)):
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
