"""Gradients as calls of aten's operators, as PyTorch's backward pass makes them.

Only where classes or modes are asked: everywhere else backward is ``jax.vjp`` of what was recorded.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from torchlike.ops._aten.derivatives import layers, pointwise, shapes
from torchlike.ops._aten.derivatives.rules import FORMULAS, Formula, summed_to
from torchlike.tensor import Tensor

__all__ = ["formula_of", "gradients", "layers", "pointwise", "shapes"]


def formula_of(overload: Any) -> Formula | None:
    """Return the formula of an operator, or of the operator whose in-place twin it is; None where
    there is none."""
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
    """Return the gradients of the tensors that a node was recorded for, in order."""
    bound = Bound(node)
    formula = node.formula
    given = list(cotangents) if formula.takes_all else cotangents[0]
    if given is None:
        return [None] * len(node.wanted)
    arguments = {a.name: a for a in node.overload._schema.arguments}
    made: dict[str, Any] = {}
    for name in [*formula.rules, *(n for n in arguments if n not in formula.rules)]:
        value = getattr(bound, name, None)
        if _wants(node, arguments[name], value):
            made[name] = formula.gradient(name, given, bound)
    found: list[Any] = []
    for name, a in arguments.items():
        value, gradient = getattr(bound, name), made.get(name)
        if isinstance(value, Tensor):
            if _wants(node, a, value):
                found.append(_fitted(gradient, value))
        elif isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value):
            found += [
                None if gradient is None else _fitted(gradient[i], v)
                for i, v in enumerate(value)
                if isinstance(v, Tensor) and v.requires_grad
            ]
    return found


def _fitted(gradient: Any, value: Tensor) -> Any:
    """Return a gradient summed to the size of the value that it is for, in its dtype."""
    if gradient is None:
        return None
    if tuple(gradient.shape) != tuple(value.shape):
        gradient = summed_to(gradient, value.shape)
    return gradient if gradient.dtype is value.dtype else gradient.to(value.dtype)


def _wants(node: Any, argument: Any, value: Any) -> bool:
    """Return whether an argument's gradient is asked for."""
    if isinstance(value, (list, tuple)):
        return any(isinstance(v, Tensor) and v.requires_grad for v in value)
    if not isinstance(value, Tensor):
        return False
    return value.requires_grad or (argument.is_written and _stood_in(node, value))


def _stood_in(node: Any, value: Tensor) -> bool:
    """Return whether ``value`` is the copy of what an in-place operator has overwritten, which
    wanted a gradient."""
    others = [t for t in node.args if isinstance(t, Tensor) and t is not value and t.requires_grad]
    return len(node.wanted) > len(others)
