"""Symbols for sizes, and questions that code asks of conditions on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torchlike._compat.symbolic import (
    SymBool,
    SymFloat,
    SymInt,
    SymNode,
    UnbackedFloat,
    hint_of,
    symbolic_sizes,
)
from torchlike._compat.symbolic import is_symbolic as _is_symbolic
from torchlike.fx.experimental._unbacked import Unbacked

__all__ = [
    "GuardOnDataDependentSymNode",
    "ShapeEnv",
    "free_symbols",
    "guard_bool",
    "guard_int",
    "guard_or_false",
    "guard_or_true",
    "guard_size_oblivious",
    "has_free_symbols",
    "hint_int",
    "is_symbolic",
    "statically_known_true",
]


class GuardOnDataDependentSymNode(RuntimeError):
    """Python asks for a value that a graph computes."""


class ShapeEnv:
    """The symbols of one trace, what they stand for at hand, and the guards: what was decided.

    Sizes that are equal at hand share a symbol; 0 and 1 are numbers, for broadcasting asks for
    them. A traced graph is right for sizes that decide alike: see `holds`.

    A number that only values tell has no size at hand: it is an unbacked symbol, ``u0``, ``u1``, …,
    and comparisons of it are conditions (SymBool) unless bounds decide them.

    Differs from PyTorch: symbols are called ``s0``, ``s1``, … in the order in which they come;
    comparisons of them are decided at once; a symbol that was fixed by a guard stays a symbol.
    """

    def __init__(self) -> None:
        #: The sizes that the symbols stand for at hand, by the symbol's name.
        self.hints: dict[str, int] = {}
        #: What was decided, in the order in which it was asked.
        self.guards: dict[Any, None] = {}
        self._by_size: dict[int, SymInt] = {}
        self._free: list[Any] = []
        self._count = 32
        self.unbacked = Unbacked()
        self._nodes: dict[str, SymNode] = {}
        #: What expressions that are computed with together have in common.
        self.scope: Any = None

    def reserve(self, count: int) -> None:
        """Reserve this many symbols; there are 32 otherwise. Raises RuntimeError once there is a
        symbol."""
        if self._free or self.hints:
            raise RuntimeError("ShapeEnv.reserve: there are symbols already")
        self._count = count

    def symbol_for(self, size: int) -> Any:
        """Return the symbol that stands for a size: a SymInt, or the number itself for 0 and 1.
        Raises NotImplementedError where there is no room for another symbol."""
        if abs(size) < symbolic_sizes.LEAST:
            return size
        if size < 0:
            return -self.symbol_for(-size)
        found = self._by_size.get(size)
        if found is None:
            found = self._by_size[size] = self._new_symbol(size)
        return found

    def _new_symbol(self, size: int) -> SymInt:
        self._begin()
        if not self._free:
            raise NotImplementedError(
                f"more than {self._count} different sizes: call ShapeEnv.reserve(count) first"
            )
        expr = self._free.pop(0)
        self.hints[str(expr)] = size
        return SymInt(SymNode(expr, self, size))

    def _begin(self) -> None:
        """Make the symbols to choose from, unless there are some."""
        if self.scope is None:
            made = symbolic_sizes.symbols([f"s{i}" for i in range(max(self._count, 1))])
            self._free = list(made.values())
            self.scope = self._free[0].scope

    def unbacked_int(self, lower: float = -math.inf, upper: float = math.inf) -> SymInt:
        """Return a new unbacked symbol, of an int within bounds."""
        self._begin()
        name, hint = self.unbacked.new(lower, upper)
        self.hints[name] = hint
        self._nodes[name] = SymNode(symbolic_sizes.symbol(name, self.scope), self, hint)
        return SymInt(self._nodes[name])

    def unbacked_float(self) -> SymFloat:
        """Return a new unbacked symbol, of a float."""
        return SymFloat(SymNode(UnbackedFloat((self.unbacked.new_float(),)), self, 0.5))

    create_unbacked_symint, create_unbacked_symfloat = unbacked_int, unbacked_float

    def opaque(self, function: Any, args: tuple[Any, ...], hint: int) -> SymInt:
        """Return what a function gives of an unbacked number as a symbol of its own: it depends on
        the value in a way that no expression says."""
        made = self.unbacked_int()
        made.node.made = function, args
        self._set_hint(str(made.node.expr), hint)
        return made

    def assume(self, condition: Any) -> None:
        """Take a condition on unbacked symbols for true from here on."""
        self.unbacked.assume(*condition.node.expr)
        for name, (lower, upper) in self.unbacked.ranges.items():
            if not lower <= self.hints[name] <= upper:
                self._set_hint(name, int(upper if self.hints[name] > upper else lower))

    def _set_hint(self, name: str, hint: int) -> None:
        self.hints[name] = self._nodes[name].hint = hint

    def refuse(self, what: Any) -> Any:
        """Raise GuardOnDataDependentSymNode: Python asks for what only values tell."""
        raise GuardOnDataDependentSymNode(
            f"Could not guard on data-dependent expression {what}: only the values of a tensor "
            "tell it. Say what holds by torch._check(...), which the graph checks when it runs, "
            "or use torch.cond or torch.where"
        )

    def sizes_for(self, shape: Sequence[int]) -> tuple[Any, ...]:
        """Return the symbols that stand for the sizes of a shape."""
        return tuple([self.symbol_for(n) for n in shape])

    def number(self, expr: Any) -> Any:
        """Return an expression of symbols as a SymInt, and a number as an int."""
        if not symbolic_sizes.is_symbolic(expr):
            return int(expr)
        return SymInt(SymNode(expr, self, symbolic_sizes.value(expr, self.hints)))

    def deciding(self) -> Any:
        """Return a context manager in which comparisons of expressions are decided by the sizes at
        hand; pass what it gives to `note`."""
        return symbolic_sizes.decisions.by(self.hints)

    def note(self, decisions: Any) -> None:
        """Keep decisions as guards."""
        self.guards.update(
            {g: None for g in decisions.guards if not self.unbacked.among(g.left, g.right)}
        )

    def decide(self, is_equality: bool, left: Any, right: Any) -> Any:
        """Return whether ``left == right``, or ``left >= right``, for the sizes at hand: a guard is
        noted, unless it is so for all sizes. A SymBool where only values tell."""
        if self.unbacked.among(left, right):
            known = self.unbacked.known(is_equality, left, right)
            return (
                SymBool.of("==" if is_equality else ">=", left, right, self)
                if (known is None)
                else known
            )
        if (
            is_equality
            and isinstance(right, int)
            and right < symbolic_sizes.LEAST
            and (str(left) in self.hints)
        ):
            return False  # a symbol is at least 2
        with self.deciding() as decided:
            holds = bool(left == right if is_equality else left >= right)
        self.note(decided)
        return holds

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Return whether a graph is right where the symbols stand for these sizes, given by their
        names."""
        return all(guard.check(sizes) for guard in self.guards)

    def format_guards(self) -> str:
        """Return the guards as lines of text."""
        signs = {(True, True): "==", (True, False): "!=", (False, True): ">=", (False, False): "<"}
        return "\n".join(
            f" - {g.left} {signs[g.is_equality, g.holds]} {g.right}" for g in self.guards
        )


def _known(condition: Any, unless: bool | None = None) -> bool:
    if isinstance(condition, SymBool):
        return bool(condition) if unless is None else unless
    if not isinstance(condition, bool):
        raise AssertionError(f"Expected bool, got {type(condition)}")
    return condition


def guard_or_false(a: Any) -> bool:
    """Return the condition, False where it is not known. Raises AssertionError for what is no
    bool."""
    return _known(a, False)


def guard_or_true(a: Any) -> bool:
    """Return the condition, True where it is not known. Raises AssertionError for what is no
    bool."""
    return _known(a, True)


def guard_bool(a: Any) -> bool:
    """Return the condition. Raises AssertionError for what is no bool."""
    return _known(a)


def guard_int(a: Any) -> int:
    """Return the number for the sizes at hand, and keep a guard on it. Raises AssertionError for
    what is no int."""
    if not isinstance(a, (int, SymInt)):
        raise AssertionError(f"Expected int or SymInt, got {type(a)}")
    return int(a)


def hint_int(a: Any) -> int:
    """Return the number for the sizes at hand; no guard is noted."""
    return hint_of(a)


def statically_known_true(x: Any) -> bool:
    """Return the condition, False where it is not known. Raises AssertionError for what is no
    bool."""
    return _known(x, False)


def guard_size_oblivious(expr: Any) -> bool:
    """Return the condition. Raises AssertionError for what is no bool."""
    return _known(expr)


def is_symbolic(val: Any) -> bool:
    """Return whether a number is made of symbolic sizes."""
    return _is_symbolic(val)


def free_symbols(val: Any) -> set[Any]:
    """Return the names of the symbols that a number, or a tensor's shape, is made of."""
    if _is_symbolic(val):
        return set(_names(val.node.expr))
    shape = getattr(val, "shape", val)
    return (
        {s for n in shape for s in free_symbols(n)} if isinstance(shape, (tuple, list)) else (set())
    )


def _names(expr: Any) -> set[str]:
    if isinstance(expr, tuple):
        return {name for part in expr for name in _names(part)}
    return symbolic_sizes.of_jax.variables(expr) if symbolic_sizes.is_symbolic(expr) else set()


def has_free_symbols(val: Any) -> bool:
    """Return whether a number or a tensor's shape has symbols."""
    return bool(free_symbols(val))
