"""Tracing: a jaxpr by the one part of JAX's that makes it, and what is being traced now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
from jax import core

from torchlike._runtime.jax_private.names import declare

_COMPILED = "every call is compiled at once"

TRACE = declare(
    "jax._src.interpreters.partial_eval.trace_to_jaxpr_dynamic",
    "the jaxpr of a first call in 30 µs for the 200 of jax.make_jaxpr",
    _COMPILED,
)
WRAP_INIT = declare("jax._src.linear_util.wrap_init", "what that takes", _COMPILED)
DEBUG_INFO = declare("jax._src.core.DebugInfo", "the name of that in JAX's errors", _COMPILED)
TRACE_CONTEXT = declare(
    "jax._src.config.trace_context", "JAX's settings, as a key of first calls", _COMPILED
)
TRACE_STATE_CLEAN = declare(
    "jax._src.core.trace_state_clean",
    "whether anything is being traced",
    "a trace is taken to be under way unless an array shows that there is none",
)
DYNAMIC_TRACER = declare(
    "jax._src.interpreters.partial_eval.DynamicJaxprTracer",
    "whether an array stands for one of a traced program, and not of vmap or grad",
    "any tracer is taken for one",
)
DCE = declare(
    "jax._src.interpreters.partial_eval.dce_jaxpr",
    "which operands the gradient of an operation reads",
    "all that it takes count as read",
)
AXIS_ENVIRONMENT = declare(
    "jax._src.core.extend_axis_env_nd",
    "collectives traced outside of a shard_map",
    "process groups and meshes of processes cannot be used in compiled functions",
)
PARENT = declare(
    "tracer.parent", "the equation that a traced value comes from", "values have no known mesh"
)
IN_TRACERS = declare(
    "tracer.parent.in_tracers", "what that equation reads", "values have no known mesh"
)
FULL_LOWER = declare(
    "tracer.full_lower", "the constant that a traced value stands for", "it is taken for none"
)

CURRENT_TRACE = declare(
    "jax._src.core.trace_ctx",
    "arrays of a trace that has ended in an error are let go at once",
    "they live until Python's collector comes",
)

trace_to_jaxpr: Any = TRACE.find()
wrap_init: Any = WRAP_INIT.find()
DebugInfo: Any = DEBUG_INFO.find()
trace_context: Callable[[], Any] = TRACE_CONTEXT.find(lambda: tuple)


def _seems_clean() -> bool:
    return not isinstance(jax.numpy.zeros(()), core.Tracer)


#: ``trace_state_clean()``: nothing is being traced by this thread.
trace_state_clean: Callable[[], bool] = TRACE_STATE_CLEAN.find(lambda: _seems_clean)
_DynamicJaxprTracer: Any = DYNAMIC_TRACER.find(lambda: core.Tracer)
_dce_jaxpr: Any = DCE.find()


def is_of_program(array: Any) -> bool:
    """Return whether an array stands for one of a program that is being traced, and not for one of
    ``jax.vmap`` or ``jax.grad``."""
    return isinstance(array, _DynamicJaxprTracer)


def inputs_read(jaxpr: Any) -> list[bool]:
    """Return, for each input of a jaxpr, whether an output depends on it."""
    if _dce_jaxpr is None:
        return [True] * len(jaxpr.invars)
    return _dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[1]


def end_trace() -> None:
    """Let the trace that runs go of its equations and arrays: it has raised, and its tracers refer
    to it and it to them. An array that is held so is donated by no eager step."""
    trace = getattr(CURRENT_TRACE.find(), "trace", None)
    invalidate = getattr(trace, "invalidate", None)
    if hasattr(trace, "frame") and invalidate is not None:
        invalidate()


@contextmanager
def over_axes(axes: Sequence[tuple[str, int]]) -> Iterator[None]:
    """Let a trace within a ``with`` block have collectives over axes of these names and sizes.
    NotImplementedError where this JAX has no way."""
    with AXIS_ENVIRONMENT.require()(list(axes)):
        yield


def maker_of(tracer: Any) -> Any:
    """Return the equation that a traced value comes from, None for an input or a constant."""
    return getattr(tracer, "parent", None)


def read_by(maker: Any) -> Sequence[Any]:
    """Return the traced values that an equation of `maker_of` reads."""
    return maker.in_tracers


def result_number(maker: Any, tracer: Any) -> int:
    """Return which result of its equation a traced value is."""
    return maker.outvars.index(tracer.val)


def constant_of(tracer: Any) -> Any:
    """Return the value of a traced value that stands for a constant; itself for any other."""
    return tracer.full_lower() if isinstance(tracer, core.Tracer) else tracer
