"""Writes of a program: into the memory of the input that they replace, and into a part of an array.

Each cell in its own memory (`each_in_its_memory`), and after all that reads its old value. XLA may
write into the memory of an input once nobody reads the input any more. The gradient with respect to
a layer's input reads the layer's weight, and nothing says that it comes before the weight's update:
both only follow from the layers above. So XLA's CPU compiler copies every weight at the start of a
step (it looks at data dependencies alone; those of an ``optimization_barrier`` are gone by then).
Here such an update is made to depend on one element of what each reader computes. Without copies a
ResNet-18 step takes 0.96 of the time, a GPT step 0.97, a CNN step 0.97 (two cores of Zen 5;
hand-written JAX has the copies).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._runtime import targets
from torchlike._runtime.jax_private.equations import CHECKPOINTS, called, subjaxprs
from torchlike._runtime.jax_private.jaxprs import is_literal, make_var
from torchlike._runtime.jax_private.primitives import rebind
from torchlike._runtime.rolling.writing import renamed

#: Inputs of fewer bytes are left alone: their copy costs less than a step of the program.
_LEAST = 1 << 16
#: How primitives are named whose results XLA computes where they stand. All others may be computed
#: again within each reader, and so read what they read as late as those do.
_COMPUTED_ONCE = (
    "dot_general",
    "conv_general",
    "while",
    "scan",
    "cond",
    "sort",
    "gather",
    "scatter",
    "reduce_",
    "cum",
    "arg",
    "fft",
    "custom_call",
    "ffi",
)


class _Order:
    """Which equations of a jaxpr follow from which that are computed once."""

    def __init__(self, jaxpr: Any) -> None:
        self._returned = Counter(v for v in jaxpr.outvars if not is_literal(v))
        self._readers: dict[Any, list[Any]] = {}
        #: A bit for each equation that is computed once, or gives an output.
        self._bits: dict[int, int] = {}
        #: What a variable follows from, as bits, and which equation it is made by.
        self._before: dict[Any, int] = {}
        self._maker: dict[Any, Any] = {}
        for eqn in jaxpr.eqns:
            before = 0
            for v in eqn.invars:
                if not is_literal(v):
                    self._readers.setdefault(v, []).append(eqn)
                    before |= self._before.get(v, 0)
            if _is_computed_once(eqn) or not self._returned.keys().isdisjoint(eqn.outvars):
                self._bits[id(eqn)] = 1 << len(self._bits)
                before |= self._bits[id(eqn)]
            for v in eqn.outvars:
                self._before[v], self._maker[v] = before, eqn

    def late_readers(self, old: Any, new: Any) -> list[Any]:
        """Return results, one of each equation that reads ``old`` and need not come before ``new``.

        An empty list where there are no such equations, or ``old`` is needed after ``new`` anyway.
        """
        last = self._maker.get(new)
        if last is None or new in self._readers or self._returned[new] > 1:
            return []
        found: list[Any] = []
        ways, seen = [old], {id(last)}
        while ways:
            v = ways.pop()
            if v in self._returned and v is not new:
                return []
            for eqn in self._readers.get(v, ()):
                if id(eqn) in seen:
                    continue
                seen.add(id(eqn))
                if not _is_computed_once(eqn):
                    ways += eqn.outvars
                elif not self._before[new] & self._bits[id(eqn)]:
                    result = next(filter(_can_tell, eqn.outvars), None)
                    if result is None or self._before[result] & self._bits[id(last)]:
                        return []
                    found.append(result)
        return found


def _is_computed_once(eqn: Any) -> bool:
    if eqn.primitive.name.startswith(_COMPUTED_ONCE):
        return True
    return any(_is_computed_once(e) for inner in subjaxprs(eqn) for e in inner.eqns)


def _can_tell(v: Any) -> bool:
    return jnp.issubdtype(v.aval.dtype, jnp.floating) and v.aval.size > 0


def each_in_its_memory(written: Sequence[Any], given_up: Sequence[Any]) -> list[int]:
    """Return the order in which outputs are written to the memory of the inputs that they replace.

    JAX gives the memory of an input to the first output of its shape and dtype. In the order of the
    writes it may be another parameter's, which XLA then has to copy (64 of the 184 cells of a
    ResNet-18). So the first outputs are those of ``given_up``; ``written`` says what each is of.
    """
    place = {key: n for n, key in enumerate(given_up)}
    return sorted(range(len(written)), key=lambda o: place.get(written[o], len(place)))


def late_readers(jaxpr: Any, given_up: Sequence[Any]) -> dict[int, list[Any]]:
    """Return, for outputs of ``jaxpr``, what has to be computed before them.

    The first outputs are written into the memory of the inputs ``given_up``.
    """
    large = [
        o
        for o, v in enumerate(given_up)
        if math.prod(v.aval.shape) * v.aval.dtype.itemsize >= _LEAST
    ]
    if not large or not targets.is_cpu():
        return {}
    order = _Order(jaxpr)
    found = {
        o: order.late_readers(given_up[o], jaxpr.outvars[o])
        for o in large
        if not is_literal(jaxpr.outvars[o])
    }
    return {o: readers for o, readers in found.items() if readers}


def updates_last(
    jaxpr: Any, given_up: Sequence[Any], evaluator: Callable[[Any], Callable[..., Any]]
) -> Callable[..., Any]:
    """Return ``evaluator(jaxpr)``, changed so that updates depend on what reads the old values."""
    late = late_readers(jaxpr, given_up)
    if not late:
        return evaluator(jaxpr)
    n = len(jaxpr.outvars)
    more = [v for readers in late.values() for v in readers]
    whole = evaluator(jaxpr.replace(outvars=[*jaxpr.outvars, *more]))

    def program(*inputs: Any) -> Any:
        results = whole(*inputs)
        outputs, rest = list(results[:n]), iter(results[n:])
        for o, readers in late.items():
            outputs[o] = _after([next(rest) for _ in readers], outputs[o])
        return outputs

    return program


def _after(others: Sequence[Any], value: Any) -> Any:
    """Return ``value``, computed after ``others``: selected by a condition on an element of each
    that XLA cannot know to hold always (for numbers that are none, ``x == x`` does not)."""
    holds = jnp.asarray(True)
    for other in others:
        x = lax.slice(other, (0,) * other.ndim, (1,) * other.ndim).reshape(())
        holds &= (x == x) | (x != x)
    return lax.select(jnp.broadcast_to(holds, value.shape), value, jnp.zeros_like(value))


#: Arrays of fewer bytes are chosen whole.
_LEAST_LARGE = 1 << 16
#: Equations of the longest function of JAX that is taken over equation by equation to look inside.
_MOST = 12
#: Calls that are not taken over: regions that are computed again, gradients of their own.
_KEPT = CHECKPOINTS | {"custom_vjp_call"}
_ADDING = ("scatter-add", "scatter_add")


def taken_apart(eqns: Sequence[Any], marked: Sequence[Any]) -> list[Any]:
    """Return equations with the calls taken over that lead to new values of large arrays.

    ``marked`` are the ``kept`` equations among them.

    Writes into a part of a large array that do nothing where a check of values has failed.

    To choose between the old and the new value of a key-value cache would read all of it at each
    token. Where the new value is the old one with parts written over (``cache[:, position] = k``),
    what is written is chosen instead: the part as it was, an index that XLA drops, or zeros to be
    added.
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
    return size >= _LEAST_LARGE and not is_literal(new)


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
