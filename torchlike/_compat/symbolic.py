"""``torch.SymInt``, ``torch.sym_int`` and their kin: plain numbers, for shapes are known here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


class _Symbol:
    """A number that is not known while a graph is made. There is none, so nothing is an instance.

    NotImplementedError when one is made.
    """

    def __init__(self, node: Any) -> None:
        raise NotImplementedError(
            f"torch.{type(self).__name__}: sizes are plain numbers. Use instead: int, float, bool."
        )


class SymInt(_Symbol):
    """An unknown int; there is none."""


class SymFloat(_Symbol):
    """An unknown float; there is none."""


class SymBool(_Symbol):
    """An unknown bool; there is none."""


def sym_int(a: Any) -> int:
    """Cut off towards zero."""
    return int(a)


def sym_float(a: Any) -> float:
    """As a float."""
    return float(a)


def _chosen(choose: Any, a: Any, b: Any) -> Any:
    found = choose(a, b)
    return float(found) if isinstance(a, float) or isinstance(b, float) else int(found)


def sym_max(a: Any, b: Any) -> Any:
    """The greater; a float if either is."""
    return _chosen(max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The lesser; a float if either is."""
    return _chosen(min, a, b)


def sym_not(a: Any) -> bool:
    """Whether it is false."""
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """``t`` if ``b`` else ``f``. AssertionError unless ``b`` is a bool and both have one type."""
    if not isinstance(b, bool):
        raise AssertionError(f"expected SymBool or bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_sum(*args: Any) -> Any:
    """The sum of numbers, given one by one or as a sequence."""
    given: Iterable[Any] = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
    return sum(given)


def sym_sqrt(a: Any) -> float:
    """The square root."""
    return math.sqrt(a)
