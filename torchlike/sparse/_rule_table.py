"""How a rule for an op on sparse operands gets into its table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES, OPS, names_with
from torchlike._extensions.sparse_array import COMPRESSED_RULES, RULES

Rule = Callable[..., Any]
#: Functions that are 0 at 0, and so may look at the values alone.
OF_ELEMENTS = tuple(names_with("zero_at_zero"))
#: Those of a sum that are the sum of its terms', so that duplicates need not be added before.
OF_TERMS = "neg", "conj_physical"


def rule(name: str) -> Callable[[Rule], Rule]:
    """Let a function of an op's operands and statics stand for it where one is in coordinate form.
    TypeError where there is no op of the name."""
    return _into(RULES, name)


def compressed_rule(name: str) -> Callable[[Rule], Rule]:
    """Return a decorator that registers the rule of a function where an operand is compressed."""
    return _into(COMPRESSED_RULES, name)


def _into(table: dict[str, Rule], name: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        if name not in OPS:
            raise TypeError(f"a rule for the op {name}, which there is not")
        table[OPS[name].name] = function
        return function

    return register


def functions(names: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """Return the public functions of those names that are ops."""
    return {name: NAMESPACES[""][name] for name in names if name in OPS}
