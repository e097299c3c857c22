"""What PyTorch has no derivative for: results that require grad, through which no gradient passes.

A result computed on the host would else stand in a graph like a constant, and its share of the
gradient would be lost without a word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from torchlike._core import modes
from torchlike._core.dispatch.registry import op
from torchlike._core.dispatch.schema import Input, Inputs, Str
from torchlike.tensor import Tensor


def without_derivative(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap ``fn`` so that its derivative is a NotImplementedError (for ``aten::`` names a
    RuntimeError)."""
    found = jax.custom_jvp(fn)

    @found.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        if name.startswith("aten::"):
            raise RuntimeError(f"derivative for {name} is not implemented")
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return found


@op("underived_op", namespaces=(), method=False, needs="nothing", grad_name="NotImplemented")
def underived_op(values: Input, inputs: Inputs, name: Str):
    """Return the values; backward through them is an error."""
    return without_derivative(name, lambda values, inputs: values)(values, inputs)


def underived(values: Tensor, name: str, *inputs: Tensor | None) -> Tensor:
    """Return ``values``, recorded in the graph where one of the inputs they were made from requires
    grad."""
    if not modes.current.grad_enabled:
        return values
    wanted = [t for t in inputs if t is not None and t.requires_grad]
    return underived_op(values, wanted, name) if wanted else values
