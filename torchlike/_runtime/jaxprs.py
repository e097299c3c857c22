"""Finds JAX's classes of traced programs by example, and traces a function to one and back.

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
    Var: Any
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
        type(traced.jaxpr),
        type(traced),
        type(addition.invars[1]),
        type(addition.invars[0]),
        call.primitive,
        call.params,
    )


def is_literal(x: Any) -> bool:
    """Return whether an operand or a result is a number written into the program, and no
    variable."""
    return type(x) is kinds().Literal


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
            raise

    try:
        return jax.make_jaxpr(watched)(*avals)
    except BaseException as error:
        for own, traceback in raised:
            if own is error:
                error.__traceback__ = traceback
        raised.clear()
        raise


def staged(jaxpr: Any) -> Callable[..., Any]:
    """Return ``jaxpr`` as a function, which a trace takes in as one call.

    By ``core.eval_jaxpr`` every equation is traced anew: of a GPT step with 3,100 that makes 0.53
    and not 0.40 s of tracing; taken over inline, as ``jax.jit(inline=True)`` does, 0.50.
    """
    closed = kinds().ClosedJaxpr(jaxpr, ())
    lengths = {"in": len(jaxpr.invars), "out": len(jaxpr.outvars)}
    parameters = dict(kinds().call_parameters, jaxpr=closed, name="program")
    for name, value in parameters.items():
        if isinstance(value, tuple) and len(value) == 1:  # one entry an input or an output
            parameters[name] = value * lengths["out" if name.startswith("out_") else "in"]
    return functools.partial(kinds().call.bind, **parameters)
