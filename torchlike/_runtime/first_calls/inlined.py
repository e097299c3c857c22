"""Calls of a compiled form within the trace of a program: its equations are taken over.

``jax.jit(inline=True)`` does so, too, and finds the form's own trace by a signature in Python and
binds a primitive: 45 µs a call, and twice that where a profile function looks on, as in a capture.
Here the form's trace is found by the avals of its operands: 8 µs. What is out of the ordinary
(values of transforms, meshes) is left to JAX.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import core

from torchlike._runtime.first_calls.tracing import without_jits
from torchlike._runtime.jax_private.equations import walk
from torchlike._runtime.jax_private.tracing import (
    aval_within,
    program_traced,
    taken_over,
    trace_context,
)
from torchlike._runtime.provided import Provided

#: What a form's ``by_numpy`` and `Inlined.call` give where the form, or JAX, is to be called.
DECLINED: Any = object()
#: So many programs of one form are kept; the oldest is forgotten.
_MOST = 256
#: A program of more equations may be a loop that was unrolled.
_MOST_EQUATIONS = 200

#: ``unseen(function, *args)`` is ``function(*args)``, which runs no code of users, hidden from a
#: running capture: its profile function takes as long as what it looks at.
unseen = Provided("hides library code from a running capture", lambda f, *args: f(*args))


class Inlined:
    """The traces of one form, by the avals of its operands.

    ``trace(*args)`` is the method of ``jax.jit`` that makes one; ``function`` is what the form
    computes where that may be traced by `without_jits`.
    """

    __slots__ = ("_function", "_known", "_trace")

    def __init__(
        self, trace: Callable[..., Any], function: Callable[..., Any] | None = None
    ) -> None:
        self._trace, self._function = trace, function
        #: A program and the structure of its results; None where JAX is to be asked.
        self._known: dict[Any, tuple[Any, Any] | None] = {}

    def call(self, *args: Any) -> Any:
        """Return the results of the form, or DECLINED."""
        trace = program_traced()
        if trace is None:
            return DECLINED
        leaves, tree = jax.tree.flatten(args)
        key: list[Any] = [tree, trace_context()]
        for leaf in leaves:
            aval = aval_within(trace, leaf)
            if aval is None:
                return DECLINED
            key.append(aval)
        known = tuple(key)
        if known not in self._known:
            while len(self._known) >= _MOST:
                del self._known[next(iter(self._known))]
            self._known[known] = self._find(args, tree, key[2:])
        found = self._known[known]
        if found is None:
            return DECLINED
        closed, structure = found
        return jax.tree.unflatten(structure, unseen.function(taken_over, trace, closed, leaves))

    def _find(self, args: Any, tree: Any, avals: list[Any]) -> tuple[Any, Any] | None:
        if not all(type(aval) is core.ShapedArray and aval.sharding.mesh.empty for aval in avals):
            return None
        closed, structure = self._traced(tree, avals) or self._traced_by_jax(args)
        # Constants that JAX has made operands of have no place among those of the call.
        if closed.jaxpr.is_high or len(closed.jaxpr.invars) != len(avals):
            return None
        if any(isinstance(c, core.Tracer) for c in closed.consts):
            return None
        return closed, structure

    def _traced(self, tree: Any, avals: list[Any]) -> tuple[Any, Any] | None:
        """Return the program of ``function`` and the structure of its results; None where JAX is to
        trace it, which says what is wrong as well."""
        if self._function is None:
            return None
        try:
            found = without_jits(self._function, tree, avals)
        except Exception:
            return None
        if sum(1 for _ in walk(found.jaxpr)) > _MOST_EQUATIONS:
            return None
        return found, found.structure

    def _traced_by_jax(self, args: Any) -> tuple[Any, Any]:
        traced = self._trace(*args)
        return traced.jaxpr, jax.tree.structure(traced.out_info)
