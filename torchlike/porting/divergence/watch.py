"""Hooks into what a training script does: calls of modules, backward passes and updates.

What a script does at its own level is an event: the call of a module that no module calls, a
backward pass, an update. They are numbered, and so are all calls of modules.

No framework is imported: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from torchlike.porting.divergence.framework import Framework

_OWN = str(Path(__file__).resolve().parents[2])


class EnoughSeen(SystemExit):
    """Ends the script: what was to be seen has been."""


class Watch:
    """A context in which events are told to the methods of a subclass."""

    def __init__(self, framework: Framework) -> None:
        self.framework = framework
        #: Updates made so far.
        self.updates = 0
        #: Events and calls of modules begun so far.
        self.events = 0
        self.calls = 0
        #: Modules that are being called, the outermost first.
        self.stack: list[Any] = []
        self._busy = False
        self._updating = 0
        self._thread = threading.get_ident()
        self._undo: list[Callable[[], None]] = []
        self._not_the_users = (str(Path(framework.folder)), _OWN, "<")

    # --- what a subclass may do

    def call(self, module: Any, number: int, proceed: Callable[[], Any], given: Any) -> Any:
        """A module is called; ``proceed()`` calls it and gives its result."""
        return proceed()

    def backward(self, loss: Any, proceed: Callable[[], None]) -> None:
        """A backward pass is started."""
        proceed()

    def update_begins(self, optimizer: Any) -> None:
        """An optimizer is about to make a step."""

    def update_ends(self, optimizer: Any) -> None:
        """An optimizer has made a step; ``updates`` counts it."""

    # --- hooks

    def __enter__(self) -> Watch:
        module, tensor = self.framework.module, self.framework.tensor
        self._replace(module, "__call__", self._watched_call)
        self._replace(tensor, "backward", self._watched_backward)
        self._undo.append(self.framework.before_step(self._step_begins).remove)
        self._undo.append(self.framework.after_step(self._step_ends).remove)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._undo:
            self._undo.pop()()

    def _replace(self, owner: type, name: str, by: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def watched(this: Any, *args: Any, **kwargs: Any) -> Any:
            if self._busy or threading.get_ident() != self._thread:
                return original(this, *args, **kwargs)
            return by(original, this, args, kwargs)

        setattr(owner, name, watched)
        self._undo.append(lambda: setattr(owner, name, original))

    def quietly(self, work: Callable[[], Any]) -> Any:
        """The result of work of our own, which is no event."""
        before, self._busy = self._busy, True
        try:
            return work()
        finally:
            self._busy = before

    def _watched_call(self, original: Any, module: Any, args: Any, kwargs: Any) -> Any:
        number = self.calls
        self.calls += 1
        if not self.stack:
            self.events += 1

        def proceed() -> Any:
            self.stack.append(module)
            try:
                return original(module, *args, **kwargs)
            finally:
                self.stack.pop()

        return self.call(module, number, proceed, (args, kwargs))

    def _watched_backward(self, original: Any, loss: Any, args: Any, kwargs: Any) -> None:
        if self.stack:  # within a module, it is the module's affair
            original(loss, *args, **kwargs)
            return
        self.events += 1
        self.backward(loss, lambda: original(loss, *args, **kwargs))

    def _step_begins(self, optimizer: Any, *_: Any) -> None:
        self._updating += 1
        if self._updating == 1:  # others are called by a wrapper's, or by a subclass's
            self.events += 1
            self.update_begins(optimizer)

    def _step_ends(self, optimizer: Any, *_: Any) -> None:
        self._updating -= 1
        if self._updating == 0:
            self.updates += 1
            self.update_ends(optimizer)

    def line(self) -> str:
        """The innermost line of the user's that is being executed, as ``file:number``."""
        frame = sys._getframe(1)
        while frame is not None:
            if not frame.f_code.co_filename.startswith(self._not_the_users):
                return f"{frame.f_code.co_filename}:{frame.f_lineno}"
            frame = frame.f_back  # type: ignore[assignment]
        return ""
