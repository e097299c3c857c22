"""What an exported program takes for granted of its arguments, checked at each call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jax import export as jax_export

from torchlike._compat.symbolic import is_symbolic, symbolic_sizes
from torchlike.nn import Module
from torchlike.tensor import Tensor

#: (is an equality, holds) -> the sign of what was decided.
SIGNS = {(True, True): "==", (True, False): "!=", (False, True): ">=", (False, False): "<"}


class InputGuards(Module):
    """A module that checks the leaves of a program's arguments. AssertionError in PyTorch's words.

    All it holds is plain data, so that a file keeps it:

    Args:
      leaves: of each leaf its name, and a list of sizes (an int, or an expression of symbols), an
        expression for an int that may differ, or ``{"is": value}``.
      ranges: the least and the greatest size of each symbol; None for any.
      relations: what else has to hold: ``[is an equality, left, right, holds]``.
      assumed: the same of what was assumed of the sizes themselves: 0 and 1 are no exceptions.
    """

    def __init__(
        self,
        leaves: Sequence[tuple[str, Any]],
        ranges: Mapping[str, tuple[int, int | None]],
        relations: Sequence[tuple[bool, str, str, bool]] = (),
        assumed: Sequence[tuple[bool, str, str, bool]] = (),
    ) -> None:
        super().__init__()
        self.leaves, self.ranges = list(leaves), dict(ranges)
        self.relations, self.assumed = list(relations), list(assumed)
        self._parsed: dict[str, Any] = {}

    def forward(self, *leaves: Any) -> None:
        """Check the leaves of a call."""
        sizes: dict[str, int] = {}
        where: dict[str, str] = {}
        later: list[tuple[str, str, int]] = []
        for (name, wanted), leaf in zip(self.leaves, leaves, strict=True):
            if isinstance(wanted, dict):
                same = wanted["is"] == leaf and type(wanted["is"]) is type(leaf)
                _check(same, f"{name} == {wanted['is']!r}")
            elif isinstance(wanted, str):
                self._meet(wanted, leaf, name, sizes, where, later)
            elif isinstance(leaf, Tensor):
                _check(leaf.dim() == len(wanted), f"{name}.dim() == {len(wanted)}")
                for d, (n, size) in enumerate(zip(wanted, leaf.shape, strict=True)):
                    self._meet(n, size, f"{name}.size()[{d}]", sizes, where, later)
        for text, place, size in later:
            self._solve(text, place, size, sizes, where)
            _check(self._value(text, sizes) == size, f"{place} == {_named(text, where)}")
        self._check_relations(self.assumed, sizes, where)
        # Symbols stand for sizes of 2 and more: operators decide for themselves what 0 and 1 mean.
        sizes = {name: max(size, symbolic_sizes.LEAST) for name, size in sizes.items()}
        self._check_relations(self.relations, sizes, where)

    def _check_relations(
        self, relations: Sequence[Any], sizes: Mapping[str, int], where: Mapping[str, str]
    ) -> None:
        for is_equality, left, right, holds in relations:
            a, b = self._value(left, sizes), self._value(right, sizes)
            text = f"{_named(left, where)} {SIGNS[is_equality, holds]} {_named(right, where)}"
            _check((a == b if is_equality else a >= b) is holds, text)

    def _meet(
        self,
        wanted: Any,
        size: Any,
        place: str,
        sizes: dict[str, int],
        where: dict[str, str],
        later: list[tuple[str, str, int]],
    ) -> None:
        """Compare a size with what it has to be; the first size of a symbol sets the symbol's
        value."""
        if not isinstance(wanted, str):
            _check(wanted == size, f"{place} == {wanted}")
        elif wanted not in self.ranges:
            later.append((wanted, place, size))
        elif wanted in sizes:
            _check(sizes[wanted] == size, f"{place} == {where[wanted]}")
        else:
            lower, upper = self.ranges[wanted]
            _check(lower <= symbolic_sizes.LEAST or size >= lower, f"{place} >= {lower}")
            _check(upper is None or size <= upper, f"{place} <= {upper}")
            sizes[wanted], where[wanted] = size, place

    def _solve(
        self, text: str, place: str, size: int, sizes: dict[str, int], where: dict[str, str]
    ) -> None:
        """Find the value of a symbol that is not by itself a size: ``s0`` of ``2*s0 + 1``."""
        symbols = symbolic_sizes.of_jax.variables(self._expression(text))
        unknown = [v for v in symbols if v not in sizes]
        if len(unknown) != 1:
            return
        first, second = (self._value(text, {**sizes, unknown[0]: n}) for n in (2, 3))
        found, rest = divmod(size - first, second - first)
        _check(rest == 0, f"{place} == {text}")
        lower, upper = self.ranges[unknown[0]]
        inside = found + 2 >= lower and (upper is None or found + 2 <= upper)
        _check(inside and found + 2 > 0, f"{place} == {text}, {unknown[0]} in [{lower}, {upper}]")
        sizes[unknown[0]] = found + 2
        where[unknown[0]] = unknown[0]

    def _value(self, text: str, sizes: Mapping[str, int]) -> int:
        return symbolic_sizes.value(self._expression(text), sizes)

    def _expression(self, text: str) -> Any:
        if text not in self._parsed:
            scope = jax_export.SymbolicScope()
            self._parsed[text] = jax_export.symbolic_shape(f"{text},", scope=scope)[0]
        return self._parsed[text]

    def __deepcopy__(self, memo: Any) -> InputGuards:
        return InputGuards(self.leaves, self.ranges, self.relations, self.assumed)

    def __reduce__(self) -> tuple[Any, ...]:
        return InputGuards, (self.leaves, self.ranges, self.relations, self.assumed)


def _check(holds: bool, said: str) -> None:
    if not holds:
        raise AssertionError(f"Guard failed: {said}")


def _named(text: str, where: Mapping[str, str]) -> str:
    """Return an expression with symbols replaced by the places of sizes."""
    for symbol in sorted(where, key=len, reverse=True):
        text = text.replace(symbol, where[symbol])
    return text


def plain(size: Any) -> Any:
    """Return a size as plain data: an int, or the text of an expression."""
    return str(size.node.expr) if is_symbolic(size) else size
