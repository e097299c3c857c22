"""A program that was captured whole, computed by NumPy where that takes less than to call XLA's.

XLA hands a program of more than a thousand operations to another thread, and its caller waits for
that: 20 to 30 µs, in which NumPy exponentiates two thousand numbers. Eager operations of that size
stay with NumPy, so a compiled function of few of them would be slower than its eager calls.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from torchlike._runtime import logs
from torchlike._runtime.first_calls import cost
from torchlike._runtime.first_calls.interpreter import EvaluationPlan
from torchlike._runtime.first_calls.program import SILENT, host, row_major
from torchlike._runtime.first_calls.rules import NoNumpyRule
from torchlike._runtime.first_calls.settings import COMPILED, by_numpy, settings
from torchlike._runtime.first_calls.statistics import record_of

log = logs.logger("first_calls")


def by_numpy_where_dear(executable: Any, jaxpr: Any, bound: Sequence[Any], name: str) -> Any:
    """Return what computes ``jaxpr``, whose first inputs are ``bound``: NumPy where a call of
    ``executable`` is thought to take longer, else that itself. Sizes alone decide."""
    if not by_numpy() or cost.is_brief(jaxpr):
        return executable
    worth = cost.worth(jaxpr)
    if worth.most_steps <= 0:
        return executable
    try:
        plan = EvaluationPlan(jaxpr)
        if len(plan) > worth.most_steps:
            return executable
        return _ByNumpy(executable, plan, jaxpr, bound, name)
    except NoNumpyRule:
        return executable


class _ByNumpy:
    """A compiled program that NumPy computes; XLA does in a trace, on another device, and where
    everything is to be compiled. Other attributes are those of the compiled form."""

    def __init__(
        self,
        executable: Any,
        plan: EvaluationPlan,
        jaxpr: Any,
        bound: Sequence[Any],
        name: str,
    ) -> None:
        self._compiled = executable
        constants = [np.asarray(x) for x in bound]
        self._function: Any = functools.partial(plan.function({}), *constants)
        self._dtypes = [v.aval.dtype for v in jaxpr.invars[len(bound) :]]
        self._enter = SILENT.copy().run
        self._record = record_of(name)
        self._record.programs += 1

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)

    def __call__(self, *args: Any) -> Any:
        values = None if settings.mode == COMPILED or self._function is None else self._values(args)
        if values is None:
            return self._compiled(*args)
        self._record.calls += 1
        try:
            found = self._run(values)
        except Exception as error:
            if settings.strict:
                raise
            self._function = None
            log.warning("%s is compiled: by NumPy it raised %r", self._record.name, error)
            self._record.compiled_because(f"{type(error).__name__}: {error}")
            return self._compiled(*args)
        return [_own(value, values) for value in found]

    def _values(self, args: Sequence[Any]) -> list[Any] | None:
        """Return the arguments as NumPy arrays; None where one is none that lies here."""
        there = host()
        values: list[Any] = []
        for a, dtype in zip(args, self._dtypes, strict=True):
            kind = type(a)
            if kind is np.ndarray:
                values.append(a)
                continue
            if kind is int or kind is float:  # a traced number, where a view begins
                values.append(np.asarray(a, dtype))
                continue
            if kind is not there.array_type:
                return None
            if not there.has(a.sharding):
                return None
            values.append(np.asarray(a))
        return values

    def _run(self, values: list[Any]) -> list[Any]:
        try:
            return self._enter(self._function, *values)
        except RuntimeError:  # entered already, by another thread
            with np.errstate(all="ignore"):
                return self._function(*values)


def _own(value: Any, operands: Sequence[Any]) -> np.ndarray:
    """Return a result as an array in row-major order, in memory of its own."""
    found = row_major(value)
    return found if found.flags.owndata and not any(found is x for x in operands) else found.copy()
