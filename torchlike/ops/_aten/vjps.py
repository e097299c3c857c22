"""The backward pass of an operator without a formula: one operator, ``torchlike::<name>_backward``.

It is computed by the operator's own autograd on plain tensors, so that it exists for all of them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from torchlike._core import modes
from torchlike._ops.aten import custom
from torchlike.autograd.backward import grad
from torchlike.ops._aten.handlers import handled, tensors_of
from torchlike.ops._aten.schema_language import FunctionSchema, parse
from torchlike.tensor import Tensor


class BackwardOperator:
    """``(cotangents, which, args, kwargs) -> gradients``: of the tensors numbered ``which`` among
    the arguments of the operator."""

    namespace, overload = "torchlike", ""

    def __init__(self, forward: Any) -> None:
        self.forward = forward
        self.name = f"{forward.operator.name}_backward"
        self.__doc__ = f"Compute the gradients of ``{forward}``."

    @property
    def qualname(self) -> str:
        return f"torchlike::{self.name}"

    @functools.cached_property
    def schema(self) -> FunctionSchema:
        return parse(f"{self.qualname}(Tensor?[] cotangents, int[] which) -> Tensor[]")

    def __call__(self, cotangents: Any, which: Any, *args: Any, **kwargs: Any) -> list[Any]:
        places = iter(range(len(tensors_of((*args, *kwargs.values())))))
        wanted: list[Tensor] = []

        def opened(value: Any) -> Any:
            if isinstance(value, Tensor):
                if next(places) not in which:
                    return value.detach().clone()  # the forward may write it: running means
                fresh = value.detach().requires_grad_()
                wanted.append(fresh)
                return fresh
            if isinstance(value, (tuple, list)):
                return type(value)(map(opened, value))
            return value

        before, modes.current.grad_enabled = modes.current.grad_enabled, True
        try:
            given = [opened(a) for a in args]
            named = {k: opened(v) for k, v in kwargs.items()}
            if self.forward._schema.is_mutable:
                given[0] = given[0].clone()
            outputs = tensors_of((self.forward.operator(*given, **named),))
        finally:
            modes.current.grad_enabled = before
        pairs = [
            (o, c)
            for o, c in zip(outputs, cotangents, strict=False)
            if c is not None and o.requires_grad
        ]
        found = grad([o for o, _ in pairs], wanted, [c for _, c in pairs], allow_unused=True)
        return [
            w.new_zeros(w.shape) if g is None else g for g, w in zip(found, wanted, strict=True)
        ]


_made: dict[Any, Any] = {}


def gradients(node: Any, cotangents: Sequence[Any]) -> list[Any]:
    """Return the gradients of the tensors that a node was recorded for, in order."""
    overload = node.overload
    operator = _made.get(overload)
    if operator is None:
        packet = custom.OpOverloadPacket("torchlike", f"{overload.operator.name}_backward")
        packet._add(BackwardOperator(overload))
        setattr(custom.find("torchlike"), packet.__name__, packet)  # where graphs look for it
        operator = _made[overload] = packet.default
    if modes.current.grad_enabled:
        raise NotImplementedError(
            f"create_graph=True through {overload} where __torch_dispatch__ is asked: its backward "
            "pass is one operator, which is not differentiated again"
        )
    wanted = {id(t) for t in node.wanted}
    every = tensors_of((*node.args, *node.kwargs.values()))
    which = [i for i, t in enumerate(every) if id(t) in wanted]
    if len(which) < len(node.wanted):
        which = list(range(len(node.wanted)))
    return list(handled(operator, (list(cotangents), which, *node.args), node.kwargs))
