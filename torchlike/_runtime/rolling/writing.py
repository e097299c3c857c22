"""Makes equations of functions, to stand among the equations of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._runtime.jax_private.jaxprs import is_literal, make_var
from torchlike._runtime.jax_private.primitives import convert
from torchlike._runtime.rolling.wiring import Member


class Writer:
    """Makes equations of functions, and collects the constants that they need."""

    def __init__(self) -> None:
        #: Variables and arrays.
        self.constants: list[tuple[Any, Any]] = []
        #: Programs by the functions and types that they are of. The same few are asked for once for
        #: each parameter, and each would take a millisecond.
        self._programs: dict[Any, Any] = {}

    def equations(
        self, function: Callable[..., Any], operands: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """Return the equations of ``function`` on ``operands`` (variables), and the atoms of its
        results."""
        types = tuple([(v.aval.shape, v.aval.dtype, v.aval.weak_type) for v in operands])
        closed = self._programs.get((function, types))
        if closed is None:
            avals = [jax.ShapeDtypeStruct(s, d, weak_type=weak) for s, d, weak in types]
            closed = self._programs[function, types] = jax.make_jaxpr(function)(*avals)
        jaxpr = closed.jaxpr
        names = dict(zip(jaxpr.invars, operands, strict=True))
        # JAX gives the same jaxpr for the same function again: each time with variables of its own.
        for v in (*jaxpr.constvars, *(v for eqn in jaxpr.eqns for v in eqn.outvars)):
            names[v] = make_var(v.aval)
        constants = [names[v] for v in jaxpr.constvars]
        self.constants += zip(constants, closed.consts, strict=True)
        eqns = [
            with_operands(eqn, names).replace(outvars=[names[v] for v in eqn.outvars])
            for eqn in jaxpr.eqns
        ]
        return eqns, [renamed(v, names) for v in jaxpr.outvars]


def renamed(atom: Any, names: dict[Any, Any]) -> Any:
    return atom if is_literal(atom) else names.get(atom, atom)


def with_operands(eqn: Any, names: dict[Any, Any]) -> Any:
    """Return the equation with other operands in the place of some."""
    if not any(not is_literal(v) and v in names for v in eqn.invars):
        return eqn
    return eqn.replace(invars=[renamed(v, names) for v in eqn.invars])


def as_aval(value: Any, aval: Any) -> Any:
    """Return ``value`` as weakly typed as ``aval`` is."""
    if jax.typeof(value).weak_type == aval.weak_type:
        return value
    return convert(value, aval.dtype, aval.weak_type)


def written(literal: Any) -> Any:
    """Return the value of a number written into a program."""
    return as_aval(jnp.asarray(np.asarray(literal.val, literal.aval.dtype)), literal.aval)


def part(array: Any, member: Member, start: Any) -> Any:
    """Take a part of ``array`` like ``member``, from ``start`` on: a number, or computed."""
    if isinstance(start, int):
        found = lax.slice_in_dim(array, start, start + member.size, axis=member.axis)
    else:
        sizes = [member.size if d == member.axis else n for d, n in enumerate(array.shape)]
        starts = [start if d == member.axis else np.int32(0) for d in range(array.ndim)]
        found = lax.dynamic_slice(array, starts, sizes, allow_negative_indices=False)
    return lax.squeeze(found, [member.axis]) if member.squeezed else found
