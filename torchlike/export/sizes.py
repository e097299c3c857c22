"""The sizes of an export: symbols for those that may differ, what a trace decided about them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from jax import export as jax_export

from torchlike._compat.symbolic import SymInt, SymNode, symbolic_sizes
from torchlike._dynamo.exc import UserError, UserErrorType
from torchlike.export.any_size import last_alike
from torchlike.export.dynamic_dims import Dim
from torchlike.export.dynamic_shapes import (
    arguments_of,
    is_dynamic,
    of_dimensions,
    said_of_leaves,
)
from torchlike.export.guards import SIGNS
from torchlike.export.specified import SpecifiedShapes, is_specification
from torchlike.fx.experimental.symbolic_shapes import ShapeEnv
from torchlike.tensor import Tensor
from torchlike.utils import _pytree as pytree

#: Sizes at which a guard on named dimensions is tried, beside the ends of the range.
_SAMPLES = (
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
    16,
    17,
    31,
    32,
    33,
    64,
    65,
    100,
    127,
    128,
    1000,
    1009,
    4096,
    65537,
)


class ValueRange(NamedTuple):
    """What a symbol may stand for; ``upper`` is None for any size, ``lower`` for any number that
    values tell."""

    lower: int | None
    upper: int | None

    def __repr__(self) -> str:
        lower = "-int_oo" if self.lower is None else self.lower
        return f"VR[{lower}, {'int_oo' if self.upper is None else self.upper}]"

    def has(self, size: int) -> bool:
        """Return whether a size is within the range."""
        return size >= (self.lower or 0) and (self.upper is None or size <= self.upper)


class Symbol(NamedTuple):
    """A size that may differ: what was said of it, and what it is at hand."""

    #: The dimension's name, or where it was found.
    shown: str
    range: ValueRange
    size: int
    #: Whether the trace may fix it.
    automatic: bool
    #: Whether the trace may narrow its range.
    inferred: bool


class AffineSize(NamedTuple):
    """A size made of a symbol: ``scale * symbol + offset``."""

    symbol: str
    scale: int
    offset: int


class ArgumentSizes:
    """The leaves of an export's arguments: their names, and symbols in the place of sizes.

    Args:
      fixed: names of symbols that a trace before found to stand for one size only.

    UserError where ``dynamic_shapes`` does not fit the arguments, or two sizes of one dimension
    differ.
    """

    def __init__(
        self, spec: Any, fn: Any, args: Any, kwargs: Any, fixed: frozenset[str] = frozenset()
    ) -> None:
        self.env: Any = ShapeEnv()
        self.names = leaf_names(fn, args, kwargs)
        self.symbols: dict[str, Symbol] = {}
        self._fixed = fixed
        self._by_root: dict[str, str] = {}
        specified = SpecifiedShapes(spec, fn, args, kwargs) if is_specification(spec) else None
        pairs = said_of_leaves(spec, fn, args, kwargs) if specified is None else specified.pairs
        rows = [
            self._row(leaf, said, name)
            for (leaf, said), name in zip(pairs, self.names, strict=True)
        ]
        made = self._made()
        #: What a leaf's size is (a tuple of ints and SymInts), or what stands for an int; None for
        #: what has no symbols.
        self.of_leaves = [
            self._sized(leaf, row, made) for (leaf, _), row in zip(pairs, rows, strict=True)
        ]
        by_root = {root: made[name] for root, name in self._by_root.items()}
        #: What a specification assumes beside, as relations of the guards.
        self.assumed = [] if specified is None else specified.assumed(by_root)

    def _row(self, leaf: Any, said: Any, name: str) -> dict[int, AffineSize]:
        """Return the dimensions of a leaf that are made of symbols, and how; dimension 0 stands for
        a number itself."""
        if isinstance(leaf, Tensor):
            entries = of_dimensions(leaf, said)
            found = {
                d: self._linear(e, leaf.shape[d], f"L['{name}'].size()[{d}]")
                for d, e in entries.items()
            }
        elif type(leaf) is int and is_dynamic(said):
            found = {0: self._linear(said, leaf, f"L['{name}']")}
        else:
            return {}
        return {d: made for d, made in found.items() if made is not None}

    def _linear(self, entry: Any, size: int, where: str) -> AffineSize | None:
        """Return how a size is made of a symbol, or None for one that stays a number."""
        if isinstance(entry, int):
            if entry != size:
                raise UserError(
                    UserErrorType.CONSTRAINT_VIOLATION,
                    f"Static shape constraint of {entry} does not match input size of {size}, "
                    f"for {where}",
                )
            return None
        if not is_dynamic(entry):
            return None
        if not isinstance(entry, Dim):
            automatic = entry.name == "AUTO"
            if size < symbolic_sizes.LEAST:
                if automatic:
                    return None
                raise UserError(
                    UserErrorType.CONSTRAINT_VIOLATION,
                    f"Constraints violated ({where})! You marked {where} as dynamic but your code "
                    f"specialized it to be a constant ({size}).",
                )
            alone = self._symbol(where, entry, size, automatic)
            return None if alone is None else AffineSize(alone, 1, 0)
        root = entry._root
        at_hand = entry.root_size(size)
        where = f"{where} = {size}"
        if at_hand is None or not _range(root).has(at_hand):
            raise UserError(
                UserErrorType.CONSTRAINT_VIOLATION,
                f"Constraints violated ({root.__name__})! Expected {where} to be of the form "
                f"{entry._text}, where {root.__name__} is in {_range(root)}",
            )
        name = self._by_root.get(root.__name__)
        if name is None:
            name = self._symbol(root.__name__, root, at_hand, False)
            if name is None:
                return None
            self._by_root[root.__name__] = name
        elif self.symbols[name].size != at_hand:
            raise UserError(
                UserErrorType.CONSTRAINT_VIOLATION,
                f"Constraints violated ({root.__name__})! The values of {root.__name__} = "
                f"{self.symbols[name].size} and {where} must always be equal.",
            )
        return AffineSize(name, entry._scale, entry._offset)

    def _symbol(self, shown: str, said: Any, size: int, automatic: bool) -> str | None:
        name = f"s{len(self.symbols)}"
        if shown in self._fixed:
            return None
        if size < symbolic_sizes.LEAST:
            raise UserError(
                UserErrorType.CONSTRAINT_VIOLATION,
                f"Constraints violated ({shown})! {shown} is dynamic, but the example has size "
                f"{size}, of which PyTorch makes a constant: give an example of size 2 or more",
            )
        self.symbols[name] = Symbol(
            shown, _range(said), size, automatic, inferred=not isinstance(said, Dim)
        )
        return name

    def _made(self) -> dict[str, Any]:
        """Return the symbols by name."""
        if not self.symbols:
            return {}
        bounds = []
        for name, symbol in self.symbols.items():
            bounds.append(f"{name} >= {max(symbol.range.lower, symbolic_sizes.LEAST)}")
            if symbol.range.upper is not None:
                bounds.append(f"{name} <= {symbol.range.upper}")
        scope = self.env.scope = jax_export.SymbolicScope(bounds)
        found = jax_export.symbolic_shape(", ".join(self.symbols) + ",", scope=scope)
        self.env.hints.update({n: s.size for n, s in self.symbols.items()})
        return dict(zip(self.symbols, found, strict=True))

    def _sized(self, leaf: Any, row: dict[int, AffineSize], made: dict[str, Any]) -> Any:
        if not row:
            return None
        numbers = {d: self._number(made[x.symbol] * x.scale + x.offset) for d, x in row.items()}
        if not isinstance(leaf, Tensor):
            return numbers[0]
        return tuple(numbers.get(d, n) for d, n in enumerate(leaf.shape))

    def _number(self, expr: Any) -> Any:
        return SymInt(SymNode(expr, self.env, symbolic_sizes.value(expr, self.env.hints)))

    # -- after the trace ---------------------------------------------------------------------------

    def fixed_by_the_trace(self) -> frozenset[str]:
        """Return the symbols that the trace fixed and was allowed to fix, by the text that they are
        shown as.

        UserError for a dimension of which it was said that it differs.
        """
        found = set()
        for guard in self.env.guards:
            failed = self._failed(guard)
            if failed is None:
                continue
            names = sorted(_names(guard))
            symbols = [self.symbols[n] for n in names]
            fixes = guard.is_equality and guard.holds
            if not fixes and all(s.inferred for s in symbols):
                if not guard.is_equality and len(names) == 1:
                    self._narrow(names[0], guard)
                continue
            if all(s.automatic for s in symbols):
                if len(names) == 1:
                    found.add(symbols[0].shown)
                continue
            named = next(s for s in symbols if not (s.automatic if fixes else s.inferred))
            said = _specialized(named) if fixes else self._out_of_range(named, guard, failed)
            raise UserError(UserErrorType.CONSTRAINT_VIOLATION, said)
        return frozenset(found)

    def _failed(self, guard: Any) -> dict[str, int] | None:
        """Return other sizes for which a guard decides otherwise, if there are any."""
        others = self._others(guard)
        return next((n for n in others if not guard.check({**self.env.hints, **n})), None)

    def _narrow(self, name: str, guard: Any) -> None:
        """Narrow a symbol's range to the sizes that meet a guard."""
        while (failed := self._failed(guard)) is not None:
            symbol, size = self.symbols[name], failed[name]
            last = last_alike(guard, name, symbol.size, size)
            end = "upper" if size > symbol.size else "lower"
            self.symbols[name] = symbol._replace(range=symbol.range._replace(**{end: last}))

    def _out_of_range(self, symbol: Symbol, guard: Any, failed: Mapping[str, int]) -> str:
        """Return the words for a guard that some sizes of a range do not meet."""
        sign = SIGNS[guard.is_equality, guard.holds]
        told = f"{guard.left} {sign} {guard.right}"
        for name in sorted(_names(guard), key=len, reverse=True):
            told = re.sub(rf"\b{name}\b", self.symbols[name].shown, told)
        said = (
            f"Constraints violated ({symbol.shown})!\n  - Not all values of {symbol.shown} in the "
            f"specified range {symbol.range} satisfy the generated guard {told}"
        )
        if guard.is_equality or len(_names(guard)) > 1 or not symbol.shown.isidentifier():
            return said
        ((name, size),) = failed.items()
        last = last_alike(guard, name, symbol.size, size)
        ends = {"min": symbol.range.lower or None, "max": symbol.range.upper}
        ends["max" if size > symbol.size else "min"] = last
        of = "".join(f", {end}={n}" for end, n in ends.items() if n is not None)
        return f"{said}\nSuggested fixes:\n  {symbol.shown} = Dim('{symbol.shown}'{of})"

    def _others(self, guard: Any) -> list[dict[str, int]]:
        """Return other sizes of the symbols in a guard, within their ranges."""
        found = []
        for name in _names(guard):
            bounds = self.symbols[name].range
            ends = [max(bounds.lower, symbolic_sizes.LEAST)]
            ends += [bounds.upper] if bounds.upper is not None else []
            found += [
                {name: n} for n in (*_SAMPLES, *ends) if bounds.has(n) and n >= symbolic_sizes.LEAST
            ]
        return found

    def ranges(self) -> dict[str, ValueRange]:
        """Return the ranges of the symbols, by their names, those of values included."""
        found = {name: symbol.range for name, symbol in self.symbols.items()}
        for name, (lower, upper) in self.env.unbacked.ranges.items():
            ends = [None if math.isinf(end) else int(end) for end in (lower, upper)]
            found[name] = ValueRange(*ends)
        return found


def _specialized(symbol: Symbol) -> str:
    return (
        f"Constraints violated ({symbol.shown})!\n  - You marked {symbol.shown} as dynamic but "
        f"your code specialized it to be a constant ({symbol.size}). If you're using mark_dynamic, "
        "either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, replace it with "
        f"either Dim.STATIC or Dim.AUTO.\nSuggested fixes:\n  {symbol.shown} = {symbol.size}"
    )


def _names(guard: Any) -> set[str]:
    return {
        name
        for side in (guard.left, guard.right)
        if symbolic_sizes.is_symbolic(side)
        for name in symbolic_sizes.of_jax.variables(side)
    }


def _range(said: Any) -> ValueRange:
    return ValueRange(said.min or 0, said.max)


def leaf_names(fn: Any, args: Any, kwargs: Mapping[str, Any]) -> list[str]:
    """Return a name for each leaf of the arguments: the parameter's, and the path to the leaf."""
    return [
        text
        for argument in arguments_of(fn, args, kwargs)
        for text in _paths(argument.label, argument.value)
    ]


def _paths(name: str, value: Any) -> list[str]:
    found, _ = pytree.tree_flatten_with_path(value)
    return [
        "_".join([name, *(re.sub(r"[^a-zA-Z0-9]", "_", _key(k)) for k in path)])
        for path, _ in found
    ]


def _key(key: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)
