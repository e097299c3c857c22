"""The operations of one event: those of a module's call, those of the script between two, those of
an update, or those whose gradients a backward pass computes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from torchlike.porting.divergence.digests import digests
from torchlike.porting.divergence.framework import WatchedFramework
from torchlike.porting.divergence.scope import EventScope, resolved
from torchlike.porting.divergence.values import MOST_ELEMENTS, held, noted, written
from torchlike.porting.divergence.watch import EnoughSeen, EventWatch

_OWN = str(Path(__file__).parent)


class OperationTracer(EventWatch):
    """Notes the operations of one part of a run, and ends the script then.

    Args:
        call: the number of the module's call whose operations are noted; those of the modules that
            it calls are not.
        within: its number in the program that the call is in.
        before: the number of the event before which they are, from the end of the event before it.
        update: the number of the update in which they are.
        backward: the number of the backward pass that computes their gradients, which are noted.
        since: the number of the event after which they are.
        values_of: name and line of the operations whose values are noted, too.
    """

    def __init__(
        self,
        framework: WatchedFramework,
        *,
        call: int | None = None,
        within: int | None = None,
        before: int | None = None,
        update: int | None = None,
        backward: int | None = None,
        since: int = -1,
        values_of: Sequence[str] = (),
    ) -> None:
        super().__init__(framework)
        self._call = call
        self._within = within
        self._before = before
        self._update = update
        self._backward = backward
        self._since = since
        self._values_of = list(values_of)
        self._mode: Any = None
        #: The mode outside of the program that is being captured.
        self._outer_mode: Any = None
        #: Functions that the mode has been told of and that run now: backward() may be one.
        self._handling = 0
        self._depth: int | None = None
        #: Files that stand between a call of a function and what a mode sees of it.
        self._between = (_OWN, *framework.dispatch)

    @property
    def operations(self) -> list[dict[str, Any]]:
        """What was noted, in the order of execution."""
        return self.scope.operations

    def result(self) -> dict[str, Any]:
        """Return everything that was noted: numbers and words fit for JSON."""
        for one in self.scope.operations:
            if "values" in one:
                for name in ("takes", "gives"):
                    one["values"][name] = [self.scope.held.get(n) for n in one[name]]
                one["values"] = written(one["values"])
        return {"operations": self.scope.operations, "gradients": self.scope.gradients}

    def __enter__(self) -> OperationTracer:
        super().__enter__()
        self._undo.append(self._stop)
        if self._backward is not None:
            self._see_functions()
        self._start_or_stop()
        return self

    # --- which operations

    def _is_wanted(self) -> bool:
        """Return whether an operation would be noted now. In a program, the number of the event
        that it belongs to is looked at where the program has run."""
        scope = self.scope
        if self._call is not None:
            return self._depth is not None and len(scope.stack) == self._depth
        return self._fits(scope.events, scope.inside, anywhere=scope.capture is not None)

    def _fits(self, events: int, inside: str | None, *, anywhere: bool = False) -> bool:
        if self._before is not None:
            return inside is None and (anywhere or events == self._before)
        if self._update is not None:
            return inside == "update" and (anywhere or events == self._update + 1)
        assert self._backward is not None
        is_forward = inside in (None, "call")
        return is_forward and (anywhere or self._since + 1 <= events <= self._backward)

    def _is_over(self) -> bool:
        """Return whether all that is traced has happened. (Exceptions only arise outside of
        programs.)"""
        last = next(
            (n for n in (self._before, self._update, self._backward) if n is not None), None
        )
        if last is None or self.scope.capture is not None:
            return False
        # The operations before an event are over as it begins, those in it as it ends.
        return self.scope.events > last and (self._before is not None or self.scope.inside is None)

    def _start_or_stop(self) -> None:
        if self._is_over():
            # The mode is left as the exception arrives outside: backward() may come from within it.
            raise EnoughSeen
        scope = self.scope
        if scope.capture is not None or self._handling:
            return  # a program has its mode from its begin to its end; in its own call it is off
        wanted = self._depth is not None if self._call is not None else self._is_wanted()
        (self._start if wanted else self._stop)()

    # --- events

    def call(self, module: Any, number: int, proceed: Callable[[], Any], given: Any) -> Any:
        scope = self.scope
        outermost = not scope.stack
        if outermost:
            self._start_or_stop()
        if self._call is not None:
            return self._one_call(number, proceed)
        entry: dict[str, Any] = {}
        if self._wants_all():
            entry = self._entered(f"{type(module).__qualname__}()", given)
            entry["is_module"] = True
        result = proceed()
        if entry:
            entry["gives"] = self._places(result, anew=True)
        if outermost:
            self._start_or_stop()
        return result

    def _wants_all(self) -> bool:
        return self._backward is not None and self._is_wanted() and self.is_in_sight()

    def _one_call(self, number: int, proceed: Callable[[], Any]) -> Any:
        scope = self.scope
        wanted = self._call if scope.capture is None else self._within
        if self._depth is not None or number != wanted:
            return proceed()
        self._depth = len(scope.stack) + 1
        self._start_or_stop()
        try:
            result = proceed()
        finally:
            self._depth = None
            self._start_or_stop()
        if scope.capture is None and self._within is None:
            raise EnoughSeen
        return result

    def backward(self, loss: Any, proceed: Callable[[], None]) -> None:
        self._start_or_stop()
        proceed()
        self._start_or_stop()

    def update_begins(self, optimizer: Any) -> None:
        self._start_or_stop()

    def update_ends(self, optimizer: Any) -> None:
        self._start_or_stop()

    # --- programs

    def program_begins(self) -> None:
        self._outer_mode, self._mode = self._mode, None
        if self._call is None or self._within is not None:
            self._start()

    def program_ends(self) -> None:
        self._stop()
        self._mode = self._outer_mode
        for remove in self.scope.remove:
            remove()

    def program_ran(self, program: EventScope, arrays: list[np.ndarray | None]) -> None:
        scope = self.scope
        if self._call is not None:
            if scope.calls <= self._call < scope.calls + program.calls:
                scope.operations = resolved(program.operations, arrays)
                raise EnoughSeen
            return
        first = len(scope.gradients)
        scope.gradients += resolved(program.gradients, arrays)
        scope.held.update((first + n, one) for n, one in resolved(program.held, arrays).items())
        for one in resolved(program.operations, arrays):
            if self._fits(scope.events + one["events"], one["inside"]):
                for name in ("takes", "gives"):
                    one[name] = [n if n is None else n + first for n in one[name]]
                scope.operations.append(one)

    def after_program(self) -> None:
        self._start_or_stop()

    @contextlib.contextmanager
    def around_compiled(self) -> Iterator[None]:
        was_on = self._mode is not None and not self._handling
        if was_on:
            self._stop()  # what a mode sees runs eagerly
        yield
        if was_on:
            self._start()

    # --- the mode

    def _start(self) -> None:
        if self._mode is not None:
            return
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
        self._handling += 1
        try:
            return self._handle(func, args, kwargs)
        finally:
            self._handling -= 1

    def _handle(self, func: Any, args: Any, kwargs: Any) -> Any:
        if not self.is_watching or not self._is_wanted() or not self.is_in_sight():
            return func(*args, **kwargs)
        own = getattr(func, "__name__", str(func))
        name = self.framework.name_of(func) or own
        return self._noted(name, (args, kwargs), lambda: func(*args, **kwargs), own)

    def _noted(self, name: str, given: Any, proceed: Callable[[], Any], own: str = "") -> Any:
        """Execute an operation and note it; return its result."""
        entry = self._entered(name, given, own)
        try:
            result = proceed()
        except BaseException:
            self._drop(entry)
            raise
        self._left(entry, result)
        return result

    def _entered(self, name: str, given: Any, own: str = "") -> dict[str, Any]:
        """Enter a note of an operation that is about to be executed, and return it. ``own``: the
        function's own name."""
        scope = self.scope
        found = self.digests(given)
        entry = {
            "name": name,
            "line": self.line(),
            "direct": self._is_users_doing(own),
            "events": scope.events,
            "inside": scope.inside,
            "inputs": [one for one in found if "shape" in one],
            "arguments": [one["value"] for one in found if "value" in one],
            "takes": self._places(given),
            "gives": [],
            "outputs": [],
            "is_module": False,
        }
        if [name, entry["line"]] == self._values_of:
            self._note_values(entry, given)
        scope.operations.append(entry)
        return entry

    def _note_values(self, entry: dict[str, Any], given: Any) -> None:
        if sum(tensor.numel() for tensor in self._tensors(given)) <= MOST_ELEMENTS:
            what = self.quietly(lambda: noted(given, self.framework.tensor, self.array))
            entry["values"] = {"given": what, "outputs": []}
            self.scope.wanted.update(n for n in entry["takes"] if n is not None)

    def _left(self, entry: dict[str, Any], result: Any) -> None:
        entry["outputs"] = [one for one in self.digests(result) if "shape" in one]
        entry["gives"] = self._places(result, anew=True)
        if "values" in entry:
            tensors = self._tensors(result)
            entry["values"]["outputs"] = self.quietly(
                lambda: [held(t, self.array) for t in tensors]
            )
            self.scope.wanted.update(n for n in entry["gives"] if n is not None)
        if not entry["outputs"]:
            self._drop(entry)

    def _drop(self, entry: dict[str, Any]) -> None:
        operations = self.scope.operations
        del operations[next(i for i, one in enumerate(operations) if one is entry)]

    def _is_users_doing(self, own: str) -> bool:
        """Return whether the user's code calls an operation itself, and no function of the
        framework's."""
        frame = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if not code.co_filename.startswith(self._not_the_users):
                return True
            if code.co_name != own and not code.co_filename.startswith(self._between):
                return False
            frame = frame.f_back  # type: ignore[assignment]
        return False

    # --- gradients

    def _places(self, value: Any, *, anew: bool = False) -> list[int | None]:
        """Return, for each tensor in ``value``, where its gradient will be; None where it wants
        none.

        ``anew``: an operation gave it, perhaps by a write in place.
        """
        if self._backward is None:
            return []
        return self.quietly(lambda: [self._place(t, anew) for t in self._tensors(value)])

    def _tensors(self, value: Any) -> list[Any]:
        found: list[Any] = []
        digests(value, self.framework.tensor, lambda tensor: found.append(tensor))
        return found

    def _place(self, tensor: Any, anew: bool) -> int | None:
        scope = self.scope
        if not tensor.requires_grad:
            return None
        known = scope.places.get(id(tensor))
        if known is not None and not anew:
            return known[1]
        place = len(scope.gradients)
        scope.gradients.append(None)
        scope.places[id(tensor)] = tensor, place

        def arrived(gradient: Any) -> None:
            if self.scope is scope and self.is_in_sight():
                scope.gradients[place] = self.digests(gradient)[0]
                if place in scope.wanted:
                    scope.held[place] = self.quietly(lambda: held(gradient, self.array))

        scope.remove.append(tensor.register_hook(arrived).remove)
        return place

    def _see_functions(self) -> None:
        """Note calls of ``autograd.Function``: they are no functions that a mode sees."""
        function = self.framework.function
        original = function.__dict__["apply"]
        tracer = self

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            def proceed() -> Any:
                return original.__get__(None, cls)(*args, **kwargs)

            if not tracer.is_watching or not tracer._wants_all():
                return proceed()
            return tracer._noted(cls.__qualname__, (args, kwargs), proceed)

        function.apply = classmethod(apply)  # type: ignore[attr-defined]
        self._undo.append(lambda: setattr(function, "apply", original))
