"""Traces a function to a program; what stands for an array where one is compiled beforehand."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

import jax
from jax import core

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


def placeholder(array: Any) -> Any:
    """Return the placeholder of an array among the inputs of a program that is compiled before it
    is called: its aval, and where it has to be. It does not hold the array, which may be given up
    meanwhile.
    """
    if not isinstance(array, jax.Array):
        return array  # a number, whose type is part of the signature
    committed = isinstance(array, core.Tracer) or array.committed
    return jax.ShapeDtypeStruct(
        array.shape,
        array.dtype,
        weak_type=getattr(array, "weak_type", False),
        sharding=array.sharding if committed else None,
    )


def sharding_of(x: Any) -> Any:
    """Return where an array or its placeholder has to be; None where nothing says so."""
    return getattr(x, "sharding", None)
