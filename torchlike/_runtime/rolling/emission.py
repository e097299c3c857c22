"""Writes a loop that was found as equations: one ``lax.scan`` around one turn.

What a turn reads of an array is read in the turn before, and carried. Read in the same turn, XLA's
CPU compiler fuses the reading with what is computed of it, and jaxlib 0.10.2 makes wrong code of
some such fusions: of ``concatenate([..., a + a * b], 1)`` on (4, 5) in float64, with ``a`` and
``b`` at a computed index, four of five columns are wrong (`tests/jit/test_rolled_loops.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._runtime.jax_private.jaxprs import is_literal, make_var, staged
from torchlike._runtime.rolling.wiring import (
    Carried,
    Fixed,
    InductionNumber,
    Inner,
    Loop,
    Rows,
    Stacked,
)
from torchlike._runtime.rolling.writing import Writer, as_aval, part, renamed, written

#: A result of a turn: which equation's, and the how many-th.
Result = tuple[int, int]


class Chain(NamedTuple):
    """A result that is carried from turn to turn, ``len(initial)`` turns far: what stands for it
    in the first turns (None: nothing reads it there)."""

    result: Result
    initial: tuple[Any, ...]


class Turn:
    """One turn of a loop as a program, and the scan around it."""

    def __init__(self, eqns: Sequence[Any], loop: Loop) -> None:
        self._loop = loop
        #: The model of all turns: the first.
        self._eqns = eqns[loop.start : loop.start + loop.period]
        #: Operands from outside, and their variables within the turn.
        self._given: dict[Hashable, tuple[Any, Any]] = {}
        #: Results of the model that are computed in another way, and what stands for them.
        self._instead: dict[Any, Any] = {}
        self._writer = Writer()
        self.body: list[Any] = []
        for position in range(loop.period):
            self.body += self._equation(position)
        self.chains = [
            Chain((s.source.position, s.source.out), s.initial)
            for s, _ in self._given.values()
            if isinstance(s, Carried)
        ]

    def variable(self, result: Result) -> Any:
        position, out = result
        return renamed(self._eqns[position].outvars[out], self._instead)

    # -- the turn ----------------------------------------------------------------------------------

    def _equation(self, position: int) -> list[Any]:
        eqn = self._eqns[position]
        sources = self._loop.operands[position]
        eqn = eqn.replace(invars=list(map(self._operand, sources, (v.aval for v in eqn.invars))))
        if position not in self._loop.moving:
            return [eqn]
        first, strides = self._loop.moving[position]
        index = jax.typeof(np.int32(0))
        moving = {
            d: self._operand(InductionNumber(first[d], stride, index), index)
            for d, stride in enumerate(strides)
            if stride
        }
        return self._moved(eqn, first, moving)

    def _moved(self, eqn: Any, first: Sequence[int], moving: dict[int, Any]) -> list[Any]:
        """Write a slice or a pad at a computed place, and return its equations."""
        aval = eqn.outvars[0].aval
        places = [v for v in eqn.invars if not is_literal(v)]

        def compute(*values: Any) -> Any:
            known = iter(values)
            x, *padding = [written(v) if is_literal(v) else next(known) for v in eqn.invars]
            at = dict(zip(moving, known, strict=True))
            starts = [at.get(d, np.int32(number)) for d, number in enumerate(first)]
            if x.size > math.prod(aval.shape):
                return lax.dynamic_slice(x, starts, aval.shape, allow_negative_indices=False)
            full = lax.broadcast(padding[0], aval.shape)
            return lax.dynamic_update_slice(full, x, starts, allow_negative_indices=False)

        eqns, (found,) = self._writer.equations(compute, [*places, *moving.values()])
        self._instead[eqn.outvars[0]] = found
        return eqns

    def _operand(self, source: Any, aval: Any) -> Any:
        if isinstance(source, Inner):
            return self.variable((source.position, source.out))
        if isinstance(source, Fixed) and is_literal(source.atom):
            return source.atom
        key = _key(source)
        if key not in self._given:
            self._given[key] = source, make_var(aval)
        return self._given[key][1]

    # -- the scan ----------------------------------------------------------------------------------

    def scan(
        self,
        jaxpr: Any,
        constants: Sequence[Any],
        chains: Sequence[Chain],
        each: Sequence[Result],
        writer: Writer,
    ) -> tuple[list[Any], list[list[Any]], list[Any]]:
        """Write the loop and return its equations; for each of ``chains`` what is carried out of
        the last turn; and the stacked results ``each``.

        ``jaxpr`` takes ``constants`` and the operands, and gives the results of ``chains`` and
        ``each``. The first of ``chains`` are those of the turn.
        """
        sources = [source for source, _ in self._given.values()]
        outside = list(dict.fromkeys(v for s in sources for v in _variables(s)))
        loop = staged(jaxpr)
        turns = self._loop.turns
        avals = [self.variable(chain.result).aval for chain in chains]

        def run(*values: Any) -> Any:
            known = dict(zip(outside, values, strict=True))

            def read(atom: Any) -> Any:
                return written(atom) if is_literal(atom) else known[atom]

            given = [_outside(source, read, turns) for source in sources]
            initial = [
                [_start(x, aval, read) for x in chain.initial]
                for chain, aval in zip(chains, avals, strict=True)
            ]

            def at(turn: Any) -> list[Any]:
                """Return the values that a turn reads of arrays."""
                return [
                    as_aval(_at(source, value, turn), variable.aval)
                    for (source, variable), value in zip(self._given.values(), given, strict=True)
                    if isinstance(source, (Rows, Stacked))
                ]

            def step(carry: Any, _: Any) -> Any:
                turn, read_before, carried = carry
                rows, heads = iter(read_before), iter(carried)
                operands: list[Any] = []
                for (source, variable), value in zip(self._given.values(), given, strict=True):
                    if isinstance(source, Carried):
                        operands.append(next(heads)[0])
                    elif isinstance(source, (Rows, Stacked)):
                        operands.append(next(rows))
                    else:
                        operands.append(as_aval(_at(source, value, turn), variable.aval))
                results = loop(*constants, *operands)
                new = results[: len(chains)]
                carried = [[*old[1:], x] for old, x in zip(carried, new, strict=True)]
                turn = turn + np.int32(1)
                return (turn, at(turn), carried), results[len(chains) :]

            start = jnp.int32(0)
            (_, _, last), stacked = lax.scan(step, (start, at(start), initial), None, length=turns)
            return [x for values in last for x in values], stacked

        eqns, atoms = writer.equations(run, outside)
        found = iter(atoms)
        last = [[next(found) for _ in chain.initial] for chain in chains]
        return eqns, last, list(found)

    def parts(self, chains: Sequence[Chain], each: Sequence[Result]) -> tuple[list[Any], list[Any]]:
        """Return the variables that the turn takes and those that it gives."""
        taken = [variable for _, variable in self._given.values()]
        return taken, [self.variable(r) for r in [*(c.result for c in chains), *each]]

    @property
    def constants(self) -> list[tuple[Any, Any]]:
        return self._writer.constants


def _key(source: Any) -> Hashable:
    """Return the key of an operand: two with one key are one."""
    if isinstance(source, Carried):
        return Carried, source.source, tuple(map(id, source.initial))
    if isinstance(source, Stacked):
        return Stacked, tuple(map(id, source.atoms))
    return type(source), source


def _variables(source: Any) -> list[Any]:
    """Return the variables from outside that an operand is made of."""
    atoms: Sequence[Any] = ()
    if isinstance(source, Fixed):
        atoms = [source.atom]
    elif isinstance(source, Rows):
        atoms = [source.first.array]
    elif isinstance(source, Carried):
        atoms = source.initial
    elif isinstance(source, Stacked):
        atoms = source.atoms
    return [v for v in atoms if not is_literal(v)]


def _outside(source: Any, read: Callable[[Any], Any], turns: int) -> Any:
    """Return the value that the scan holds for an operand."""
    if isinstance(source, Fixed):
        return read(source.atom)
    if isinstance(source, Rows):
        return read(source.first.array)
    if isinstance(source, Stacked):
        if all(map(is_literal, source.atoms)):
            dtype = source.atoms[0].aval.dtype
            return jnp.asarray(np.array([np.asarray(a.val) for a in source.atoms], dtype))
        return jnp.stack(list(map(read, source.atoms)))
    return None


def _at(source: Any, value: Any, turn: Any) -> Any:
    """Return the value of an operand in a turn. Integers wrap around, as their dtype does."""
    if isinstance(source, Rows):
        moved = turn if source.stride == 1 else turn * np.int32(source.stride)
        return part(value, source.first, moved + np.int32(source.first.start))
    if isinstance(source, Stacked):
        return lax.dynamic_index_in_dim(value, turn, keepdims=False, allow_negative_indices=False)
    if isinstance(source, InductionNumber):
        dtype = source.aval.dtype
        first, stride = (np.array(x).astype(dtype) for x in (source.first, source.stride))
        return first + turn.astype(dtype) * stride
    return value


def _start(atom: Any, aval: Any, read: Callable[[Any], Any]) -> Any:
    return as_aval(jnp.zeros(aval.shape, aval.dtype) if atom is None else read(atom), aval)
