"""The operations of one event: those of a module's call, or those of the script between two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.porting.divergence.digests import digests
from torchlike.porting.divergence.framework import Framework
from torchlike.porting.divergence.watch import EnoughSeen, Watch


class Tracer(Watch):
    """Notes the operations of one part of a run, and ends the script then.

    Args:
        call: the number of the module's call whose operations are noted; those of the modules that
            it calls are not.
        before: the number of the event before which they are, from the end of the event before it.
    """

    def __init__(
        self, framework: Framework, *, call: int | None = None, before: int | None = None
    ) -> None:
        super().__init__(framework)
        self._call = call
        self._before = before
        self._mode: Any = None
        self.operations: list[dict[str, Any]] = []
        self._depth: int | None = None

    def __enter__(self) -> Tracer:
        super().__enter__()
        self._undo.append(self._stop)
        if self._before == 0:
            self._start()
        return self

    def call(self, module: Any, number: int, proceed: Callable[[], Any], given: Any) -> Any:
        if not self.stack:
            self._event_begins()
        if number != self._call:
            result = proceed()
            if not self.stack:
                self._event_ends()
            return result
        self._depth = len(self.stack) + 1
        self._start()
        try:
            return proceed()
        finally:
            self._stop()

    def backward(self, loss: Any, proceed: Callable[[], None]) -> None:
        self._event_begins()
        proceed()
        self._event_ends()

    def update_begins(self, optimizer: Any) -> None:
        self._event_begins()

    def update_ends(self, optimizer: Any) -> None:
        self._event_ends()

    def _event_begins(self) -> None:
        if self._before is not None and self.events == self._before + 1:
            # The mode is left as the exception arrives outside: backward() may come from within it.
            raise EnoughSeen
        if self._call is not None and self._depth is not None:
            raise EnoughSeen

    def _event_ends(self) -> None:
        if self._before is not None and self.events == self._before:
            self._start()

    def _start(self) -> None:
        note = self._note

        class Noting(self.framework.function_mode):  # type: ignore[name-defined]
            def __torch_function__(
                self, func: Any, types: Any, args: Any = (), kwargs: Any = None
            ) -> Any:
                return note(func, args, kwargs or {})

        self._mode = Noting()
        self._mode.__enter__()

    def _stop(self) -> None:
        if self._mode is not None:
            mode, self._mode = self._mode, None
            mode.__exit__(None, None, None)

    def _note(self, func: Any, args: Any, kwargs: Any) -> Any:
        if self._busy or (self._depth is not None and len(self.stack) > self._depth):
            return func(*args, **kwargs)
        given = self._digests((args, kwargs))
        result = func(*args, **kwargs)
        gives = [one for one in self._digests(result) if "shape" in one]
        if gives:
            self.operations.append(
                {
                    "name": self.framework.name_of(func) or getattr(func, "__name__", str(func)),
                    "line": self.line(),
                    "inputs": [one for one in given if "shape" in one],
                    "arguments": [one["value"] for one in given if "value" in one],
                    "outputs": gives,
                }
            )
        return result

    def _digests(self, value: Any) -> list[dict[str, Any]]:
        return self.quietly(lambda: digests(value, self.framework.tensor, self.framework.array))
