"""A jaxpr as a function of NumPy arrays.

Everything that depends on the program alone is done once, when it is made: which rule computes an
equation, in which slot of a list each value lies, which slot is free after which step, what is
constant. Equations whose results nobody asks for are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from torchlike.first_calls.internals import internals
from torchlike.first_calls.rules import RULES, Equation, Unsupported
from torchlike.first_calls.rules.arithmetic import BROADCASTING
from torchlike.first_calls.rules.shapes import beside_ones

#: Bytes of a constant that is computed once, when the program is made.
_SMALL = 1 << 16


class _Step(NamedTuple):
    function: Callable[..., Any]
    sources: list[int]
    targets: list[int]
    is_many: bool
    #: Slots that no later step reads.
    dead: list[int]


def function_of(closed: Any) -> Callable[..., list[Any]]:
    """``f(*arrays) -> list of arrays`` for a closed jaxpr. Raises Unsupported."""
    if closed.jaxpr.effects:
        raise Unsupported("effects")
    return _Maker(closed).function()


class _Maker:
    """Makes the function of one jaxpr."""

    def __init__(self, closed: Any) -> None:
        self._jaxpr = closed.jaxpr
        self._slots: dict[Any, int] = {}
        #: Values by slot, None where a call provides them.
        self._initial: list[Any] = []
        for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
            self._constant(var, np.asarray(value))

    def function(self) -> Callable[..., list[Any]]:
        inputs = [self._slot(v) for v in self._jaxpr.invars]
        steps = []
        eqns = self._needed()
        lazy = self._broadcast_later(eqns)
        for eqn in eqns:
            step = self._step(eqn, eqn in lazy)
            if step is not None:
                steps.append(step)
        outputs = [self._slot(v) for v in self._jaxpr.outvars]
        self._find_dead(steps, {*inputs, *outputs})
        initial = self._initial

        def run(*arrays: Any) -> list[Any]:
            slots = initial.copy()
            for place, array in zip(inputs, arrays, strict=True):
                slots[place] = array
            for function, sources, targets, is_many, dead in steps:
                found = function(*[slots[k] for k in sources])
                if is_many:
                    for place, value in zip(targets, found, strict=True):
                        slots[place] = value
                else:
                    slots[targets[0]] = found
                for place in dead:
                    slots[place] = None
            return [slots[k] for k in outputs]

        return run

    def _slot(self, atom: Any) -> int:
        if _is_literal(atom):
            self._initial.append(np.asarray(atom.val, atom.aval.dtype))
            return len(self._initial) - 1
        place = self._slots.get(atom)
        if place is None:
            place = self._slots[atom] = len(self._initial)
            self._initial.append(None)
        return place

    def _constant(self, var: Any, value: Any) -> None:
        self._initial[self._slot(var)] = value

    def _needed(self) -> list[Any]:
        """The equations that the outputs depend on."""
        live = {v for v in self._jaxpr.outvars if not _is_literal(v)}
        found = []
        for eqn in reversed(self._jaxpr.eqns):
            if live.isdisjoint(eqn.outvars) and not eqn.effects:
                continue
            live.update(v for v in eqn.invars if not _is_literal(v))
            found.append(eqn)
        found.reverse()
        return found

    def _broadcast_later(self, eqns: list[Any]) -> set[Any]:
        """The equations ``broadcast_in_dim`` whose readers broadcast by themselves.

        NumPy does so at no cost where another operand has the full shape; by itself it takes 3 µs
        and makes later loops slower.
        """
        broadcast = {
            eqn.outvars[0]: eqn
            for eqn in eqns
            if eqn.primitive.name == "broadcast_in_dim" and len(eqn.invars) == 1
        }
        for eqn in eqns:
            shape = eqn.outvars[0].aval.shape if len(eqn.outvars) == 1 else None
            joins = eqn.primitive.name in BROADCASTING and any(
                not _is_literal(v) and v not in broadcast and v.aval.shape == shape
                for v in eqn.invars
            )
            if not joins:
                for v in eqn.invars:
                    if not _is_literal(v):
                        broadcast.pop(v, None)
        for v in self._jaxpr.outvars:
            if not _is_literal(v):
                broadcast.pop(v, None)
        return _Identities(broadcast.values())

    def _step(self, eqn: Any, is_lazy: bool) -> _Step | None:
        """The step of an equation, or None where its results are constants."""
        rule = RULES.get(eqn.primitive.name)
        if rule is None:
            raise Unsupported(eqn.primitive.name)
        operands, results = [v.aval for v in eqn.invars], [v.aval for v in eqn.outvars]
        for aval in (*operands, *results):
            if not isinstance(getattr(aval, "dtype", None), np.dtype):
                raise Unsupported(f"values of {aval}")
        described = Equation(eqn.params, operands, results, function_of)
        function = _reshaping(described) if is_lazy else rule(described)
        sources = [self._slot(v) for v in eqn.invars]
        is_many = eqn.primitive.multiple_results
        values = [self._initial[k] for k in sources]
        if all(v is not None for v in values) and _bytes(results) <= _SMALL:
            found = function(*values)
            for var, value in zip(eqn.outvars, found if is_many else [found], strict=True):
                self._constant(var, np.asarray(value))
            return None
        return _Step(function, sources, [self._slot(v) for v in eqn.outvars], is_many, [])

    def _find_dead(self, steps: list[_Step], kept: set[int]) -> None:
        """Note with each step which slots it is the last to read; inputs stay with the caller."""
        last: dict[int, int] = {}
        for k, step in enumerate(steps):
            for place in (*step.sources, *step.targets):
                last[place] = k
        for place, k in last.items():
            if place not in kept and self._initial[place] is None:
                steps[k].dead.append(place)


class _Identities:
    """A set of objects that are compared by identity."""

    def __init__(self, objects: Any) -> None:
        self._ids = set(map(id, objects))

    def __contains__(self, item: Any) -> bool:
        return id(item) in self._ids


def _is_literal(atom: Any) -> bool:
    return type(atom) is internals.literal


def _reshaping(eqn: Equation) -> Callable[..., Any]:
    sizes = beside_ones(eqn)
    return lambda x: np.reshape(x, sizes)


def _bytes(avals: list[Any]) -> int:
    return sum(int(np.prod(aval.shape)) * aval.dtype.itemsize for aval in avals)
