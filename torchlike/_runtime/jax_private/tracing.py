"""Tracing: a jaxpr by the one part of JAX's that makes it, and what is being traced now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
from jax import core

from torchlike._runtime.jax_private.arrays import ARRAY
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

_TAKEN_OVER = "an operation takes 45 µs of a capture, and not 8"
DYNAMIC_TRACE = declare(
    "jax._src.interpreters.partial_eval.DynamicJaxprTrace",
    "whether what runs is the trace of a program",
    _TAKEN_OVER,
)
INLINE = declare(
    "jax._src.interpreters.partial_eval.inline_jaxpr_into_trace",
    "a program's equations are taken over into the trace that runs",
    _TAKEN_OVER,
)
SOURCE = declare("jax._src.source_info_util.current", "the line that they come from", _TAKEN_OVER)
CANONICAL = declare(
    "jax._src.dtypes.canonicalize_value", "a number of Python's as JAX takes it", _TAKEN_OVER
)
COMPUTES_AT_ONCE = declare(
    "jax._src.config.eager_constant_folding",
    "whether jax.ensure_compile_time_eval is in force",
    _TAKEN_OVER,
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
_current_trace: Any = CURRENT_TRACE.find()
_DynamicJaxprTrace: Any = DYNAMIC_TRACE.find()
_inline: Any = INLINE.find()
_source: Any = SOURCE.find()
_canonical: Any = CANONICAL.find()
_computes_at_once: Any = COMPUTES_AT_ONCE.find()
_Array: Any = ARRAY.find()
#: Whether equations can be taken over.
TAKES_OVER = None not in (
    _current_trace,
    _DynamicJaxprTrace,
    _inline,
    _source,
    _canonical,
    _computes_at_once,
)
_NUMBERS = frozenset((bool, int, float, complex))


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
    trace = getattr(_current_trace, "trace", None)
    invalidate = getattr(trace, "invalidate", None)
    if hasattr(trace, "frame") and invalidate is not None:
        invalidate()


def program_traced() -> Any:
    """Return the trace that what runs is to be written into: where it is one of a program and no
    transform's, and not in ``jax.ensure_compile_time_eval()``, which computes what it can (state
    that is made in a trace to outlive it); else None."""
    if not TAKES_OVER or _computes_at_once.value:
        return None
    trace = _current_trace.trace
    return trace if type(trace) is _DynamicJaxprTrace else None


def aval_within(trace: Any, operand: Any) -> Any:
    """Return the aval of an array, a value of ``trace`` or a number of Python's, None for anything
    else."""
    kind = type(operand)
    if kind is _DynamicJaxprTracer:
        return operand.aval if operand._trace is trace else None
    if kind is _Array:
        return operand.aval
    return jax.typeof(_canonical(operand)) if kind in _NUMBERS else None


def taken_over(trace: Any, closed: Any, operands: Sequence[Any]) -> list[Any]:
    """Add the equations of a program to ``trace``, and return its results for these operands, as
    ``jax.jit(inline=True)`` does."""
    source = _source()
    given = [
        trace.to_jaxpr_tracer(_canonical(x) if type(x) in _NUMBERS else x, source) for x in operands
    ]
    found = _inline(trace, source, closed.jaxpr, closed.consts, *given)
    return [trace.to_jaxpr_tracer(x, source) for x in found]


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
