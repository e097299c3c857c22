"""Finds the steps and the losses of an unmodified training script, and times the steps.

``optimizer.step()`` ends a step; ``loss.backward()`` on a tensor of one element shows a loss. In a
script without optimizers, ``backward()`` ends a step. The first step begins with the first forward
or backward call. A compiled function that holds a whole step makes none of these calls once it is
compiled: each call of it then counts as one step, the one-element tensor it returns as the loss.
The clock stands still while a DataLoader loads. A loss that a GradScaler has scaled counts as it
was before.

`torchlike.porting.divergence` has hooks of its own (`EventWatch`): it notes the values of every
call, backward pass and update, and reads them at once, which takes time that must not be in what is
timed here. This one lets go of modules after the first call, and reads losses when all is over.

Standard library only: the process that runs a script with real PyTorch uses it too.
"""

from __future__ import annotations

import functools
import math
import statistics
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from types import MethodType
from typing import Any

from torchlike.porting.step_finder import StepFinder


@dataclass(frozen=True)
class RecordedFramework:
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
    #: Waits until the parameters of an optimizer have been computed.
    wait: Callable[[Any], None] = lambda optimizer: None
    #: The class whose ``scale`` multiplies losses.
    scaler: type | None = None
    #: The methods in which data are loaded: a class and the name of its attribute.
    loading: tuple[tuple[type, str], ...] = ()
    #: Keeps a function of the recorder's out of the compiler's sight, but not what it calls.
    untraced: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda function: function


#: Losses that were scaled and not yet backward's: more than these are not backward's, ever.
_MOST_SCALED = 8


@dataclass
class Recorder:
    """Times of steps and values of losses of the script that runs in this process."""

    framework: RecordedFramework
    clock: Callable[[], float] = time.perf_counter
    #: Looks for the function that is a whole step.
    finder: StepFinder = field(default_factory=lambda: StepFinder(looking=False))
    start: float | None = None
    step_ends: list[float] = field(default_factory=list)
    backward_ends: list[float] = field(default_factory=list)
    losses: list[Any] = field(default_factory=list)
    #: How many losses there were at the end of each update, and which a function returned.
    updates: list[int] = field(default_factory=list)
    returned: set[int] = field(default_factory=set)
    #: Seconds in which data were loaded.
    loaded: float = 0.0
    #: The functions and modules that the script gave to a compiler.
    marked: dict[str, Any] = field(default_factory=dict)
    #: What calls of those functions hold: backward passes, updates, or both.
    held: dict[str, set[int]] = field(default_factory=dict)
    _stepping: bool = False
    _in_region: bool = False
    _loading: bool = False
    _optimizers: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet)
    #: What ``scale`` gave, and the value of what it was given.
    _scaled: list[tuple[Any, Any]] = field(default_factory=list)
    #: The losses within a function that gives them back beside its result.
    _given: list[Any] | None = None
    _thread: int = field(default_factory=threading.get_ident)

    def install(self) -> None:
        """Hook into the framework's classes, for the rest of this process."""
        self._hook_forward()
        self._hook_backward()
        self._hook_optimizers()
        self._hook_scaler()
        for owner, name in self.framework.loading:
            self._hook_loading(owner, name)
        for owner, name in self.framework.compilers:
            self._hook_compiler(owner, name)
        self._hook_compile_in_place()

    def result(self) -> dict[str, Any]:
        """Return the first step and the later ones in seconds, and the losses: numbers fit for
        JSON."""
        ends = self.step_ends or self.backward_ends
        times = []
        if ends and self.start is not None:
            times = [end - begin for begin, end in zip([self.start, *ends], ends, strict=False)]
        return {
            "first_step": times[0] if times else None,
            "steps": times[1:],
            "losses": self._losses_of_updates(),
            "passes": self._passes(),
            "loaded": self.loaded,
            "marked": list(self.marked),
            "whole_steps": self._whole_steps(),
            "fell_back": self._fell_back(),
            "step_function": self.finder.result(),
        }

    def _losses_of_updates(self) -> list[float]:
        """Return a loss for each update: the sum of what its backward passes began with, each of
        which has its share of the gradient, or the mean of what functions returned for them.
        Without updates return that of each backward pass."""
        values = [self.framework.read(loss) for loss in self.losses]
        found = []
        for begin, end in self._spans():
            total = math.fsum(values[begin:end])
            mean = self.returned.issuperset(range(begin, end))
            found.append(total / (end - begin) if mean else total)
        return found or values

    def _spans(self) -> list[tuple[int, int]]:
        """Return from where to where the losses of each update are, of those that have any."""
        pairs = zip([0, *self.updates], self.updates, strict=False)
        return [(begin, end) for begin, end in pairs if begin < end]

    def _passes(self) -> int:
        """Return how many backward passes an update follows, as a rule."""
        return round(statistics.median([end - begin for begin, end in self._spans()] or [1]))

    def _whole_steps(self) -> list[str]:
        """Return the functions whose calls hold all that a step is: backward, and the update where
        there is one."""
        needed = {id(self.backward_ends), *([id(self.step_ends)] if self.step_ends else [])}
        return [name for name, held in self.held.items() if held >= needed]

    def _fell_back(self) -> dict[str, str]:
        """Return which of what was marked ran eagerly after all, and the first line of why."""
        reasons = {name: getattr(made, "fell_back", None) for name, made in self.marked.items()}
        return {
            name: str(next(iter(why.values()))).strip().partition("\n")[0]
            for name, why in reasons.items()
            if isinstance(why, dict) and why
        }

    def _now(self) -> float:
        """Return the time, without that in which data were loaded."""
        return self.clock() - self.loaded

    def _begin(self) -> None:
        if self.start is None:
            self.start = self._now()

    def _hook_forward(self) -> None:
        module = self.framework.module
        call = module.__call__

        @functools.wraps(call)
        def first_call(this: Any, *args: Any, **kwargs: Any) -> Any:
            self._begin()
            self.finder.forward()
            if not self.finder.looking:
                module.__call__ = call  # later forwards are of no interest
            return call(this, *args, **kwargs)

        module.__call__ = self.framework.untraced(first_call)

    def _hook_backward(self) -> None:
        tensor = self.framework.tensor
        backward = tensor.backward

        @functools.wraps(backward)
        def recorded_backward(loss: Any, *args: Any, **kwargs: Any) -> None:
            self._begin()
            self.finder.backward()
            if loss.numel() == 1:
                kept = self._unscaled(loss)
                if kept is not None:
                    (self.losses if self._given is None else self._given).append(kept)
            backward(loss, *args, **kwargs)
            self.backward_ends.append(self._now())
            self._catch_up()

        tensor.backward = self.framework.untraced(recorded_backward)

    def _hook_optimizers(self) -> None:
        optimizer = self.framework.optimizer
        init = optimizer.__init__

        @functools.wraps(init)
        def recorded_init(this: Any, *args: Any, **kwargs: Any) -> None:
            init(this, *args, **kwargs)
            self._optimizers.add(this)
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
                self.step_ends.append(self._now())
                self.updates.append(len(self.losses))
                self.finder.update()

        found: Any = self.framework.untraced(recorded_step)
        found._recorded = True
        return found

    def _hook_scaler(self) -> None:
        scaler = self.framework.scaler
        if scaler is None:
            return
        scale = scaler.scale  # type: ignore[attr-defined]

        @functools.wraps(scale)
        def recorded_scale(this: Any, outputs: Any) -> Any:
            scaled = scale(this, outputs)
            if isinstance(outputs, self.framework.tensor) and outputs.numel() == 1:
                kept = self._value(outputs)
                if kept is not None:
                    self._scaled = [*self._scaled[1 - _MOST_SCALED :], (scaled, kept)]
            return scaled

        scaler.scale = self.framework.untraced(recorded_scale)  # type: ignore[attr-defined]

    def _unscaled(self, loss: Any) -> Any:
        """Take the value that was kept of what ``loss`` is a scaled form of; else return the value
        of ``loss``."""
        for i, (scaled, kept) in enumerate(self._scaled):
            if scaled is loss:
                del self._scaled[i]
                return kept
        return self._value(loss)

    def _value(self, loss: Any) -> Any:
        """Return the value in the form that is kept, or in a function that gives back losses, the
        loss."""
        return self.framework.keep(loss) if self._given is None else loss.detach()

    def _hook_loading(self, owner: type, name: str) -> None:
        load = getattr(owner, name)

        @functools.wraps(load)
        def recorded_load(this: Any, *args: Any, **kwargs: Any) -> Any:
            # What another thread loads, or a loader within a loader, takes no time of its own.
            if self._loading or threading.get_ident() != self._thread:
                return load(this, *args, **kwargs)
            # Work is queued: what of the step before is still under way is the step's.
            for optimizer in self._optimizers:
                self.framework.wait(optimizer)
            begin = self.clock()
            self._loading = True
            try:
                return load(this, *args, **kwargs)
            finally:
                self._loading = False
                self.loaded += self.clock() - begin

        setattr(owner, name, recorded_load)

    def _hook_compile_in_place(self) -> None:
        module = self.framework.module
        compile_ = getattr(module, "compile", None)
        if compile_ is None:
            return

        @functools.wraps(compile_)
        def recorded_compile(this: Any, *args: Any, **kwargs: Any) -> Any:
            self.marked.setdefault(_name(this), this)
            return compile_(this, *args, **kwargs)

        module.compile = recorded_compile  # type: ignore[attr-defined]

    def _hook_compiler(self, owner: Any, name: str) -> None:
        compile_ = getattr(owner, name)

        @functools.wraps(compile_)
        def recorded_compile(*args: Any, **kwargs: Any) -> Any:
            result = compile_(*args, **kwargs)
            given = [*args, *(kwargs[key] for key in ("model", "fn") if key in kwargs)]
            if given and given[0] is not None:
                return self._as_region(given[0], result)
            return lambda fn: self._as_region(fn, result(fn))  # compile(option=...)(fn)

        setattr(owner, name, recorded_compile)

    def _as_region(self, given: Any, compiled: Any) -> Any:
        self.marked[_name(given)] = compiled
        # A compiled module stays a module. Its optimizer's step is outside it anyway.
        is_module = isinstance(compiled, self.framework.module)
        return compiled if is_module else _CompiledRegion(self, compiled)

    def whole_step(self, function: Callable[..., Any]) -> Any:
        """Compile ``function``, which holds a whole step.

        Its losses are those of ``backward()``, which a program gives back beside the result: what
        the function itself returns may be anything.
        """

        def with_losses(*args: Any, **kwargs: Any) -> Any:
            self._given = []
            try:
                return function(*args, **kwargs), self._given
            finally:
                self._given = None

        for name in ("__name__", "__qualname__", "__doc__"):
            setattr(with_losses, name, getattr(function, name))
        owner, name = self.framework.compilers[0]
        region = getattr(owner, name)(with_losses)
        region.gives_losses = True
        return region

    def run_region(
        self, region: _CompiledRegion, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call ``region``; if it holds steps, count the call as one, compiled or not."""
        if self._in_region:
            return region.call(*args, **kwargs)
        ends_before = {id(ends): len(ends) for ends in (self.step_ends, self.backward_ends)}
        losses_before, updates_before = len(self.losses), len(self.updates)
        self._begin()
        self._in_region = True
        try:
            result = region.call(*args, **kwargs)
        finally:
            self._in_region = False
        losses = None
        if region.gives_losses:
            result, losses = result
        now = self._now()
        for ends in (self.step_ends, self.backward_ends):
            before = ends_before[id(ends)]
            if len(ends) > before:
                region.ends.add(id(ends))
            if id(ends) in region.ends:
                ends[before:] = [now]
        if region.ends:
            self.held[_name(region.call)] = region.ends
            if losses is not None:
                self.losses[losses_before:] = map(self.framework.keep, losses)
            elif (
                id(self.backward_ends) in region.ends
                and (loss := self._loss_in(result)) is not None
            ):
                self.losses[losses_before:] = [loss]
                self.returned.add(losses_before)
            if id(self.step_ends) in region.ends:
                self.updates[updates_before:] = [len(self.losses)]
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


def _name(compiled: Any) -> str:
    """Return the user's name of a function, or that of the class of a module."""
    return getattr(compiled, "__qualname__", type(compiled).__name__)


class _CompiledRegion:
    """A compiled function, in all other respects itself: attributes and binding as a method."""

    def __init__(self, recorder: Recorder, call: Callable[..., Any]) -> None:
        self.recorder = recorder
        self.call = call
        #: Which of the recorder's lists a call of this function has been seen to lengthen.
        self.ends: set[int] = set()
        #: Whether it gives a result and its losses.
        self.gives_losses = False
        functools.update_wrapper(self, call, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.recorder.run_region(self, args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.call, name)
