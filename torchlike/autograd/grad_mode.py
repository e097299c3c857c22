"""Grad mode switches, as context managers and decorators."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, Self, TypeVar, overload

from torchlike._core import modes
from torchlike.autograd import inference_tensors

F = TypeVar("F", bound=Callable[..., Any])


class DecoratingContext:
    """A context manager that also decorates functions and generators (and, as PyTorch still does,
    the making of a class's instances, which leaves a function in the class's place)."""

    def __call__(self, function: F) -> F:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated: decorate functions or methods, such as the "
                "class's `__init__`, which keeps what happens now.",
                FutureWarning,
                stacklevel=2,
            )
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generator(*args: Any, **kwargs: Any) -> Any:
                inner = function(*args, **kwargs)
                resume: Any = inner.send
                given: Any = None
                while True:
                    with self._again():
                        try:
                            value = resume(given)
                        except StopIteration as stop:
                            return stop.value
                    try:
                        resume, given = inner.send, (yield value)
                    except GeneratorExit:
                        with self._again():
                            inner.close()
                        raise
                    except BaseException as error:  # thrown in by the caller: handed on
                        resume, given = inner.throw, error

            return generator  # type: ignore[return-value]

        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return decorated  # type: ignore[return-value]

    def _again(self) -> Self:
        """Return a fresh instance for each call, so that recursion restores the right mode."""
        return type(self)()

    def __enter__(self) -> Self:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError


class no_grad(DecoratingContext):
    """Record no operations within: ``with no_grad():``, ``@no_grad()`` or ``@no_grad``.

    What is computed inside does not require grad. It holds for this thread.

    Example:
      >>> x = torch.ones(2, requires_grad=True)
      >>> with torch.no_grad():
      ...     y = 2 * x
      >>> y.requires_grad, (2 * x).requires_grad
      (False, True)
    """

    @overload
    def __new__(cls, function: None = None) -> Self: ...
    @overload
    def __new__(cls, function: F) -> F: ...
    def __new__(cls, function: Any = None) -> Any:
        self = object.__new__(cls)
        return self(function) if function is not None else self

    def __init__(self, function: Any = None) -> None:
        self._previous: list[Any] = []

    def __enter__(self) -> None:
        self._previous.append(modes.current.grad_mode)
        modes.current.grad_mode = False

    def __exit__(self, *exc: object) -> None:
        modes.current.grad_mode = self._previous.pop()


class enable_grad(no_grad):
    """Record operations again, within ``no_grad``: ``with enable_grad():`` or as a decorator."""

    def __enter__(self) -> None:
        self._previous.append(modes.current.grad_mode)
        modes.current.grad_mode = True


class _Setting(DecoratingContext):
    """A mode of this thread, set from the call on; as a context manager, until its end."""

    _of: str

    def __init__(self, mode: Any) -> None:
        self.mode = bool(mode)
        self.prev = getattr(modes.current, self._of)
        setattr(modes.current, self._of, self.mode)

    def __call__(self, function: F) -> F:
        setattr(modes.current, self._of, self.prev)  # as a decorator it must not act at once
        return super().__call__(function)

    def _again(self) -> Self:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        setattr(modes.current, self._of, self.mode)

    def __exit__(self, *exc: object) -> None:
        setattr(modes.current, self._of, self.prev)


class set_grad_enabled(_Setting):
    """Record ops or not, from the call on; as a context manager, until its end."""

    _of = "grad_mode"


class set_multithreading_enabled(_Setting):
    """Say whether backward may use several threads, from the call on; as a context manager, until
    its end.

    Differs from PyTorch: it is kept and told again, no more. A backward runs in the thread that
    calls it (whatever it computes, XLA spreads over the cores), and several threads may each run
    one.
    """

    _of = "multithreading"


class inference_mode(DecoratingContext):
    """Record no operations within, as ``no_grad``; tensors made inside can never require grad.

    Args:
      mode: False is ``inference_mode`` switched off.

    Example:
      >>> with torch.inference_mode():
      ...     y = torch.ones(2)
      >>> y.is_inference()
      True
    """

    def __new__(cls, mode: Any = True) -> Any:
        if callable(mode):
            return cls()(mode)
        return object.__new__(cls)

    def __init__(self, mode: Any = True) -> None:
        self.mode = bool(mode)
        self._previous: list[Any] = []

    def _again(self) -> Self:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        if self.mode:
            inference_tensors.watch()
        self._previous.append((modes.current.grad_enabled, modes.current.inference))
        modes.current.inference = int(self.mode)
        modes.current.grad_enabled = not self.mode

    def __exit__(self, *exc: object) -> None:
        modes.current.grad_enabled, modes.current.inference = self._previous.pop()


def is_grad_enabled() -> bool:
    """Return whether ops are recorded in this thread. In inference mode, where none are, the answer
    is the mode that was set last."""
    return modes.current.grad_mode


def is_multithreading_enabled() -> bool:
    """Return the mode that ``set_multithreading_enabled`` set in this thread; True at first."""
    return modes.current.multithreading


def is_inference_mode_enabled() -> bool:
    """Return whether inference mode is on in this thread."""
    return modes.current.inference > 0


def _set_grad_enabled(enabled: bool) -> None:
    """Record ops from now on, or not. Graphs that were traced above autograd call it."""
    modes.current.grad_mode = bool(enabled)


_set_grad_enabled.__module__ = "torchlike._C"  # where PyTorch has it, and graphs name it
