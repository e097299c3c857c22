"""The equations of a jaxpr on numbered slots: calls inlined, and what changes nothing left out.

Every value lies in a slot. An equation that gives its operand back (``stop_gradient``, a product
with 1) is none: its result has the operand's slot. Nor is one that nobody needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._runtime.first_calls.rules import RULES, Equation, NoNumpyRule
from torchlike._runtime.jax_private.equations import called
from torchlike._runtime.jax_private.jaxprs import is_literal, opened


class SlotEquation(NamedTuple):
    """An equation whose operands and results are slots."""

    name: str
    params: dict[str, Any]
    sources: list[int]
    targets: list[int]
    operands: list[Any]
    results: list[Any]
    has_effects: bool
    is_many: bool


def _constant(value: Any) -> np.ndarray:
    if jnp.issubdtype(value.dtype, jax.dtypes.extended):
        raise NoNumpyRule("a constant of jax.random's")
    return np.asarray(value)


class SlotEquations:
    """The equations of a closed jaxpr, or one without constants; ``known`` are values of inputs by
    their position."""

    def __init__(self, closed: Any, known: dict[int, Any] | None = None) -> None:
        #: Values by slot, None where a call provides or computes them.
        self.values: list[np.ndarray | None] = []
        self._equations: list[SlotEquation] = []
        jaxpr, constants = opened(closed)
        if jaxpr.effects:
            raise NoNumpyRule("effects")
        slots: dict[Any, int] = {}
        for var, value in zip(jaxpr.constvars, constants, strict=True):
            slots[var] = self._new(_constant(value))
        for i, var in enumerate(jaxpr.invars):
            value = None if known is None else known.get(i)
            slots[var] = self._new(None if value is None else np.asarray(value, var.aval.dtype))
        self.inputs = [slots[v] for v in jaxpr.invars]
        self._add_all(jaxpr, slots)
        self.outputs = [self._slot(v, slots) for v in jaxpr.outvars]

    def needed(self) -> list[SlotEquation]:
        """Return the equations that the outputs depend on."""
        live = set(self.outputs)
        found = []
        for eqn in reversed(self._equations):
            if eqn.has_effects or not live.isdisjoint(eqn.targets):
                live.update(eqn.sources)
                found.append(eqn)
        found.reverse()
        return found

    # -- slots -------------------------------------------------------------------------------------

    def _new(self, value: np.ndarray | None = None) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def _slot(self, atom: Any, slots: dict[Any, int]) -> int:
        if is_literal(atom):
            return self._new(np.asarray(atom.val, atom.aval.dtype))
        return slots[atom]

    # -- equations ---------------------------------------------------------------------------------

    def _add_all(self, jaxpr: Any, slots: dict[Any, int]) -> None:
        for eqn in jaxpr.eqns:
            sources = [self._slot(v, slots) for v in eqn.invars]
            inner = None if eqn.effects else called(eqn)
            if inner is not None:
                slots.update(zip(eqn.outvars, self._called(*inner, sources), strict=True))
                continue
            same = self._unchanged(eqn, sources)
            if same is not None:
                slots.update(zip(eqn.outvars, same, strict=True))
                continue
            targets = [self._new(self._number(eqn, sources)) for _ in eqn.outvars]
            slots.update(zip(eqn.outvars, targets, strict=True))
            self._equations.append(
                SlotEquation(
                    eqn.primitive.name,
                    eqn.params,
                    sources,
                    targets,
                    [v.aval for v in eqn.invars],
                    [v.aval for v in eqn.outvars],
                    bool(eqn.effects),
                    eqn.primitive.multiple_results,
                )
            )

    def _called(self, jaxpr: Any, constants: Sequence[Any], sources: list[int]) -> list[int]:
        """Add the equations of a called jaxpr, for operands in these slots, and return the slots of
        its results."""
        slots: dict[Any, int] = dict(zip(jaxpr.invars, sources, strict=True))
        for var, value in zip(jaxpr.constvars, constants, strict=True):
            slots[var] = self._new(_constant(value))
        self._add_all(jaxpr, slots)
        return [self._slot(v, slots) for v in jaxpr.outvars]

    def _number(self, eqn: Any, sources: list[int]) -> np.ndarray | None:
        """Return the result of an equation between known numbers; None of any other."""
        values = [self.values[k] for k in sources]
        name = eqn.primitive.name
        if name not in _OF_NUMBERS or any(v is None or v.ndim for v in values):
            return None
        avals = [v.aval for v in eqn.invars], [v.aval for v in eqn.outvars]
        return np.asarray(RULES[name](Equation(eqn.params, *avals, _no_evaluator))(*values))

    def _unchanged(self, eqn: Any, sources: list[int]) -> Sequence[int] | None:
        """Return the slots of the operands that an equation returns as they are; None for any
        other."""
        name = eqn.primitive.name
        if name == "select_n":
            which = self.values[sources[0]]
            return None if which is None or which.ndim else [sources[1 + int(which)]]
        if name in ("stop_gradient", "copy", "copy_p", "optimization_barrier"):
            return sources
        if name == "convert_element_type":
            return sources if eqn.invars[0].aval.dtype == eqn.outvars[0].aval.dtype else None
        neutral = _NEUTRAL.get(name)
        if neutral is None:
            return None
        out = eqn.outvars[0].aval
        if getattr(out.dtype, "kind", "V") == "c":  # infinity times 1 + 0j is not infinity
            return None
        for k, number in neutral:
            value = self.values[sources[k]]
            other = eqn.invars[1 - k].aval
            if value is None or value.ndim or other.shape != out.shape or other.dtype != out.dtype:
                continue
            if value == number:
                return [sources[1 - k]]
        return None


def _no_evaluator(closed: Any) -> Any:
    raise AssertionError("no equation between numbers runs a program")


#: Equations between numbers that are known (a factor that is 1, its dtype) whose results decide
#: whether others change anything.
_OF_NUMBERS = frozenset(("convert_element_type", "eq", "ne"))
#: Operands, by position, of which a number leaves the other operand as it is.
_NEUTRAL: dict[str, tuple[tuple[int, float], ...]] = {
    "mul": ((0, 1), (1, 1)),
    "div": ((1, 1),),
    "max": ((0, -np.inf), (1, -np.inf)),
    "min": ((0, np.inf), (1, np.inf)),
}
