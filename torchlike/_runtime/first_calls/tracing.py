"""The jaxpr of a function, by the one part of JAX's tracing that is needed for it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
from jax import core

from torchlike._runtime import targets
from torchlike._runtime.jax_private import tracing as jax_tracing


class TracedJaxpr(NamedTuple):
    """A closed jaxpr; JAX 0.10 and 0.12 have different classes for it."""

    jaxpr: Any
    consts: list[Any]
    #: The tree of the results.
    structure: Any

    @property
    def in_avals(self) -> list[Any]:
        return [v.aval for v in self.jaxpr.invars]

    @property
    def out_avals(self) -> list[Any]:
        return [v.aval for v in self.jaxpr.outvars]


def traced(
    function: Callable[..., Any], tree: Any, shapes: Sequence[Any], leaves: Sequence[Any]
) -> TracedJaxpr:
    """Trace ``function`` in its plain formulation; return the jaxpr and the tree of its results.

    ``leaves`` are the arguments, ``tree`` how they belong together; of each, ``shapes`` has the
    shape, which may have symbols, or None for a Python number.
    """
    # Not the arrays themselves: a traceback that JAX keeps would hold them.
    avals = [_aval(leaf, shape) for leaf, shape in zip(leaves, shapes, strict=True)]
    with targets.numpy():
        return without_jits(function, tree, avals)


def without_jits(function: Callable[..., Any], tree: Any, avals: Sequence[Any]) -> TracedJaxpr:
    """Trace ``function``, in which no ``jax.jit`` is a program of its own: nearly every function of
    ``jax.numpy`` is one, and to trace it takes longer than what it does.

    Loops are unrolled but for those of `torchlike._ops.loops`. ``jax.make_jaxpr`` does the same by
    a ``jax.jit`` made for the purpose, with its checks of shardings, donation and names, and takes
    200 µs where this takes 30.
    """
    structure: Any = None

    def flat(*tracers: Any) -> list[Any]:
        nonlocal structure
        out, structure = jax.tree.flatten(function(*jax.tree.unflatten(tree, tracers)))
        return out

    wrapped = jax_tracing.wrap_init(flat, debug_info=_unnamed())
    with jax.disable_jit():
        jaxpr, _, constants = jax_tracing.trace_to_jaxpr(wrapped, avals)
    if hasattr(jaxpr, "with_consts"):  # its first inputs are the constants until it is told so
        jaxpr = jaxpr.with_consts(constants)
    return TracedJaxpr(jaxpr, constants, structure)


@functools.cache
def _unnamed() -> Any:
    """Return the information on a function that JAX writes into errors about tracers that
    leaked."""
    return jax_tracing.DebugInfo("jit", "a first call", None, None)


def _aval(leaf: Any, shape: Any) -> Any:
    if shape is None:
        return jax.typeof(leaf)
    weak = getattr(leaf, "weak_type", False)
    return core.ShapedArray(shape, leaf.dtype, weak_type=weak)
