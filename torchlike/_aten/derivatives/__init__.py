"""Gradients as calls of aten's operators, as PyTorch's backward pass makes them.

Only where classes or modes are asked: everywhere else backward is ``jax.vjp`` of what was recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from torchlike._aten.derivatives import layers, pointwise, shapes
from torchlike._aten.derivatives.rules import FORMULAS, Formula, summed_to
from torchlike._core.tensor import Tensor

__all__ = ["formula_of", "gradients", "layers", "pointwise", "shapes"]


def formula_of(overload: Any) -> Formula | None:
    """The formula of an operator, or of what it is the in-place twin of; None for none."""
    operator = overload.operator
    if operator.namespace != "aten":
        return None
    name = operator.name
    for own in (name, name[:-1] if name.endswith("_") and not name.endswith("__") else name):
        found = FORMULAS.get(f"{own}.{operator.overload or 'default'}") or FORMULAS.get(own)
        if found is not None:
            return found
    return None


class Bound:
    """The arguments of a call by the names of the schema; its results, and their sizes."""

    def __init__(self, node: Any) -> None:
        self._node = node
        positional = [a for a in node.overload._schema.arguments if not a.keyword_only]
        for a in node.overload._schema.arguments:
            setattr(self, a.name, a.default_value)
        for a, value in zip(positional, node.args, strict=False):
            setattr(self, a.name, value)
        for name, value in node.kwargs.items():
            setattr(self, name, value)
        self.sizes = [size for size, _ in node.avals]

    @functools.cached_property
    def result(self) -> Any:
        """The first result."""
        return self._node.result(0)

    @functools.cached_property
    def second(self) -> Any:
        """The second result."""
        return self._node.result(1)

    @functools.cached_property
    def third(self) -> Any:
        """The third result."""
        return self._node.result(2)


def gradients(node: Any, cotangents: Sequence[Any]) -> list[Any]:
    """The gradients of the tensors that a node was recorded for, in order."""
    bound = Bound(node)
    formula = node.formula
    given = list(cotangents) if formula.takes_all else cotangents[0]
    if given is None:
        return [None] * len(node.wanted)
    found: list[Any] = []
    for a in node.overload._schema.arguments:
        value = getattr(bound, a.name)
        if isinstance(value, Tensor):
            if value.requires_grad or (a.is_written and _stood_in(node, value)):
                made = formula.gradient(a.name, given, bound)
                if made is not None and tuple(made.shape) != tuple(value.shape):
                    made = summed_to(made, value.shape)
                if made is not None and made.dtype is not value.dtype:
                    made = made.to(value.dtype)
                found.append(made)
        elif isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
            made = formula.gradient(a.name, given, bound)
            found += [made[i] if made is not None else None for i, v in enumerate(value)
                      if isinstance(v, Tensor) and v.requires_grad]  # fmt: skip
    return found


def _stood_in(node: Any, value: Tensor) -> bool:
    """Whether ``value`` is the copy of what an in-place operator has overwritten, which wanted a
    gradient."""
    others = [t for t in node.args if isinstance(t, Tensor) and t is not value and t.requires_grad]
    return len(node.wanted) > len(others)
