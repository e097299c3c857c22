"""Lets an ``EventWatch`` see into compiled functions: what is noted as one is captured comes out of
its program, beside its result, at each call.

So the program has more results than the one that runs without a watch, and XLA fuses less.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import torchlike
from torchlike._core import modes
from torchlike._jit.call.function import JitFunction
from torchlike._jit.call.tracer import FunctionTracer
from torchlike._runtime.first_calls.statistics import compiled_pieces
from torchlike.porting.divergence.scope import EventScope
from torchlike.porting.divergence.watch import EventWatch
from torchlike.tensor import Tensor


class Seen(NamedTuple):
    """What a program gives that was captured under a watch."""

    result: Any
    #: Of the notes that its capture made.
    number: int
    kept: tuple[Tensor, ...]


def capture() -> Any:
    """Return the capture that captures a program, or a part of one, now; None without one."""
    return modes.current.capture


def values(tensor: Tensor) -> np.ndarray:
    """Return a tensor's values; RuntimeError under a transformation, as in PyTorch."""
    if modes.current.levels:
        raise RuntimeError("a tensor of a transformation has no values")
    return np.asarray(tensor.jax())


def snapshot(tensor: Tensor) -> Tensor | None:
    """Copy a tensor, as one of the program's with the same value; None under a transformation."""
    if modes.current.levels or tensor.is_meta or tensor.layout != torchlike.strided:
        return None
    with torchlike.no_grad():
        return tensor.detach().clone()


def see(watch: EventWatch) -> Callable[[], None]:
    """Let ``watch`` see into programs, until what is given back is called."""
    scopes: list[EventScope] = []

    def opened(given: Any) -> Any:
        """Return the result of a call, telling the watch where a program ran: the program's, or the
        function's own where it ran eagerly."""
        if type(given) is not Seen:
            return given
        watch.ran(scopes[given.number], list(given.kept))
        return given.result

    def noting(fn: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            if not watch.is_watching:
                return fn(*args, **kwargs)
            with watch.within(capture()) as scope:
                result = fn(*args, **kwargs)
            scopes.append(scope)
            return Seen(result, len(scopes) - 1, tuple(scope.kept))

        return noted

    def traced(original: Any, tracer: FunctionTracer, *what: Any) -> Any:
        run = original(tracer, *what)
        run.fn = noting(run.fn)
        return run

    def ran(original: Any, function: JitFunction, *what: Any) -> Any:
        return opened(original(function, *what))

    def called(original: Any, function: JitFunction, *args: Any, **kwargs: Any) -> Any:
        if modes.is_capturing() or not watch.is_watching:
            return original(function, *args, **kwargs)
        with watch.around_compiled():
            return original(function, *args, **kwargs)

    before = len(compiled_pieces)

    def count_pieces() -> None:
        watch.programs += len(compiled_pieces) - before

    undo = [
        count_pieces,
        _exchange(FunctionTracer, "_tracing", traced),
        _exchange(JitFunction, "_run", ran),
        _exchange(JitFunction, "_first_run", ran),
        _exchange(JitFunction, "__call__", called),
        functools.partial(torchlike.jit.set_warmup, None),
    ]
    torchlike.jit.set_warmup(0)  # what is compiled is seen compiled, from its first call on

    def stop() -> None:
        for one in undo:
            one()

    return stop


def watch_marks() -> Callable[[], bool]:
    """EventWatch from now on what is given to a compiler; what is returned says whether any was."""
    marked = False

    def noticed(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def compiler(*args: Any, **kwargs: Any) -> Any:
            nonlocal marked
            marked = True
            return original(*args, **kwargs)

        return compiler

    owners = ((torchlike, "compile"), (torchlike.jit, "jit"), (torchlike.nn.Module, "compile"))
    for owner, name in owners:
        setattr(owner, name, noticed(getattr(owner, name)))
    return lambda: marked


def _exchange(owner: type, name: str, by: Callable[..., Any]) -> Callable[[], None]:
    original = getattr(owner, name)

    @functools.wraps(original)
    def instead(this: Any, *args: Any, **kwargs: Any) -> Any:
        return by(original, this, *args, **kwargs)

    setattr(owner, name, instead)
    return lambda: setattr(owner, name, original)
