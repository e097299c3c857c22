"""Deferred prints: what a body prints while it is captured is printed at each call of its program.

A function under ``torch.compile`` prints at each call, as in PyTorch: what the capture printed is
held back, comes out when the program is there, and again at each of its later calls. It is the same
text then, because all that it was made of is guarded. Nothing is printed twice where the capture
fails and the call runs eagerly, or is made a second time.

``print`` is exchanged, not ``sys.stdout``: a debugger in the body writes to that, and is answered.
It is one exchange for all captures, undone by the last to end: were each to put back what it found,
then captures that overlap without being nested would leave one's in place.
"""

from __future__ import annotations

import builtins
import functools
import io
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from torchlike._core.printing import CAPTURED
from torchlike._jit.capture.replayed_effects import Effect
from torchlike._runtime.patches import in_use


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
    """A context in which this thread's ``print`` is seen, and held back if ``held``: for each call.
    With ``silent`` all is held back, for this call."""

    def __init__(
        self, say: Callable[[str], None], refuse_value: Callable[[str, str], None]
    ) -> None:
        self.held = self.silent = False
        self._say = say
        #: What is held back: (whether to stderr, text).
        self._texts: list[tuple[bool, str]] = []
        #: What is held back for this call alone.
        self._once: list[Callable[[], None]] = []
        self._refuse_value = refuse_value

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
        if not self.held or redirected or not (file is None or file is sys.stderr):
            if self.silent:
                said = io.StringIO()
                _print(*values, file=said, **how)
                file = sys.stdout if file is None else file
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
