"""TorchScript's markers and questions: ``is_scripting``, ``ignore``, ``unused`` and their like."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Final

from torchlike._core import modes

__all__ = [
    "Final",
    "annotate",
    "export",
    "ignore",
    "is_scripting",
    "is_tracing",
    "script_if_tracing",
    "unused",
]


def _disable_dynamo(fn: Callable[..., Any] | None = None, recursive: bool = True) -> Any:
    """Return the function itself, which a compiled program may contain here; without one a
    decorator."""
    return functools.partial(_disable_dynamo, recursive=recursive) if fn is None else fn


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as it is: a compiled module keeps its methods."""
    return fn


class _Scripts(threading.local):
    """How many scripted functions run eagerly in this thread, one inside the other."""

    running = 0
    #: Whether one of them runs before it is compiled: what it calls is a part of it.
    first_run = False


scripts = _Scripts()


class scripting:
    """``with scripting():`` a scripted function runs eagerly."""

    def __enter__(self) -> None:
        scripts.running += 1

    def __exit__(self, *exc: object) -> None:
        scripts.running -= 1


def is_scripting() -> bool:
    """Return whether a function or module given to ``torch.jit.script`` (or ``trace``) is being
    captured, or runs eagerly because it cannot be.

    False for ``torchlike.jit`` itself: there Python runs as Python.
    """
    captured = modes.running_capture().scripting
    return captured or scripts.first_run or bool(scripts.running)


def is_tracing() -> bool:
    """Return whether ``torchlike.jit`` is capturing, or a scripted or traced function runs before
    it is compiled."""
    return modes.is_capturing() or scripts.first_run


def ignore(drop: Any = False, **options: Any) -> Any:
    """Return the function as it is: capture runs Python, so nothing is kept from a compiler. Also
    with arguments, ``@ignore(drop=True)``."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as it is."""
    return fn


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Mark the function and return it; a scripted module compiles such a method too."""
    vars(fn)["_torchlike_exported"] = True
    return fn


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as it is."""
    return fn


def _overload(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function as it is: it is one more signature of the implementation that follows
    it."""
    return fn


_overload_method = _overload


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return the value; the type is for readers."""
    return the_value
