"""Hooks into what a training script does: calls of modules, backward passes and updates.

What a script does at its own level is an event: the call of a module that no module calls, a
backward pass, an update. They are numbered, and so are all calls of modules.

It reads values as they come, so it tells no times: `torchlike.porting.recorder` does, with hooks
that wait for nothing.

No framework is imported: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from torchlike._runtime.frames import innermost
from torchlike.porting.divergence.digests import Digest, digests
from torchlike.porting.divergence.framework import WatchedFramework
from torchlike.porting.divergence.scope import EventScope

_OWN = str(Path(__file__).resolve().parents[2])


class EnoughSeen(SystemExit):
    """Ends the script: what was to be seen has been."""


class EventWatch:
    """A context in which events are told to the methods of a subclass."""

    def __init__(self, framework: WatchedFramework) -> None:
        self.framework = framework
        #: The script's, or within the capture of a program the program's.
        self.scope = EventScope()
        #: How many programs have run.
        self.programs = 0
        self._busy = False
        self._thread = threading.get_ident()
        self._undo: list[Callable[[], None]] = []
        # By folders: the framework may be real PyTorch, whose generated code is no user's.
        self._not_the_users = (str(Path(framework.folder)), _OWN, "<")

    # --- what a subclass may do

    def call(self, module: Any, number: int, proceed: Callable[[], Any], given: Any) -> Any:
        """Run at a module's call, which ``proceed()`` makes; return its result."""
        return proceed()

    def backward(self, loss: Any, proceed: Callable[[], None]) -> None:
        """Run as a backward pass is started; ``proceed()`` makes it."""
        proceed()

    def update_begins(self, optimizer: Any) -> None:
        """Run as an optimizer is about to make a step."""

    def update_ends(self, optimizer: Any) -> None:
        """Run after an optimizer has made a step; the scope's ``updates`` counts it."""

    def unseen(self) -> None:
        """Run as a module is called where nothing can be noted: in a loop that is part of a
        program."""

    def program_begins(self) -> None:
        """Run as a program is about to be captured; the scope is its own."""

    def program_ends(self) -> None:
        """Run as the program's function has ended, and with it what can be noted."""

    def program_ran(self, program: EventScope, arrays: list[np.ndarray | None]) -> None:
        """Run after a program has run, and given the arrays of the tensors that were kept."""

    @contextlib.contextmanager
    def around_compiled(self) -> Iterator[None]:
        """Surround the call of a compiled function, in a ``with`` block."""
        yield

    # --- hooks

    def __enter__(self) -> EventWatch:
        module, tensor = self.framework.module, self.framework.tensor
        self._replace(module, "__call__", self._watched_call)
        self._replace(tensor, "backward", self._watched_backward)
        self._undo.append(self.framework.before_step(self._step_begins).remove)
        self._undo.append(self.framework.after_step(self._step_ends).remove)
        if self.framework.see_programs is not None:
            self._undo.append(self.framework.see_programs(self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._undo:
            self._undo.pop()()

    @property
    def is_watching(self) -> bool:
        """Whether what happens now is the script's doing."""
        return not self._busy and threading.get_ident() == self._thread

    def _replace(self, owner: type, name: str, by: Callable[..., Any]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def watched(this: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.is_watching:
                return original(this, *args, **kwargs)
            return by(original, this, args, kwargs)

        setattr(owner, name, watched)
        self._undo.append(lambda: setattr(owner, name, original))

    def quietly(self, work: Callable[[], Any]) -> Any:
        """Do work of our own, which is no event, and return its result."""
        before, self._busy = self._busy, True
        try:
            return work()
        finally:
            self._busy = before

    def digests(self, value: Any) -> list[Digest]:
        """Return the digests of the tensors in a value."""
        return self.quietly(lambda: digests(value, self.framework.tensor, self.array))

    def array(self, tensor: Any) -> Any:
        """Return a tensor's values, or what stands for them in a program; None where it has
        none."""
        if self.scope.capture is None:
            return self.framework.array(tensor)
        snapshot = self.framework.snapshot(tensor) if self.is_in_sight() else None
        return None if snapshot is None else self.scope.keep(snapshot)

    def is_in_sight(self) -> bool:
        """Return whether what is computed now can be noted in the scope."""
        return self.framework.capture() is self.scope.capture

    def _watched_call(self, original: Any, module: Any, args: Any, kwargs: Any) -> Any:
        scope = self.scope
        if scope.stack and scope.stack[-1] is module:  # it calls itself, compiled
            return original(module, *args, **kwargs)
        if not self.is_in_sight():
            self.unseen()
            return original(module, *args, **kwargs)
        number = scope.calls
        scope.calls += 1
        outermost = not scope.stack
        if outermost:
            scope.events += 1
            scope.inside = "call"

        def proceed() -> Any:
            scope.stack.append(module)
            try:
                return original(module, *args, **kwargs)
            finally:
                scope.stack.pop()
                if outermost:
                    scope.inside = None

        return self.call(module, number, proceed, (args, kwargs))

    def _watched_backward(self, original: Any, loss: Any, args: Any, kwargs: Any) -> None:
        scope = self.scope
        if scope.stack or not self.is_in_sight():  # within a module, it is the module's affair
            original(loss, *args, **kwargs)
            return
        scope.events += 1
        scope.inside = "backward"

        def proceed() -> None:
            try:
                original(loss, *args, **kwargs)
            finally:
                scope.inside = None

        self.backward(loss, proceed)

    def _step_begins(self, optimizer: Any, *_: Any) -> None:
        scope = self.scope
        if not self.is_in_sight():
            return
        scope.updating += 1
        if scope.updating == 1:  # others are called by a wrapper's, or by a subclass's
            scope.events += 1
            scope.inside = "update"
            self.update_begins(optimizer)

    def _step_ends(self, optimizer: Any, *_: Any) -> None:
        scope = self.scope
        if not self.is_in_sight():
            return
        scope.updating -= 1
        if scope.updating == 0:
            scope.updates += 1
            scope.inside = None
            self.update_ends(optimizer)

    # --- programs

    @contextlib.contextmanager
    def within(self, capture: Any) -> Iterator[EventScope]:
        """Make the scope of a program whose function is run to capture it, in a ``with`` block."""
        outer = self.scope
        self.scope = made = EventScope(capture, list(outer.stack), outer.inside)
        try:
            self.program_begins()
            yield made
        finally:
            self.program_ends()
            self.scope = outer

    def ran(self, program: EventScope, kept: list[Any]) -> None:
        """Note that a program has run; what happened in it happened now."""
        if not self.is_watching:
            return
        arrays = self.quietly(lambda: [self.framework.array(one) for one in kept])
        self.programs += 1
        scope = self.scope
        self.program_ran(program, arrays)
        scope.updates += program.updates
        scope.events += program.events
        scope.calls += program.calls
        self.after_program()

    def after_program(self) -> None:
        """Run after ``program_ran``; what happened in the program is counted now."""

    def line(self) -> str:
        """Return the innermost line of the user's that is being executed, as ``file:number``."""
        frame = innermost(
            sys._getframe(1), lambda f: f.f_code.co_filename.startswith(self._not_the_users)
        )
        return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
