"""What traced programs are made of: the classes, found by name or by example."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

from torchlike._runtime.jax_private.names import declare

JAXPR = declare(
    "jax._src.core.Jaxpr", "whether a parameter of an equation is a program", "found by example"
)
LITERAL = declare(
    "jax._src.core.Literal", "whether an operand is a number of the program", "found by example"
)
FIELDS = declare(
    "jaxpr.replace(eqns=, invars=, outvars=, constvars=, effects=, debug_info=, is_high=)",
    "programs with other equations",
    "compiled functions with checks of values, rolled loops or second gradients raise",
)


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
    """Return the classes, found by example. ``jax.extend.core`` names them, but importing it loads
    Pallas: 18 ms of a process's first compilation (of 450 for a small network)."""
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


#: The class of programs, and of numbers written into them. From JAX 0.12 on a program with
#: constants is of the same class as one without, and is its own ``jaxpr``.
Jaxpr: Any = JAXPR.find(lambda: kinds().Jaxpr)
Literal: Any = LITERAL.find(lambda: kinds().Literal)


def is_literal(x: Any) -> bool:
    """Return whether an operand or a result is a number written into the program, and no
    variable."""
    return type(x) is Literal


def opened(program: Any) -> tuple[Any, Any]:
    """Return a program, with constants or without, as the jaxpr and its constants."""
    return getattr(program, "jaxpr", program), getattr(program, "consts", ())


def make_var(aval: Any) -> Any:
    """Make a variable of a program."""
    return kinds().Var(aval)


def close(jaxpr: Any, constants: Any = ()) -> Any:
    """Return a jaxpr with its constants."""
    return kinds().ClosedJaxpr(jaxpr, constants)


def program_like(
    jaxpr: Any,
    invars: Sequence[Any],
    outvars: Sequence[Any],
    eqns: Sequence[Any],
    effects: Any = None,
) -> Any:
    """Make a program without constants of equations of another one. ``effects``: those of the
    equations, where not all of the other's."""
    return kinds().Jaxpr(
        constvars=(),
        invars=list(invars),
        outvars=list(outvars),
        eqns=list(eqns),
        effects=jaxpr.effects if effects is None else effects,
        debug_info=jaxpr.debug_info._replace(arg_names=None, result_paths=None),
        is_high=jaxpr.is_high,  # has operations that JAX expands (from 0.12 on searchsorted)
    )


def with_more(
    jaxpr: Any,
    constvars: Sequence[Any],
    outvars: Sequence[Any],
    eqns: Sequence[Any],
    effects: Any = None,
) -> Any:
    """Return a program with other equations and outputs, and more variables for constants.
    ``effects``: those of the equations, where they have changed."""
    return jaxpr.replace(
        constvars=[*jaxpr.constvars, *constvars],
        outvars=list(outvars),
        eqns=list(eqns),
        effects=jaxpr.effects if effects is None else effects,
        debug_info=jaxpr.debug_info._replace(arg_names=None, result_paths=None),
    )


def staged(jaxpr: Any) -> Callable[..., Any]:
    """Return ``jaxpr`` as a function, which a trace takes in as one call.

    By ``core.eval_jaxpr`` every equation is traced anew: of a GPT step with 3,100 that makes 0.53
    and not 0.40 s of tracing; taken over inline, as ``jax.jit(inline=True)`` does, 0.50.
    """
    lengths = {"in": len(jaxpr.invars), "out": len(jaxpr.outvars)}
    parameters = dict(kinds().call_parameters, jaxpr=close(jaxpr), name="program")
    for name, value in parameters.items():
        if isinstance(value, tuple) and len(value) == 1:  # one entry an input or an output
            parameters[name] = value * lengths["out" if name.startswith("out_") else "in"]
    return functools.partial(kinds().call.bind, **parameters)


def seems_symbolic(size: Any) -> bool:
    """Return whether a size is an expression of symbols (`symbolic_sizes`), by its class's name:
    for what is called before anything of `jax.export` is loaded."""
    return type(size).__name__ == "_DimExpr"


def is_about_symbols(error: Exception) -> bool:
    """Return whether JAX's error says that a symbolic size was used where its number is needed."""
    return any(s in str(error) for s in ("ymbolic dimension", "_DimExpr"))
