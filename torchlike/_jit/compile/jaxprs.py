"""Finds JAX's classes of traced programs by example, and traces a function to one.

``jax.extend.core`` names them, but importing it loads Pallas: 18 ms of a process's first
compilation (of 450 for a small network).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, NamedTuple

import jax


class Kinds(NamedTuple):
    """What a traced program is made of."""

    Jaxpr: Any
    ClosedJaxpr: Any
    Literal: Any
    #: The primitive of a jitted function that is called, and its parameters for one input and one
    #: output.
    call: Any
    call_parameters: dict[str, Any]


@functools.cache
def kinds() -> Kinds:
    traced = jax.make_jaxpr(jax.jit(lambda x: x + 1.0))(0.0)
    (call,) = traced.jaxpr.eqns
    (addition,) = call.params["jaxpr"].jaxpr.eqns
    return Kinds(
        type(traced.jaxpr), type(traced), type(addition.invars[1]), call.primitive, call.params
    )


def is_literal(x: Any) -> bool:
    """Whether an operand or a result is a number written into the program, and no variable."""
    return type(x) is kinds().Literal


def make_jaxpr(function: Callable[..., Any], *avals: Any) -> Any:
    """``jax.make_jaxpr(function)(*avals)``, but that errors keep their traceback: JAX shows where
    each frame stood last (in a ``finally``), not the line that the error came through."""
    raised: list[tuple[BaseException, TracebackType | None]] = []

    def watched(*arrays: Any) -> Any:
        try:
            return function(*arrays)
        except BaseException as error:
            raised.append((error, error.__traceback__))
            raise

    try:
        return jax.make_jaxpr(watched)(*avals)
    except BaseException as error:
        for own, traceback in raised:
            if own is error:
                error.__traceback__ = traceback
        raised.clear()
        raise
