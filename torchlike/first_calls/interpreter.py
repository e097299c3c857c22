"""A jaxpr as a function of NumPy arrays.

What depends on the jaxpr alone is done once (``Plan``): in which slot of a list each value lies,
which slot is free after which step, which equations nobody needs. What depends on sizes is done for
each set of them (``Plan.function``): a jaxpr may have symbols for sizes (``families``), which are
numbers by then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from torchlike.first_calls.internals import internals
from torchlike.first_calls.rules import RULES, Equation, Unsupported
from torchlike.first_calls.rules.arithmetic import BROADCASTING
from torchlike.first_calls.rules.shapes import beside_ones

Sizes = Mapping[str, int]
Evaluate = Callable[[Any, Sizes], int]

#: Bytes of a constant that is computed once, when the plan is made.
_SMALL = 1 << 16


class _Step(NamedTuple):
    function: Callable[..., Any]
    sources: list[int]
    targets: list[int]
    is_many: bool
    #: Slots that no later step reads.
    dead: list[int]


class _Open(NamedTuple):
    """A step whose function depends on symbols."""

    eqn: Any
    is_lazy: bool
    #: Parameters with symbols in them.
    params: list[str]
    step: _Step


class Aval(NamedTuple):
    """What rules look at of an abstract value."""

    shape: tuple[int, ...]
    dtype: Any


def function_of(closed: Any) -> Callable[..., list[Any]]:
    """``f(*arrays) -> list of arrays`` for a closed jaxpr without symbols. Raises Unsupported."""
    return Plan(closed).function({})


class Plan:
    """How one jaxpr, closed or without constants, is evaluated, whatever its symbols stand for.

    ``symbolic``: the class of expressions of symbols, and ``evaluate(expression, sizes)``; None for
    a jaxpr that has none.
    """

    def __init__(self, closed: Any, symbolic: tuple[Any, Evaluate] | None = None) -> None:
        self._jaxpr = getattr(closed, "jaxpr", closed)
        if self._jaxpr.effects:
            raise Unsupported("effects")
        self._symbolic = symbolic
        self._slots: dict[Any, int] = {}
        self._inner: dict[int, Plan] = {}
        #: Values by slot, None where a call provides them.
        self._initial: list[Any] = []
        for var, value in zip(self._jaxpr.constvars, getattr(closed, "consts", ()), strict=True):
            self._constant(var, np.asarray(value))
        self._inputs = [self._slot(v) for v in self._jaxpr.invars]
        self._steps: list[_Step | _Open] = []
        eqns = self._needed()
        lazy = self._broadcast_later(eqns)
        for eqn in eqns:
            self._add(eqn, id(eqn) in lazy)
        self._outputs = [self._slot(v) for v in self._jaxpr.outvars]
        self._find_dead()

    def function(self, sizes: Sizes) -> Callable[..., list[Any]]:
        """The function of NumPy arrays for these sizes."""
        avals: dict[int, Aval] = {}
        steps = [self._closed(s, sizes, avals) if isinstance(s, _Open) else s for s in self._steps]
        initial, inputs, outputs = self._initial, self._inputs, self._outputs

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

    # -- slots and steps ---------------------------------------------------------------------------

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

    def _broadcast_later(self, eqns: list[Any]) -> set[int]:
        """The equations ``broadcast_in_dim`` whose readers broadcast by themselves, by id.

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
        return set(map(id, broadcast.values()))

    def _add(self, eqn: Any, is_lazy: bool) -> None:
        """Add the step of an equation, or its results where they are constants."""
        if eqn.primitive.name not in RULES:
            raise Unsupported(eqn.primitive.name)
        avals = [v.aval for v in (*eqn.invars, *eqn.outvars)]
        for aval in avals:
            if not isinstance(getattr(aval, "dtype", None), np.dtype):
                raise Unsupported(f"values of {aval}")
        sources = [self._slot(v) for v in eqn.invars]
        is_many = eqn.primitive.multiple_results
        params = [name for name, value in eqn.params.items() if self._has_symbols(value)]
        if params or any(self._has_symbols(aval.shape) for aval in avals):
            targets = [self._slot(v) for v in eqn.outvars]
            step = _Step(_unknown, sources, targets, is_many, [])
            self._steps.append(_Open(eqn, is_lazy, params, step))
            return
        function = self._rule(eqn, is_lazy, eqn.params, avals, {})
        values = [self._initial[k] for k in sources]
        if all(v is not None for v in values) and _bytes(avals[len(sources) :]) <= _SMALL:
            found = function(*values)
            for var, value in zip(eqn.outvars, found if is_many else [found], strict=True):
                self._constant(var, np.asarray(value))
            return
        targets = [self._slot(v) for v in eqn.outvars]
        self._steps.append(_Step(function, sources, targets, is_many, []))

    def _rule(
        self, eqn: Any, is_lazy: bool, params: Any, avals: list[Any], sizes: Sizes
    ) -> Callable[..., Any]:
        """The function of an equation with these parameters."""
        n = len(eqn.invars)
        described = Equation(
            params, avals[:n], avals[n:], lambda closed: self._evaluator(closed, sizes)
        )
        return _reshaping(described) if is_lazy else RULES[eqn.primitive.name](described)

    def _evaluator(self, closed: Any, sizes: Sizes) -> Callable[..., list[Any]]:
        plan = self._inner.get(id(closed))
        if plan is None:
            plan = self._inner[id(closed)] = Plan(closed, self._symbolic)
        return plan.function(sizes)

    def _find_dead(self) -> None:
        """Note with each step which slots it is the last to read; inputs stay with the caller."""
        kept = {*self._inputs, *self._outputs}
        steps = [s.step if isinstance(s, _Open) else s for s in self._steps]
        last: dict[int, int] = {}
        for k, step in enumerate(steps):
            for place in (*step.sources, *step.targets):
                last[place] = k
        for place, k in last.items():
            if place not in kept and self._initial[place] is None:
                steps[k].dead.append(place)

    # -- symbols -----------------------------------------------------------------------------------

    def _has_symbols(self, item: Any) -> bool:
        if self._symbolic is None:
            return False
        if type(item) in (tuple, list):
            return any(map(self._has_symbols, item))
        # What is inside of a jaxpr is looked at there.
        return isinstance(item, self._symbolic[0]) or hasattr(item, "eqns")

    def _closed(self, step: _Open, sizes: Sizes, avals: dict[int, Aval]) -> _Step:
        """The step with numbers for its symbols."""
        eqn = step.eqn
        params = eqn.params
        if step.params:
            params = {**params, **{name: self._number(params[name], sizes) for name in step.params}}
        found = []
        for v in (*eqn.invars, *eqn.outvars):
            aval = avals.get(id(v.aval))
            if aval is None:
                shape = self._number(v.aval.shape, sizes)
                aval = avals[id(v.aval)] = Aval(shape, v.aval.dtype)
            found.append(aval)
        function = self._rule(eqn, step.is_lazy, params, found, sizes)
        return step.step._replace(function=function)

    def _number(self, item: Any, sizes: Sizes) -> Any:
        if type(item) is tuple:
            return tuple([self._number(x, sizes) for x in item])
        if type(item) is list:
            return [self._number(x, sizes) for x in item]
        assert self._symbolic is not None
        expression, evaluate = self._symbolic
        return evaluate(item, sizes) if isinstance(item, expression) else item


def _unknown(*arrays: Any) -> Any:
    raise AssertionError("a step whose sizes are not known")


def _is_literal(atom: Any) -> bool:
    return type(atom) is internals.literal


def _reshaping(eqn: Equation) -> Callable[..., Any]:
    sizes = beside_ones(eqn)
    return lambda x: np.reshape(x, sizes)


def _bytes(avals: list[Any]) -> int:
    return sum(math.prod(aval.shape) * aval.dtype.itemsize for aval in avals)
