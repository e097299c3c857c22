"""The table of formulas, and what they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike._aten.packets import aten
from torchlike._core.tensor import Tensor

Rule = Callable[[Any, Any], Any]


class Formula:
    """The gradient of each argument: ``rule(cotangent, arguments)``."""

    def __init__(
        self, rules: dict[str, Rule], needs_result: bool, takes_all: bool, saves: bool
    ) -> None:
        self.rules = rules
        #: Whether a rule uses the operator's result.
        self.needs_result = needs_result
        #: Whether rules get the cotangents of all results, None for those without.
        self.takes_all = takes_all
        #: Whether rules use values of arguments: backward can run once then.
        self.saves = saves

    def gradient(self, argument: str, cotangent: Any, bound: Any) -> Any:
        """The gradient of one argument; None where it has none."""
        rule = self.rules.get(argument)
        return None if rule is None else rule(cotangent, bound)


#: By the operator's name, with its overload after a dot where it is for that alone.
FORMULAS: dict[str, Formula] = {}


def formula(
    *names: str, result: bool = False, every: bool = False, saves: bool = True, **rules: Rule
) -> None:
    """Say the gradients of operators. ``result``: rules use it; ``every``: they get all cotangents;
    ``saves``: they use values of arguments."""
    for name in names:
        FORMULAS[name] = Formula(rules, result, every, saves)


def summed_to(g: Tensor, size: Any) -> Tensor:
    """The sum over what was broadcast."""
    lead = g.dim() - len(size)
    dims = list(range(lead))
    dims += [i + lead for i, n in enumerate(size) if n == 1 and g.shape[i + lead] != 1]
    if dims:
        g = aten.sum.dim_IntList(g, dims, True)
    return aten.view.default(g, list(size)) if lead else g


def times(g: Tensor, factor: Any) -> Tensor:
    """A product, left out where the factor is the number one."""
    if not isinstance(factor, Tensor) and factor == 1:
        return g
    return aten.mul.Tensor(g, factor)


def times_number(g: Tensor, number: Any) -> Tensor:
    """``times`` as the compiled core writes it for a number."""
    return g if number == 1 else aten.mul.Tensor(g, number)
