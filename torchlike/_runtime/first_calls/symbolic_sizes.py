"""Symbols for sizes, and a record of every decision that a trace takes about them.

JAX has sizes that are expressions of symbols (``jax.export.symbolic_shape``), and raises where a
comparison of them is inconclusive. Here the sizes at hand decide it, and the decision is recorded
as a guard: the traced program is for sizes that decide alike, as torch.compile has it.

Who compares matters. JAX keeps one object for all equal avals, in a hash table that compares a new
shape also with shapes of another hash: with whatever sizes the process has met before. Such a
comparison is no decision of the trace, and a guard for it would make a program hold for fewer
sizes, now and then (`_is_interning`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax import errors, export

from torchlike._runtime.first_calls.settings import LEAST
from torchlike._runtime.jax_private import symbolic_sizes as of_jax
from torchlike._runtime.jax_private.symbolic_sizes import is_symbolic, value
from torchlike._runtime.patches import in_use


class SizeGuard(NamedTuple):
    """``left == right`` or ``left >= right`` is ``holds``."""

    is_equality: bool
    left: Any
    right: Any
    holds: bool

    def check(self, sizes: Mapping[str, int]) -> bool:
        left, right = value(self.left, sizes), value(self.right, sizes)
        return (left == right if self.is_equality else left >= right) is self.holds


class Decisions(threading.local):
    """``with decisions.by(sizes) as guards:`` comparisons of symbols are decided by ``sizes``."""

    def __init__(self) -> None:
        self.sizes: Mapping[str, int] | None = None
        self.guards: dict[SizeGuard, None] = {}

    def by(self, sizes: Mapping[str, int]) -> _Deciding:
        return _Deciding(self, sizes)

    def decide(self, is_equality: bool, left: Any, right: Any) -> bool:
        sizes, self.sizes = self.sizes, None  # evaluating compares expressions, too
        assert sizes is not None
        try:
            a, b = value(left, sizes), value(right, sizes)
            holds = a == b if is_equality else a >= b
            self.guards[SizeGuard(is_equality, left, right, holds)] = None
            return holds
        finally:
            self.sizes = sizes


class _Deciding:
    def __init__(self, decisions: Decisions, sizes: Mapping[str, int]) -> None:
        self._decisions, self._sizes = decisions, sizes

    def __enter__(self) -> Decisions:
        _install()
        decisions = self._decisions
        decisions.sizes, decisions.guards = self._sizes, {}
        return decisions

    def __exit__(self, *exc: object) -> None:
        self._decisions.sizes = None


decisions = Decisions()


def symbols(names: Sequence[str]) -> dict[str, Any]:
    """Make a symbol for each name; all may be computed with together."""
    scope = export.SymbolicScope([f"{name} >= {LEAST}" for name in names])
    return dict(zip(names, export.symbolic_shape(", ".join(names), scope=scope), strict=True))


def symbol(name: str, scope: Any) -> Any:
    """Make one more symbol of a scope."""
    return export.symbolic_shape(f"{name},", scope=scope)[0]


def parsed(text: str, known: Mapping[str, Any]) -> Any:
    """Parse an expression that was written as text, in symbols that are known."""
    some = next(iter(known.values()), None)
    scope = export.SymbolicScope() if some is None else some.scope
    return export.symbolic_shape(f"{text},", scope=scope)[0]


def _equals(self: Any, other: Any) -> bool:
    if of_jax.plain_eq(self, other):
        return True
    if decisions.sizes is None or not isinstance(other, (of_jax.Expression, int, np.integer)):
        return False
    if is_symbolic(other) and other.scope is not self.scope:
        return False  # of another trace: a cache of JAX's looks for what it knows
    if _is_interning():
        return False
    try:
        return decisions.decide(True, self, other)
    except (of_jax.UnexpectedVariable, KeyError):
        return False  # of another trace, compared with a number


def _is_interning() -> bool:
    """Return whether a table of JAX's in C++ compares: code that makes an aval calls it, and
    compares nothing itself."""
    return sys._getframe(2).f_code is of_jax.MAKES_AVALS


def _at_least(left: Any, right: Any, shown: Any) -> bool:
    if decisions.sizes is None:
        return of_jax.plain_geq(left, right, shown)
    try:
        return of_jax.plain_geq(left, right, shown)
    except errors.InconclusiveDimensionOperation:
        return decisions.decide(False, left, right)


def _is_not_zero(self: Any) -> bool:
    return decisions.sizes is None or not _equals(self, 0)


def _install() -> None:
    """Let JAX's expressions ask here. Where no trace of ours runs, they answer as ever."""
    patch = in_use.SYMBOLIC_SIZES
    if not patch.is_applied:
        patch.replace(of_jax.Expression, "__eq__", _equals)
        patch.replace(of_jax.Expression, "__bool__", _is_not_zero)
        of_jax.AT_LEAST.replace(patch, _at_least)
