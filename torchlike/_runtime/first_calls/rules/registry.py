"""Rules: for each lax primitive, how NumPy computes an equation of it.

A rule is given an ``Equation`` once, when a program is made, and returns the function that computes
it: NumPy arrays in, an array out (a list of them, for primitives with several results). It raises
``NoNumpyRule`` for what it cannot do as XLA does; the whole program is compiled then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np


class NoNumpyRule(Exception):
    """NumPy has no rule for this equation."""


class TooLong(NoNumpyRule):
    """A loop turns out to be longer than NumPy should run it."""


class Equation(NamedTuple):
    """What a rule may know of an equation."""

    params: dict[str, Any]
    #: Avals of the operands and of the results.
    operands: list[Any]
    results: list[Any]
    #: A (closed) jaxpr among the parameters as a function of NumPy arrays that gives a list.
    evaluator: Callable[[Any], Callable[..., list[Any]]]

    @property
    def dtype(self) -> np.dtype:
        """Of the first result."""
        return self.results[0].dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the first result."""
        return self.results[0].shape


Rule = Callable[[Equation], Callable[..., Any]]


class Method(NamedTuple):
    """A function that is a method of its operand with one constant argument: a plan's code calls it
    in place."""

    name: str
    argument: Any

    def __call__(self, x: Any) -> Any:
        return getattr(x, self.name)(self.argument)


RULES: dict[str, Rule] = {}


def rule(*primitives: str) -> Callable[[Rule], Rule]:
    """Register a rule for these primitives."""

    def register(function: Rule) -> Rule:
        for name in primitives:
            if name in RULES:
                raise ValueError(f"{name} has a rule already")
            RULES[name] = function
        return function

    return register


def ufuncs(**functions: Callable[..., Any]) -> None:
    """Register primitives that one NumPy function computes, whatever the parameters."""
    for name, function in functions.items():
        rule(name)(lambda eqn, function=function: function)


def real_ufuncs(**functions: Callable[..., Any]) -> None:
    """Register primitives as ``ufuncs`` does, but refuse complex numbers, where NumPy's edges are
    others than XLA's."""

    def make(function: Callable[..., Any]) -> Rule:
        def find(eqn: Equation) -> Callable[..., Any]:
            if is_complex(eqn.operands[0].dtype):
                raise NoNumpyRule("complex numbers")
            return function

        return find

    for name, function in functions.items():
        rule(name)(make(function))


_NARROW = frozenset((np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)))
_EIGHT_BITS = frozenset(
    np.dtype(t)
    for name in dir(ml_dtypes)
    if name.startswith("float8_") and isinstance(t := getattr(ml_dtypes, name), type)
)


def is_float(dtype: Any) -> bool:
    return dtype.kind == "f" or dtype in _NARROW or dtype in _EIGHT_BITS


def is_complex(dtype: Any) -> bool:
    return dtype.kind == "c"


def is_integer(dtype: Any) -> bool:
    return dtype.kind in "iu"


def is_half(dtype: Any) -> bool:
    """Return whether sums of this dtype are computed in float32."""
    return dtype in _NARROW or dtype in _EIGHT_BITS


def working(dtype: Any) -> np.dtype:
    """Return the dtype in which products and sums of ``dtype`` are computed."""
    return np.dtype(np.float32) if is_half(dtype) else np.dtype(dtype)


def lowest(dtype: Any) -> float:
    """Return the identity of a maximum."""
    if dtype == np.bool_:
        return False
    return -np.inf if is_float(dtype) else np.iinfo(dtype).min


def highest(dtype: Any) -> float:
    """Return the identity of a minimum."""
    if dtype == np.bool_:
        return True
    return np.inf if is_float(dtype) else np.iinfo(dtype).max
