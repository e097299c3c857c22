"""Finds the steps and the losses of an unmodified training script, and times the steps.

``optimizer.step()`` ends a step; ``loss.backward()`` on a tensor of one element shows a loss. In a
script without optimizers, ``backward()`` ends a step. The first step begins with the first forward
or backward call. A compiled function that holds a whole step makes none of these calls once it is
compiled: each call of it then counts as one step, the one-element tensor it returns as the loss.

Standard library only: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MethodType
from typing import Any


@dataclass(frozen=True)
class Framework:
    """What the recorder needs to know about PyTorch, or about torchlike in its place."""

    tensor: type
    module: type
    optimizer: type
    #: Where the functions that compile are to be found: an object and the name of its attribute.
    compilers: tuple[tuple[Any, str], ...]
    #: The value of a one-element tensor in a form that later writes don't change; None when there
    #: is no value (the tensor stands for one in a program that is being compiled).
    keep: Callable[[Any], Any]
    #: Reads what ``keep`` gave. Waits until it has been computed.
    read: Callable[[Any], float]


@dataclass
class Recorder:
    """Times of steps and values of losses of the script that runs in this process."""

    framework: Framework
    clock: Callable[[], float] = time.perf_counter
    start: float | None = None
    step_ends: list[float] = field(default_factory=list)
    backward_ends: list[float] = field(default_factory=list)
    losses: list[Any] = field(default_factory=list)
    _stepping: bool = False
    _in_region: bool = False

    def install(self) -> None:
        """Hook into the framework's classes, for the rest of this process."""
        self._hook_forward()
        self._hook_backward()
        self._hook_optimizers()
        for owner, name in self.framework.compilers:
            self._hook_compiler(owner, name)

    def result(self) -> dict[str, Any]:
        """The first step and the later ones in seconds, and the losses: numbers fit for JSON."""
        ends = self.step_ends or self.backward_ends
        times = []
        if ends and self.start is not None:
            times = [end - begin for begin, end in zip([self.start, *ends], ends, strict=False)]
        return {
            "first_step": times[0] if times else None,
            "steps": times[1:],
            "losses": [self.framework.read(loss) for loss in self.losses],
        }

    def _begin(self) -> None:
        if self.start is None:
            self.start = self.clock()

    def _hook_forward(self) -> None:
        module = self.framework.module
        call = module.__call__

        @functools.wraps(call)
        def first_call(this: Any, *args: Any, **kwargs: Any) -> Any:
            module.__call__ = call  # only the first forward is of interest
            self._begin()
            return call(this, *args, **kwargs)

        module.__call__ = first_call

    def _hook_backward(self) -> None:
        tensor = self.framework.tensor
        backward = tensor.backward

        @functools.wraps(backward)
        def recorded_backward(loss: Any, *args: Any, **kwargs: Any) -> None:
            self._begin()
            if loss.numel() == 1:
                kept = self.framework.keep(loss)
                if kept is not None:
                    self.losses.append(kept)
            backward(loss, *args, **kwargs)
            self.backward_ends.append(self.clock())
            self._catch_up()

        tensor.backward = recorded_backward

    def _hook_optimizers(self) -> None:
        optimizer = self.framework.optimizer
        init = optimizer.__init__

        @functools.wraps(init)
        def recorded_init(this: Any, *args: Any, **kwargs: Any) -> None:
            init(this, *args, **kwargs)
            # Each class has a step of its own, and classes may be defined at any time.
            cls = type(this)
            if "_recorded" not in cls.step.__dict__:
                cls.step = self._recorded_step(cls.step)

        optimizer.__init__ = recorded_init

    def _recorded_step(self, step: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(step)
        def recorded_step(this: Any, *args: Any, **kwargs: Any) -> Any:
            if self._stepping:  # called by the step of a subclass or of a wrapper
                return step(this, *args, **kwargs)
            self._stepping = True
            self._begin()
            try:
                return step(this, *args, **kwargs)
            finally:
                self._stepping = False
                self.step_ends.append(self.clock())

        recorded_step._recorded = True  # type: ignore[attr-defined]
        return recorded_step

    def _hook_compiler(self, owner: Any, name: str) -> None:
        compile_ = getattr(owner, name)

        @functools.wraps(compile_)
        def recorded_compile(*args: Any, **kwargs: Any) -> Any:
            result = compile_(*args, **kwargs)
            if args or not kwargs.keys().isdisjoint(("model", "fn")):
                return self._as_region(result)
            return lambda fn: self._as_region(result(fn))  # compile(option=...)(fn)

        setattr(owner, name, recorded_compile)

    def _as_region(self, compiled: Any) -> Any:
        # A compiled module stays a module. Its optimizer's step is outside it anyway.
        is_module = isinstance(compiled, self.framework.module)
        return compiled if is_module else _Region(self, compiled)

    def run_region(self, region: _Region, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``region``; if it holds steps, count the call as one, compiled or not."""
        if self._in_region:
            return region.call(*args, **kwargs)
        ends_before = {id(ends): len(ends) for ends in (self.step_ends, self.backward_ends)}
        losses_before = len(self.losses)
        self._begin()
        self._in_region = True
        try:
            result = region.call(*args, **kwargs)
        finally:
            self._in_region = False
        now = self.clock()
        for ends in (self.step_ends, self.backward_ends):
            before = ends_before[id(ends)]
            if len(ends) > before:
                region.ends.add(id(ends))
            if id(ends) in region.ends:
                ends[before:] = [now]
        if region.ends:
            loss = self._loss_in(result)
            if loss is not None:
                self.losses[losses_before:] = [loss]
            self._catch_up()
        return result

    def _loss_in(self, result: Any) -> Any:
        for value in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(value, self.framework.tensor) and value.numel() == 1:
                return self.framework.keep(value)
        return None

    def _catch_up(self) -> None:
        """Wait for the loss before the last one.

        Work is queued: a script that reads no result could be many steps ahead of the computation,
        and the time between steps would be that of queueing. Two steps of lead keep the overlap.
        """
        if len(self.losses) > 2:
            self.framework.read(self.losses[-3])


class _Region:
    """A compiled function, in all other respects itself: attributes and binding as a method."""

    def __init__(self, recorder: Recorder, call: Callable[..., Any]) -> None:
        self.recorder = recorder
        self.call = call
        #: Which of the recorder's lists a call of this function has been seen to lengthen.
        self.ends: set[int] = set()
        functools.update_wrapper(self, call, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.recorder.run_region(self, args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.call, name)
