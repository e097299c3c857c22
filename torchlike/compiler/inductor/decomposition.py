"""``torch._inductor.decomposition``: operators as functions of simpler ones, in a table that
``make_fx(..., decomposition_table=decompositions)`` takes. XLA compiles operators as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike import _decomp

__all__ = ["decompositions", "register_decomposition"]

decompositions: dict[Any, Callable[..., Any]] = {}


def register_decomposition(ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function that stands for operators in ``decompositions``.

    A later function for the same operator replaces an earlier one.
    """
    several = ops if isinstance(ops, (list, tuple)) else [ops]
    _decomp.remove_decompositions(decompositions, several)
    return _decomp.register_decomposition(several, decompositions)
