"""``torch.compiler``: what scripts tell the compiler, and ask of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from torchlike import modes
from torchlike.dispatch.registry import clear_executables
from torchlike.jit.function import JitFunction, reset_all


def is_compiling() -> Any:
    """Whether this code runs while ``torchlike.jit`` captures it."""
    return modes.current.capture is not None


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn: Any = None, recursive: Any = True, *, reason: str | None = None) -> Any:
    """The function itself, uncompiled.

    Differs from PyTorch: there are no graph breaks. Called inside compiled code, the function
    becomes part of the graph; what it cannot do there raises JitCaptureError as anywhere.
    """
    if fn is None:
        return disable
    return fn._fn if isinstance(fn, JitFunction) else fn


def allow_in_graph(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is: everything is allowed in the graph."""
    return fn


def assume_constant_result(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as it is: Python results are constants of the graph already."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """Nothing to do: a jitted step is one executable."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """["xla"]."""
    return ["xla"]


def reset() -> None:
    """Forget every compiled program; what is run next is compiled again."""
    reset_all()
    clear_executables()
    jax.clear_caches()
