"""A jaxpr as a function of NumPy arrays.

What depends on the jaxpr alone is done once (``EvaluationPlan``): in which slot each value lies
(``equations``), which are constants, which slot is free after which step. What depends on sizes is
done for each set of them (``EvaluationPlan.function``): a jaxpr may have symbols for sizes
(``families``), which are numbers by then.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from torchlike._runtime.first_calls.equations import SlotEquation, SlotEquations
from torchlike._runtime.first_calls.rules import RULES, Equation, NoNumpyRule
from torchlike._runtime.first_calls.rules.arithmetic import BROADCASTING
from torchlike._runtime.first_calls.rules.registry import Method
from torchlike._runtime.first_calls.rules.shapes import beside_ones

Sizes = Mapping[str, int]
Evaluate = Callable[[Any, Sizes], int]

#: Bytes of a constant that is computed once, when the plan is made.
_SMALL = 1 << 16
#: Compiling a plan as Python code takes 10 µs a line, running a line 0.1, where a turn of a loop
#: over steps takes 0.4: a plan of more steps than the first is run by the loop so often, and none
#: of more than the second becomes code.
_MOST_LINES, _MOST_LINES_IN_USE = 24, 400
_CALLS_BY_LOOP = 30


class _Step(NamedTuple):
    function: Callable[..., Any]
    sources: list[int]
    targets: list[int]
    is_many: bool
    #: Slots that no later step reads.
    dead: list[int]


class _Open(NamedTuple):
    """A step whose function depends on symbols."""

    eqn: SlotEquation
    is_lazy: bool
    #: Parameters with symbols in them.
    params: list[str]
    step: _Step


class Aval(NamedTuple):
    """What rules look at of an abstract value."""

    shape: tuple[int, ...]
    dtype: Any


def function_of(closed: Any) -> Callable[..., list[Any]]:
    """Return the function ``f(*arrays) -> list of arrays`` for a closed jaxpr without symbols.
    Raises NoNumpyRule."""
    return EvaluationPlan(closed).function({})


class EvaluationPlan:
    """How one jaxpr, closed or without constants, is evaluated, whatever its symbols stand for.

    ``symbolic``: the class of expressions of symbols, and ``evaluate(expression, sizes)``; None for
    a jaxpr that has none. ``known``: values of inputs by their position, which calls then give in
    vain. Raises NoNumpyRule.
    """

    def __init__(
        self,
        closed: Any,
        symbolic: tuple[Any, Evaluate] | None = None,
        known: dict[int, Any] | None = None,
    ) -> None:
        self._closed = closed
        self._symbolic = symbolic
        self._inner: dict[int, EvaluationPlan] = {}
        self._knowing: dict[Any, EvaluationPlan] = {}
        #: The plan as code, by the methods that its steps are.
        self._code: dict[tuple[str, ...], tuple[Callable[..., Any], list[Any]]] = {}
        flat = SlotEquations(closed, known)
        #: Values by slot, None where a call provides them.
        self._initial: list[Any] = flat.values
        self._inputs, self._outputs = flat.inputs, flat.outputs
        self._steps: list[_Step | _Open] = []
        eqns = _keeping_dimensions(flat.needed(), self._outputs)
        lazy = self._broadcast_later(eqns)
        same: dict[int, int] = {}
        for eqn in eqns:
            if id(eqn) in lazy and _is_of_last(eqn):
                same[eqn.targets[0]] = same.get(eqn.sources[0], eqn.sources[0])
                continue
            sources = [same.get(k, k) for k in eqn.sources]
            self._add(eqn._replace(sources=sources), id(eqn) in lazy)
        self._find_dead()

    def __len__(self) -> int:
        """Return the number of NumPy's functions that a call runs."""
        return len(self._steps)

    def knowing(self, known: dict[int, Any]) -> EvaluationPlan:
        """Return the plan, made once, for calls in which these inputs have these values."""
        key = tuple(known.items())
        found = self._knowing.get(key)
        if found is None:
            found = self._knowing[key] = EvaluationPlan(self._closed, self._symbolic, known)
        return found

    def function(self, sizes: Sizes) -> Callable[..., list[Any]]:
        """Return the function of NumPy arrays for these sizes."""
        avals: dict[int, Aval] = {}
        steps = [
            self._closed_step(s, sizes, avals) if isinstance(s, _Open) else s for s in self._steps
        ]
        if len(steps) <= _MOST_LINES:
            return self._as_code(steps)
        calls_left = _CALLS_BY_LOOP if len(steps) <= _MOST_LINES_IN_USE else -1
        code: Callable[..., list[Any]] | None = None
        initial, inputs, outputs = self._initial, self._inputs, self._outputs

        def run(*arrays: Any) -> list[Any]:
            nonlocal calls_left, code
            if code is not None:
                return code(*arrays)
            calls_left -= 1
            if not calls_left:
                code = self._as_code(steps)
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

    def _as_code(self, steps: list[_Step]) -> Callable[..., list[Any]]:
        methods, given = [], []
        for step in steps:
            function = step.function
            is_method = type(function) is Method
            methods.append(function.name if is_method else "")
            given.append(function.argument if is_method else function)
        key = tuple(methods)
        found = self._code.get(key)
        if found is None:
            found = self._code[key] = self._written(methods)
        make, constants = found
        return make(*given, *constants)

    def _written(self, methods: list[str]) -> tuple[Callable[..., Any], list[Any]]:
        """Write the plan as Python code: ``make(*functions of the steps, *constants)``, which plans
        of one structure share; of a step that is a method, its argument. Return it and the
        constants."""
        steps = [s.step if isinstance(s, _Open) else s for s in self._steps]
        inputs = [f"i{n}" for n in range(len(self._inputs))]
        names = {
            k: text
            for k, text in zip(self._inputs, inputs, strict=True)
            if self._initial[k] is None
        }
        constants: list[Any] = []

        def name(k: int) -> str:
            found = names.get(k)
            if found is None:  # neither an input nor a result
                found = names[k] = f"c{len(constants)}"
                constants.append(self._initial[k])
            return found

        lines, n_results = [], 0
        for i, step in enumerate(steps):
            read = [name(k) for k in step.sources]
            call = f"{read[0]}.{methods[i]}(f{i})" if methods[i] else f"f{i}({', '.join(read)})"
            for k in step.targets:
                names[k] = f"r{n_results}"
                n_results += 1
            targets = ", ".join([names[k] for k in step.targets])
            lines.append(f"  {targets}{',' * step.is_many} = {call}")
            lines += [f"  {names[k]} = None" for k in step.dead]
        results = ", ".join(map(name, self._outputs))
        given = [*(f"f{i}" for i in range(len(steps))), *(f"c{i}" for i in range(len(constants)))]
        source = "\n".join(
            [
                f"def make({', '.join(given)}):",
                f" def run({', '.join(inputs)}):",
                *lines,
                f"  return [{results}]",
                " return run",
            ]
        )
        return _maker(source), constants

    # -- steps -------------------------------------------------------------------------------------

    def _broadcast_later(self, eqns: list[SlotEquation]) -> set[int]:
        """Return the equations ``broadcast_in_dim``, by id, whose readers broadcast by themselves.

        NumPy does so at no cost where another operand has the full shape; by itself it takes 3 µs
        and makes later loops slower.
        """
        broadcast = {
            eqn.targets[0]: eqn
            for eqn in eqns
            if eqn.name == "broadcast_in_dim" and len(eqn.sources) == 1
        }
        for eqn in eqns:
            shape = eqn.results[0].shape if len(eqn.results) == 1 else None
            joins = eqn.name in BROADCASTING and any(
                k not in broadcast and aval.shape == shape
                for k, aval in zip(eqn.sources, eqn.operands, strict=True)
            )
            if not joins:
                for k in eqn.sources:
                    broadcast.pop(k, None)
        for k in self._outputs:
            broadcast.pop(k, None)
        return set(map(id, broadcast.values()))

    def _add(self, eqn: SlotEquation, is_lazy: bool) -> None:
        """Add the step of an equation, or its results where they are constants."""
        if eqn.name not in RULES:
            raise NoNumpyRule(eqn.name)
        avals = [*eqn.operands, *eqn.results]
        for aval in avals:
            if not isinstance(getattr(aval, "dtype", None), np.dtype):
                raise NoNumpyRule(f"values of {aval}")
        params = [name for name, value in eqn.params.items() if self._has_symbols(value)]
        step = _Step(_unknown, eqn.sources, eqn.targets, eqn.is_many, [])
        if params or any(self._has_symbols(aval.shape) for aval in avals):
            self._steps.append(_Open(eqn, is_lazy, params, step))
            return
        function = self._rule(eqn, is_lazy, eqn.params, avals, {})
        values = [self._initial[k] for k in eqn.sources]
        if all(v is not None for v in values) and _bytes(eqn.results) <= _SMALL:
            found = function(*values)
            for k, value in zip(eqn.targets, found if eqn.is_many else [found], strict=True):
                self._initial[k] = np.asarray(value)
            return
        self._steps.append(step._replace(function=function))

    def _rule(
        self, eqn: SlotEquation, is_lazy: bool, params: Any, avals: list[Any], sizes: Sizes
    ) -> Callable[..., Any]:
        """Return the function of an equation with these parameters."""
        n = len(eqn.sources)
        described = Equation(
            params, avals[:n], avals[n:], lambda closed: self._evaluator(closed, sizes)
        )
        return _reshaping(described) if is_lazy else RULES[eqn.name](described)

    def _evaluator(self, closed: Any, sizes: Sizes) -> Callable[..., list[Any]]:
        plan = self._inner.get(id(closed))
        if plan is None:
            plan = self._inner[id(closed)] = EvaluationPlan(closed, self._symbolic)
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

    def _closed_step(self, step: _Open, sizes: Sizes, avals: dict[int, Aval]) -> _Step:
        """Return the step with numbers for its symbols."""
        eqn = step.eqn
        params = eqn.params
        if step.params:
            params = {**params, **{name: self._number(params[name], sizes) for name in step.params}}
        found = []
        for given in (*eqn.operands, *eqn.results):
            aval = avals.get(id(given))
            if aval is None:
                aval = avals[id(given)] = Aval(self._number(given.shape, sizes), given.dtype)
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


@functools.lru_cache(4096)
def _maker(source: str) -> Callable[..., Any]:
    """Compile generated code and return its function ``make``."""
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(source, f"{__file__}:plan", "exec"), names)
    return names["make"]


def _unknown(*arrays: Any) -> Any:
    raise AssertionError("a step whose sizes are not known")


def _keeping_dimensions(eqns: list[SlotEquation], outputs: list[int]) -> list[SlotEquation]:
    """Return the equations with each reduction that only a ``broadcast_in_dim`` reads, which puts
    sizes of 1 where it reduced, as one equation with that result."""
    readers: dict[int, list[SlotEquation]] = {}
    for eqn in eqns:
        for k in eqn.sources:
            readers.setdefault(k, []).append(eqn)
    found, merged = [], set[int]()
    for eqn in eqns:
        if id(eqn) in merged:
            continue
        if eqn.name in _REDUCTIONS and eqn.targets[0] not in outputs:
            read_by = readers.get(eqn.targets[0], [])
            if len(read_by) == 1 and _restores(read_by[0], eqn):
                merged.add(id(read_by[0]))
                eqn = eqn._replace(targets=read_by[0].targets, results=read_by[0].results)
        found.append(eqn)
    return found


_REDUCTIONS = frozenset(("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"))


def _restores(eqn: SlotEquation, reduction: SlotEquation) -> bool:
    """Return whether an equation puts sizes of 1 where a reduction of its operand reduced."""
    if eqn.name != "broadcast_in_dim" or len(eqn.sources) > 1:
        return False
    axes, size = reduction.params["axes"], eqn.results[0].shape
    kept = tuple(d for d in range(len(reduction.operands[0].shape)) if d not in axes)
    return (
        len(size) == len(kept) + len(axes)
        and tuple(eqn.params["broadcast_dimensions"]) == kept
        and all(type(size[d]) is int and size[d] == 1 for d in axes)
    )


def _is_of_last(eqn: SlotEquation) -> bool:
    """Return whether a broadcast operand has the last dimensions of the result: its readers need it
    in no other shape."""
    rank, n = len(eqn.results[0].shape), len(eqn.operands[0].shape)
    return tuple(eqn.params["broadcast_dimensions"]) == tuple(range(rank - n, rank))


def _reshaping(eqn: Equation) -> Callable[..., Any]:
    return Method("reshape", beside_ones(eqn))


def _bytes(avals: list[Any]) -> int:
    return sum(math.prod(aval.shape) * aval.dtype.itemsize for aval in avals)
