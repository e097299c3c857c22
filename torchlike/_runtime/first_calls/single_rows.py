"""Large operands of which a program needs no more than NumPy has at once: a matrix that multiplies
one row, a table of which some rows are read.

XLA's CPU compiler multiplies one row worse than OpenBLAS does, by a loop of its own where it calls
Eigen for two. Float32, µs of processor time of all threads, NumPy and XLA: 384×384 5 and 33,
384×1536 55 and 177, 1536×384 54 and 174, 1024×1024 160 and 330 (two rows 586 and 355). So such a
product is no reason to leave the host, however large the matrix is, and a model that runs on one
row (a token, an observation) stays there whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from torchlike._runtime.jax_private.equations import called
from torchlike._runtime.jax_private.jaxprs import is_literal

#: What NumPy shows of the same memory.
_SHOWN = frozenset(("transpose", "squeeze", "expand_dims", "reshape", "stop_gradient"))


def of_one_row(eqn: Any, value: Callable[[Any], int]) -> int | None:
    """Return which operand of an equation is the matrix of a product with one row (or of a batch of
    such); None for other equations, and for dtypes in which NumPy multiplies slowly."""
    if eqn.primitive.name != "dot_general" or eqn.outvars[0].aval.dtype not in ("f4", "f8"):
        return None
    summed, batch = eqn.params["dimension_numbers"]
    free = [
        math.prod(
            value(n)
            for d, n in enumerate(v.aval.shape)
            if d not in summed[side] and d not in batch[side]
        )
        for side, v in enumerate(eqn.invars)
    ]
    return 1 if free[0] == 1 else 0 if free[1] == 1 else None


def read_whole(jaxpr: Any, value: Callable[[Any], int]) -> set[Any]:
    """Return the inputs of a program whose size counts."""
    found = {v for v in jaxpr.outvars if not is_literal(v)}
    for eqn in reversed(jaxpr.eqns):
        found.update(_read(eqn, found, value))
    return found.intersection(jaxpr.invars)


def _read(eqn: Any, read: set[Any], value: Callable[[Any], int]) -> Iterator[Any]:
    """Yield what an equation reads so that its size counts, of whose results ``read`` are so."""
    name = eqn.primitive.name
    if name in _SHOWN and read.isdisjoint(eqn.outvars):
        return
    inside = called(eqn)
    if inside is not None:
        counted = read_whole(inside[0], value)
        pairs = zip(eqn.invars, inside[0].invars, strict=True)
        yield from (v for v, inner in pairs if inner in counted and not is_literal(v))
        return
    matrix = of_one_row(eqn, value)
    for i, v in enumerate(eqn.invars):
        if not (is_literal(v) or i == matrix or (i == 0 and name == "gather")):
            yield v
