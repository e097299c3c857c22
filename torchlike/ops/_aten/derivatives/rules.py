"""The table of formulas, and what they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor

Rule = Callable[[Any, Any], Any]


class Formula:
    """The gradient of each argument: ``rule(cotangent, arguments)``."""

    def __init__(
        self,
        rules: dict[str, Rule],
        results: tuple[int, ...],
        takes_all: bool,
        saves: bool,
        only_first: bool,
    ) -> None:
        self.rules = rules
        #: Which of the operator's results rules use.
        self.results = results
        #: Whether rules get the cotangents of all results, None for those without.
        self.takes_all = takes_all
        #: Whether rules use values of arguments: backward can run once then.
        self.saves = saves
        #: Whether only the first result is differentiable.
        self.only_first = only_first

    def gradient(self, argument: str, cotangent: Any, bound: Any) -> Any:
        """Return the gradient of one argument; None where it has none."""
        rule = self.rules.get(argument)
        return None if rule is None else rule(cotangent, bound)

    def overwrites(self, target: Tensor, args: Any, kwargs: Any) -> bool:
        """Return whether an in-place operator's gradients need the values that it is about to
        overwrite."""
        if not self.saves:
            return False
        wanted = {
            name
            for name, value in zip(self.rules, args, strict=False)
            if isinstance(value, Tensor) and value.requires_grad
        }
        return any(
            "self" in rule.__code__.co_names
            for name, rule in self.rules.items()
            if name in wanted or name not in ("self", "other")
        )


#: By the operator's name, with its overload after a dot where it is for that alone.
FORMULAS: dict[str, Formula] = {}


def formula(
    *names: str,
    result: Any = (),
    every: bool = False,
    saves: bool = True,
    only_first: bool = False,
    **rules: Rule,
) -> None:
    """Register the gradients of operators. ``result``: which results rules use, True for the only
    one; ``every``: rules get all cotangents; ``saves``: they use values of arguments or results;
    ``only_first``: further results are not differentiable."""
    kept = (0,) if result is True else tuple(result)
    for name in names:
        FORMULAS[name] = Formula(rules, kept, every, saves, only_first)


def summed_to(g: Tensor, size: Any) -> Tensor:
    """Sum over the dimensions that were broadcast."""
    lead = g.dim() - len(size)
    dims = list(range(lead))
    dims += [i + lead for i, n in enumerate(size) if n == 1 and g.shape[i + lead] != 1]
    if dims:
        g = aten.sum.dim_IntList(g, dims, True)
    return aten.view.default(g, list(size)) if lead else g


def times(g: Tensor, factor: Any) -> Tensor:
    """Multiply by a factor; by the number one nothing is done."""
    if not isinstance(factor, Tensor) and factor == 1:
        return g
    return aten.mul.Tensor(g, factor)


def times_number(g: Tensor, number: Any) -> Tensor:
    """Multiply by a number as the compiled core writes it: by one nothing is done."""
    return g if number == 1 else aten.mul.Tensor(g, number)
