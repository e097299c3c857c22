"""Writes into a part of a large array that do nothing where a check of values has failed.

To choose between the old and the new value of a key-value cache would read all of it at each token.
Where the new value is the old one with parts written over (``cache[:, position] = k``), what is
written is chosen instead: the part as it was, an index that XLA drops, or zeros to be added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._jit.rolling.writing import renamed
from torchlike._runtime.jax_private.equations import CHECKPOINTS, called
from torchlike._runtime.jax_private.jaxprs import is_literal, make_var
from torchlike._runtime.jax_private.primitives import rebind

#: Arrays of fewer bytes are chosen whole.
_LEAST = 1 << 16
#: Equations of the longest function of JAX that is taken over equation by equation to look inside.
_MOST = 12
#: Calls that are not taken over: regions that are computed again, gradients of their own.
_KEPT = CHECKPOINTS | {"custom_vjp_call"}
_ADDING = ("scatter-add", "scatter_add")


def taken_apart(eqns: Sequence[Any], marked: Sequence[Any]) -> list[Any]:
    """Return equations with the calls taken over that lead to new values of large arrays.

    ``marked`` are the ``kept`` equations among them.
    """
    wanted = {e.invars[0] for e in marked if _is_large(e)}
    if not wanted:
        return list(eqns)
    found: list[Any] = []
    for eqn in reversed(eqns):
        if wanted.isdisjoint(eqn.outvars):
            found.append(eqn)
            continue
        inner = _inlined(eqn)
        for each in reversed(inner):
            if not wanted.isdisjoint(each.outvars):
                at = each.invars[0] if _writes(each) else _passed_on(each)
                if at is not None and not is_literal(at):
                    wanted.add(at)
        found += reversed(inner)
    return found[::-1]


def writers(eqn: Any, makers: dict[Any, Any]) -> list[Any] | None:
    """Return the equations that write the parts of which the new value of a ``kept`` equation
    differs from the old one; None where it is more than that."""
    if not _is_large(eqn):
        return None
    at, old = eqn.invars
    found = []
    while at is not old:
        maker = None if is_literal(at) else makers.get(at)
        if maker is None:
            return None
        if _writes(maker):
            found.append(maker)
            at = maker.invars[0]
        elif (same := _passed_on(maker)) is not None:
            at = same
        else:
            return None
    return found


def _passed_on(eqn: Any) -> Any:
    """Return the operand whose elements an equation gives in their order, as its one result; None
    where it does anything else."""
    if eqn.primitive.name in ("reshape", "squeeze"):
        return eqn.invars[0]
    jaxpr = _inside(eqn)
    if jaxpr is None or len(jaxpr.outvars) != 1 or jaxpr.outvars[0] not in jaxpr.invars:
        return None
    return eqn.invars[jaxpr.invars.index(jaxpr.outvars[0])]


def _inside(eqn: Any) -> Any:
    """Return the program that an equation runs once on its operands; None for any other, and for
    those of `_KEPT`."""
    found = None if eqn.primitive.name in _KEPT else called(eqn)
    return None if found is None else found[0]


def undone(eqn: Any) -> Any:
    """Return a function of whether all is well and of a writing equation's operands, which writes
    nothing where it is not."""
    name = eqn.primitive.name

    def write(ok: Any, x: Any, *operands: Any) -> Any:
        if name == "dynamic_update_slice":
            part, *start = operands
            before = lax.dynamic_slice(x, start, part.shape)
            return lax.dynamic_update_slice(x, _choose(ok, part, before), start)
        index, part = operands
        if name in _ADDING:
            part = _choose(ok, part, jnp.full_like(part, _nothing(part.dtype)))
        else:
            index = _choose(ok, index, jnp.full_like(index, np.iinfo(index.dtype).max))
        return rebind(eqn, x, index, part)

    return write


def _choose(ok: Any, x: Any, y: Any) -> Any:
    return lax.select(ok, x, y)


def _nothing(dtype: Any) -> Any:
    """Return what changes no number that it is added to, -0.0 neither."""
    return -0.0 if jnp.issubdtype(dtype, jnp.inexact) else 0


def _writes(eqn: Any) -> bool:
    """True if an equation gives its first operand with a part written, in a way `undone` knows."""
    name = eqn.primitive.name
    if name == "scatter":
        drops = eqn.params["mode"] == lax.GatherScatterMode.FILL_OR_DROP
        # Where nothing is to be written, all indices are one that is dropped: not unique, if many.
        is_one = math.prod(eqn.invars[1].aval.shape[:-1]) == 1
        return drops and (is_one or not eqn.params["unique_indices"])
    return name == "dynamic_update_slice" or name in _ADDING


def _is_large(eqn: Any) -> bool:
    new, old = eqn.invars
    size = math.prod(old.aval.shape) * old.aval.dtype.itemsize
    return size >= _LEAST and not is_literal(new)


def _inlined(eqn: Any) -> list[Any]:
    """Return the equations of a short call, on its operands; the call itself where it is longer."""
    jaxpr = _inside(eqn)
    if jaxpr is None or jaxpr.constvars or len(jaxpr.eqns) > _MOST:
        return [eqn]
    names = dict(zip(jaxpr.invars, eqn.invars, strict=True))
    made = {v for e in jaxpr.eqns for v in e.outvars}
    results = [v for v in jaxpr.outvars if not is_literal(v)]
    if len(set(results)) != len(jaxpr.outvars) or not made.issuperset(results):
        return [eqn]  # gives an operand back, or one result twice
    names |= dict(zip(jaxpr.outvars, eqn.outvars, strict=True))
    found = []
    for each in jaxpr.eqns:
        for v in each.outvars:
            if v not in names:
                names[v] = make_var(v.aval)
        found.append(
            each.replace(
                invars=[renamed(v, names) for v in each.invars],
                outvars=[renamed(v, names) for v in each.outvars],
            )
        )
    return found
