"""JAX's expressions of symbolic sizes."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from jax import core

from torchlike._runtime.jax_private.names import declare

_ALONE = "each size is traced by itself, and export with dynamic sizes raises"
EXPRESSION = declare("jax._src.export.shape_poly._DimExpr", "expressions of symbols", _ALONE)
AT_LEAST = declare(
    "jax._src.export.shape_poly._geq_decision", "how JAX decides whether a >= b", _ALONE
)
UNKNOWN = declare(
    "jax._src.export.shape_poly.UnexpectedDimVar",
    "the error of an expression with symbols of another trace",
    _ALONE,
)
VARIABLES = declare("_DimExpr._get_vars", "which symbols an expression has", _ALONE)
EVALUATE = declare("_DimExpr._evaluate", "an expression as a number", _ALONE)
MAX_DIM = declare("jax.core.max_dim", "the greater of two sizes", _ALONE)
MIN_DIM = declare("jax.core.min_dim", "the lesser of two sizes", _ALONE)

Expression: Any = EXPRESSION.require()
UnexpectedVariable: Any = UNKNOWN.require()
#: How JAX compares by itself.
plain_eq, plain_geq = Expression.__eq__, AT_LEAST.require()
#: The code of JAX's that looks avals up in its table, which compares shapes.
MAKES_AVALS = getattr(core.ShapedArray.__new__, "__code__", None)


def is_symbolic(size: Any) -> bool:
    """Return whether a size is an expression of symbols."""
    return isinstance(size, Expression)


def variables(expression: Any) -> set[str]:
    """Return the names of an expression's symbols."""
    return {str(v) for v in expression._get_vars()}


def value(size: Any, sizes: Mapping[str, int]) -> int:
    """Evaluate a size or an expression of symbols as a number."""
    if type(size) is int:
        return size
    if not isinstance(size, Expression):
        return int(size)
    known = _evaluators.get(id(size))
    if known is None:
        if len(_evaluators) >= _MOST_EVALUATORS:
            _evaluators.clear()
        known = _evaluators[id(size)] = size, _evaluator(size)
    return known[1](sizes)


#: By id of an expression: itself, so that the id stays its own, and what evaluates it in 0.2 µs
#: where JAX takes 20.
_evaluators: dict[int, tuple[Any, Callable[[Mapping[str, int]], int]]] = {}
_MOST_EVALUATORS = 1 << 14
_TERM = re.compile(r"\w+(\^\d+)?(\*\w+(\^\d+)?)*")


def _evaluator(expression: Any) -> Callable[[Mapping[str, int]], int]:
    """Return the function that evaluates an expression: a sum of products as such, another one by
    JAX."""
    text = str(expression)
    if text.isidentifier():
        return operator.itemgetter(text)
    terms: list[tuple[int, list[str]]] = []
    sign = 1
    for part in text.split():
        if part in ("+", "-"):
            sign = 1 if part == "+" else -1
        elif _TERM.fullmatch(part) is None:
            return lambda sizes: int(expression._evaluate(sizes))
        else:
            factors = [factor.partition("^") for factor in part.split("*")]
            numbers = [int(f) for f, _, _ in factors if f.isdecimal()]
            names = [
                f for f, _, power in factors if not f.isdecimal() for _ in range(int(power or 1))
            ]
            terms.append((sign * math.prod(numbers), names))
    return lambda sizes: sum(n * math.prod([sizes[k] for k in names]) for n, names in terms)


def greatest(a: Any, b: Any) -> Any:
    """Return the greater of two sizes: an expression where that depends on the symbols."""
    return core.max_dim(a, b)


def least(a: Any, b: Any) -> Any:
    """Return the lesser of two sizes: an expression where that depends on the symbols."""
    return core.min_dim(a, b)
