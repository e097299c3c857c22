"""Traces a function to a program."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

import jax

from torchlike._runtime.jax_private.tracing import end_trace


def make_jaxpr(function: Callable[..., Any], *avals: Any) -> Any:
    """Trace as ``jax.make_jaxpr(function)(*avals)`` does, but let errors keep their traceback:
    JAX shows where each frame stood last (in a ``finally``), not the line that the error came
    through."""
    raised: list[tuple[BaseException, TracebackType | None]] = []

    def watched(*arrays: Any) -> Any:
        try:
            return function(*arrays)
        except BaseException as error:
            raised.append((error, error.__traceback__))
            end_trace()
            raise

    try:
        return jax.make_jaxpr(watched)(*avals)
    except BaseException as error:
        for own, traceback in raised:
            if own is error:
                error.__traceback__ = traceback
        raised.clear()
        raise
