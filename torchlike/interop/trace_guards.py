"""`TraceGuards`: guards for functions outside ``jit`` that are traced once and then kept.

An operation made of a user's JAX function keeps its trace, in which such values are frozen. What it
read is therefore compared when the trace is to be used again, and handed on to a capture that uses
it, whose program depends on the same values.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

from torchlike._core import modes
from torchlike._jit.capture.frame_observer import FrameObserver
from torchlike._jit.guards.guard import ValueGuard, describe


class TraceGuards:
    """The guards on what the traces of one function read."""

    def __init__(self) -> None:
        self._guards: dict[Any, ValueGuard] = {}

    @contextlib.contextmanager
    def watching(self) -> Generator[None]:
        """Guard what the function reads in a trace, within a `with` block. RuntimeError where a
        value that an earlier one read has changed since: the backward pass would belong to another
        function than the forward did."""
        changed = [p for p in self._guards.values() if not p.check()]
        if changed:
            guard = changed[0]
            raise RuntimeError(
                f"`{guard.label}`, which the function read in its forward pass, changed before its "
                f"first backward pass: {describe(guard.before())} → {describe(guard.now())}. Pass "
                "it as an argument"
            )
        observer = FrameObserver()
        # The collector's youngest generation is a running capture's own.
        observer.start(collect=not modes.is_capturing())
        try:
            yield
            observer.settle()
        finally:
            observer.stop()
        for key, guard in observer.guards.items():
            if guard.check():  # what the function changes, JAX's functions change once a trace
                self._guards.setdefault(key, guard)

    def check(self) -> bool:
        """Return whether every value is what it was."""
        for guard in self._guards.values():  # noqa: SIM110 - a generator costs 0.3 µs more
            if not guard.check():
                return False
        return True

    def hand_on(self) -> None:
        """Let a running capture depend on these values, too."""
        if modes.is_capturing():
            for key, guard in self._guards.items():
                modes.the_capture().observer.guards.setdefault(key, guard)
