"""Symbols for sizes, and questions that code asks of conditions on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torchlike._compat.symbolic import SymInt, SymNode, hint_of, symbolic_sizes
from torchlike._compat.symbolic import is_symbolic as _is_symbolic

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

    Differs from PyTorch: symbols are called ``s0``, ``s1``, … in the order in which they come;
    comparisons are decided at once, so there is no SymBool; a symbol that was fixed by a guard
    stays a symbol.
    """

    def __init__(self) -> None:
        #: The sizes that the symbols stand for at hand, by the symbol's name.
        self.hints: dict[str, int] = {}
        #: What was decided, in the order in which it was asked.
        self.guards: dict[Any, None] = {}
        self._by_size: dict[int, SymInt] = {}
        self._free: list[Any] = []
        self._count = 32

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
        if not self._free and not self.hints:
            made = symbolic_sizes.symbols([f"s{i}" for i in range(self._count)])
            self._free = list(made.values())
        if not self._free:
            raise NotImplementedError(
                f"more than {self._count} different sizes: call ShapeEnv.reserve(count) first"
            )
        expr = self._free.pop(0)
        self.hints[str(expr)] = size
        return SymInt(SymNode(expr, self, size))

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
        self.guards.update(decisions.guards)

    def decide(self, is_equality: bool, left: Any, right: Any) -> bool:
        """Return whether ``left == right``, or ``left >= right``, for the sizes at hand: a guard is
        noted, unless it is so for all sizes."""
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


def _known(condition: Any) -> bool:
    if not isinstance(condition, bool):
        raise AssertionError(f"Expected bool, got {type(condition)}")
    return condition


def guard_or_false(a: Any) -> bool:
    """Return the condition. Raises AssertionError for what is no bool."""
    return _known(a)


def guard_or_true(a: Any) -> bool:
    """Return the condition. Raises AssertionError for what is no bool."""
    return _known(a)


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
    """Return the condition. Raises AssertionError for what is no bool."""
    return _known(x)


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
