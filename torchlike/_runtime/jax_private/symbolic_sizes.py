"""JAX's expressions of symbolic sizes."""

from __future__ import annotations

from collections.abc import Mapping
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
    return int(size._evaluate(sizes)) if isinstance(size, Expression) else int(size)


def greatest(a: Any, b: Any) -> Any:
    """Return the greater of two sizes: an expression where that depends on the symbols."""
    return core.max_dim(a, b)


def least(a: Any, b: Any) -> Any:
    """Return the lesser of two sizes: an expression where that depends on the symbols."""
    return core.min_dim(a, b)
