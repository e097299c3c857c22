"""``torch.utils.checkpoint``: keep a region's inputs and compute its inside again for backward.

Without reentrance a region is recorded as always, but what its nodes save is replaced by a place
holder (saved-tensor hooks). The first holder that backward asks for runs the function again, up to
the last tensor wanted. Regions nest: an inner region's inputs are saved by the outer one's hooks.
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from torchlike._core import modes
from torchlike._core.tape import saving
from torchlike._runtime.frames import users_frame
from torchlike._runtime.reference import follows
from torchlike.autograd import Function, backward, enable_grad, no_grad
from torchlike.autograd.graph import saved_tensors_hooks
from torchlike.tensor import Tensor, wrap
from torchlike.utils.checkpoint_parts import (
    DefaultDeviceType,
    check_backward_validity,
    detach_variable,
    get_device_states,
    set_device_states,
)
from torchlike.utils.replay import Region
from torchlike.utils.selective import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_TIP = (
    "Tip: pass debug=True to checkpoint(), or use set_checkpoint_debug_enabled(True), to see which "
    "ops were recorded in the two runs."
)
_SHOULD_BE_EXPLICIT = (
    "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
    "use_reentrant=False is recommended; the default is use_reentrant=True."
)
_NOT_REENTRANT = (
    "Passing `context_fn`, `debug`, or `respect_saved_tensors_hooks` is only supported when "
    "use_reentrant=False."
    if follows("refusals have kinds")
    else "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
)
_INCOMPATIBLE = (
    "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an "
    "`inputs` parameter to .backward(). To resolve this error, you can either set "
    "use_reentrant=False, or call .backward() without passing the `inputs` argument."
)


class CheckpointError(RuntimeError):
    """The second run of a region differs from the first."""


class _CheckpointSettings(threading.local):
    early_stop: bool | None = None
    debug: bool | None = None


_settings = _CheckpointSettings()


@contextlib.contextmanager
def _set(name: str, value: bool) -> Iterator[None]:
    previous = getattr(_settings, name)
    setattr(_settings, name, value)
    try:
        yield
    finally:
        setattr(_settings, name, previous)


def set_checkpoint_early_stop(enable: bool) -> contextlib.AbstractContextManager[None]:
    """Set, within a `with` block, whether a second run ends as soon as every tensor is there that
    the first run saved (so it is by default). It counts for regions entered inside the block, over
    ``early_stop=``."""
    return _set("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> contextlib.AbstractContextManager[None]:
    """Set ``debug=`` for all regions entered within a `with` block; None leaves it to each call."""
    return _set("debug", enabled)  # type: ignore[arg-type]


def noop_context_fn() -> tuple[Any, Any]:
    """Return the default ``context_fn``: two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


# -- without reentrance ----------------------------------------------------------------------------


class _Stop(BaseException):
    """Ends a second run. Not an Exception, so that nothing on its way catches it."""


class _Holder:
    """What a node keeps in place of a tensor."""

    __slots__ = ("__weakref__", "index", "region")

    def __init__(self, region: _Recomputed, index: int) -> None:
        self.region = region
        self.index = index


def _metadata(t: Tensor) -> dict[str, Any]:
    return {"shape": t.shape, "dtype": t.dtype, "device": t.device}


class _Recomputed(Region):
    """A region whose nodes hold place holders."""

    def __init__(
        self,
        function: Any,
        args: Any,
        kwargs: Any,
        preserve_rng_state: bool,
        second_context: Any,
        check: bool,
        early_stop: bool,
        debug: bool,
    ) -> None:
        super().__init__(function, args, kwargs, preserve_rng_state)
        self._second_context = second_context
        self._check, self._early_stop, self._debug = check, early_stop, debug
        self._holders: list[weakref.ref[_Holder]] = []
        #: Whether the first run has ended. A backward pass within it asks for what it saved so far.
        self.complete = False
        self._metadata: list[dict[str, Any]] = []
        #: Tensors of the second run, until they are asked for; and the number of the backward pass
        #: that it was for (0: none).
        self._values: dict[int, Tensor] = {}
        self._made_for = 0
        self._log: tuple[list[str], list[str]] = ([], [])

    def pack(self, t: Tensor) -> _Holder:
        """Record a tensor that the first run saves, and return a holder in its place."""
        holder = _Holder(self, len(self._holders))
        self._holders.append(weakref.ref(holder))
        if self._check:
            self._metadata.append(_metadata(t))
        if self._debug:
            self._log[0].append(_line(t))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        """Return a tensor that the first run saved; the region is computed again at the first one
        of a backward pass."""
        running = modes.current.backward_pass
        number = 0 if running is None else running.number
        if number != self._made_for or holder.index not in self._values:
            self._values.clear()
            self._made_for = number
            self._recompute(saving.arriving)
        return self._values.pop(holder.index)

    def _recompute(self, cotangents: Sequence[Any]) -> None:
        if modes.current.queue is not None:  # in one program XLA would keep the first run's values
            modes.current.queue.flush("a checkpoint is computed again")
        count = 0
        total = len(self._holders)

        def keep(t: Tensor) -> Tensor:
            nonlocal count
            index, count = count, count + 1
            if self._debug:
                self._log[1].append(_line(t))
            if index >= total and self._early_stop:
                raise _Stop  # what the last op still had to do is done
            if index >= total and not self.complete:
                return wrap(t._read())
            if index >= total:
                raise self._error(
                    "trying to save more tensors during recomputation than during the original "
                    "forward pass."
                )
            detached = wrap(t._read())
            detached._storage.strides = t._storage.strides
            if self._holders[index]() is not None:
                self._values[index] = detached
            if self._early_stop and count == total and not saving.finishing:
                raise _Stop
            return detached

        try:
            with (
                self.second_run(cotangents) as (args, kwargs),
                enable_grad(),
                saved_tensors_hooks(keep, lambda t: t),
                self._second_context,
            ):
                self.function(*args, **kwargs)
        except _Stop:
            pass
        if count != total and (self.complete or count < total):
            raise self._error(
                "A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {total}\n"
                f"Number of tensors saved during recomputation: {count}."
            )
        if self._check:
            self._compare()

    def _compare(self) -> None:
        different = []
        for index, t in sorted(self._values.items()):
            before, now = self._metadata[index], _metadata(t)
            if before != now:
                different.append(
                    f"tensor at position {index}:\nsaved metadata: {before}\n"
                    f"recomputed metadata: {now}"
                )
        if different:
            raise self._error(
                "Recomputed values for the following tensors have different metadata than during "
                "the forward pass.\n" + "\n".join(different) + "."
            )

    def _error(self, what: str) -> CheckpointError:
        text = f"torch.utils.checkpoint: {what}\n"
        if not self._debug:
            return CheckpointError(text + _TIP)
        text += (
            "\nYou are seeing this error because you passed `debug=True` to checkpoint, or used "
            "set_checkpoint_debug_enabled(True).\n"
        )
        for title, lines in zip(("original forward", "recomputation"), self._log, strict=True):
            text += f"\nTensors saved during the {title}:\n" + "".join(
                f"{i + 1}. {line}" for i, line in enumerate(lines)
            )
        return CheckpointError(text)


def _line(t: Tensor) -> str:
    """Describe a saved tensor, with the user's line at which it was saved."""
    frame = users_frame()
    place = ""
    if frame is not None:
        file, number = frame.f_code.co_filename, frame.f_lineno
        place = f"{file}:{number}: {linecache.getline(file, number, frame.f_globals).strip()}"
    return f"{t.dtype} {list(t.shape)} at {place}\n"


def _without_reentrance(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    preserve_rng_state: bool,
    context_fn: Callable[[], tuple[Any, Any]],
    determinism_check: str,
    debug: bool,
    early_stop: bool,
) -> Any:
    if determinism_check not in ("default", "none"):
        raise ValueError(
            "determinism_check should be one of ['default', 'none'], but got " + determinism_check
        )
    if _settings.debug is not None:
        debug = _settings.debug
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    first, second = context_fn()
    if not modes.current.grad_enabled:
        with first:
            return function(*args, **kwargs)
    if _settings.early_stop is not None:
        early_stop = _settings.early_stop
    region = _Recomputed(
        function,
        args,
        kwargs,
        preserve_rng_state,
        second,
        determinism_check == "default",
        early_stop,
        debug,
    )
    with region.first_run(), saved_tensors_hooks(region.pack, region.unpack), first:
        output = function(*args, **kwargs)
    region.complete = True
    return output


# -- with reentrance -------------------------------------------------------------------------------


class CheckpointFunction(Function):
    """A region as one node: forward without recording, backward inside backward."""

    @staticmethod
    def forward(ctx: Any, function: Any, preserve_rng_state: Any, *args: Any) -> Any:
        ctx.region = ctx._freed = region = Region(function, args, {}, preserve_rng_state)
        with region.first_run(), no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        running = modes.current.backward_pass
        if running is not None and not running.is_whole():
            raise RuntimeError(_INCOMPATIBLE)
        with ctx.region.second_run(grads) as (args, _), enable_grad():
            outputs = ctx.region.function(*args)
            many = outputs if isinstance(outputs, tuple) else (outputs,)
            wanted = [
                (o, g)
                for o, g in zip(many, grads, strict=True)
                if isinstance(o, Tensor) and o.requires_grad
            ]
            if not wanted:
                raise RuntimeError(
                    "none of output has requires_grad=True, this checkpoint() is not necessary"
                )
            backward([o for o, _ in wanted], [g for _, g in wanted])
        return None, None, *(a.grad if isinstance(a, Tensor) else None for a in args)


# -- the public functions --------------------------------------------------------------------------


def checkpoint(
    function: Callable[..., Any] | None = None,
    *args: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    respect_saved_tensors_hooks: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Run ``function(*args)``, the inside of which is computed again by backward instead of being
    kept.

    Args:
      function: what to run, twice. It must do the same both times. Without it and ``args`` the
        result is a decorator, by which a function is checkpointed at each of its calls.
      use_reentrant: False records the region as always and works with everything (``grad``,
        hooks, keyword arguments, nesting, higher derivatives); True (the default, with a warning
        when not said) makes it one node, of which only ``backward()`` without ``inputs`` works.
      preserve_rng_state: the second run draws the same random numbers.
      context_fn: gives two context managers, for the two runs.
      determinism_check: "default" compares shapes, dtypes and devices of the two runs' tensors;
        "none" does not.
      debug: errors list the tensors that the two runs saved, with their lines.
      early_stop: end the second run when the last tensor wanted is there.
      respect_saved_tensors_hooks: True would show what selective checkpointing keeps to hooks on
        saved tensors, and is refused with NotImplementedError.
      kwargs: for ``function``; only without reentrance.

    Under ``torchlike.jit`` the second run is in the compiled program as well, and memory is saved
    there; a backward pass inside a backward pass is not needed, so ``use_reentrant=True`` works
    with everything. The random draws are those of the first run with ``preserve_rng_state``, also
    from an explicit generator.

    Pass intermediate tensors as arguments rather than by closure: a jitted function that returns
    what requires grad cannot be kept, and compiles anew at each call, where a closure holds them.

    Differs from PyTorch: under ``torchlike.jit`` state that the function writes (BatchNorm's
    buffers) is written by the first run only; eagerly, as in PyTorch, by both. A tensor may be
    unpacked several times in one backward pass; tensors inside lists, tuples and dictionaries among
    the arguments are kept as they were, too. What a jitted function called inside keeps for its own
    backward stays. It works inside ``torch.func``.

    Raises:
      CheckpointError: the second run saved other tensors than the first.
      ValueError: options that do not go together, or unknown ones.
      RuntimeError: with reentrance, under ``grad`` or ``backward(inputs=…)``.

    Example:
      >>> from torchlike.utils.checkpoint import checkpoint
      >>> x = torch.ones(2, requires_grad=True)
      >>> checkpoint(torch.exp, x, use_reentrant=False).sum().backward()
      >>> torch.equal(x.grad, x.detach().exp())
      True
    """
    if function is None and not args:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        return functools.partial(
            _decorated,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve_rng_state,
            context_fn=context_fn,
            determinism_check=determinism_check,
            debug=debug,
            early_stop=early_stop,
            respect_saved_tensors_hooks=respect_saved_tensors_hooks,
        )
    function = cast("Callable[..., Any]", function)
    if use_reentrant is None:
        warnings.warn(_SHOULD_BE_EXPLICIT, UserWarning, stacklevel=2)
        use_reentrant = True
    if respect_saved_tensors_hooks and not use_reentrant:
        raise NotImplementedError(
            "checkpoint(respect_saved_tensors_hooks=True): what selective checkpointing keeps is "
            "not packed; use save_on_cpu without it, or leave the argument out"
        )
    if not use_reentrant:
        return _without_reentrance(
            function,
            args,
            kwargs,
            preserve_rng_state,
            context_fn,
            determinism_check,
            debug,
            early_stop,
        )
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if (
        context_fn is not noop_context_fn
        or debug is not False
        or respect_saved_tensors_hooks is not None
    ):
        raise ValueError(_NOT_REENTRANT)
    wanted = any(isinstance(a, Tensor) and a.requires_grad for a in args)
    if modes.current.grad_enabled and not wanted:
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None",
            UserWarning,
            stacklevel=2,
        )
    if modes.is_capturing():
        with contextlib.nullcontext() if wanted else no_grad():
            return _without_reentrance(
                function, args, {}, preserve_rng_state, noop_context_fn, "none", False, early_stop
            )
    return CheckpointFunction.apply(function, preserve_rng_state, *args)


def _decorated(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return a function that checkpoints ``function`` at each call."""

    @functools.wraps(function)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(function, *args, **options, **kwargs)

    return checkpointed


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run a Sequential, or a list of functions, as ``segments`` checkpointed parts; the last part
    is not checkpointed.

    ValueError for unknown keyword arguments and for more segments than functions.
    """
    if use_reentrant is None:
        warnings.warn(_SHOULD_BE_EXPLICIT, UserWarning, stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    parts = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(parts) // segments
    if size == 0:
        raise ValueError(f"cannot cut {len(parts)} functions into {segments} segments")

    def part(start: int, end: int) -> Callable[[Any], Any]:
        return functools.partial(_in_turn, parts[start:end])

    start = 0
    for _ in range(segments - 1):
        input = checkpoint(
            part(start, start + size),
            input,
            use_reentrant=use_reentrant,
            preserve_rng_state=preserve,
        )
        start += size
    return part(start, len(parts))(input)


def _in_turn(functions: Sequence[Callable[[Any], Any]], input: Any) -> Any:
    for function in functions:
        input = function(input)
    return input
