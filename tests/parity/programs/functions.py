"""Custom Functions for the programs, the same for each library. Their gradients are not those of
what they compute, so that one that is lost or derived from the forward shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


def custom(torch: Any) -> SimpleNamespace:
    """The Functions of a library, applied."""

    class Tripled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 5

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs, output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y, out = ctx.saved_tensors
            return g * y + out if ctx.needs_input_grad[0] else None, g * x * 2

    class Parts(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x + 1, x * 2

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            if g is None:
                return None if h is None else h * 7
            return g if h is None else g + h * 7

    return SimpleNamespace(
        tripled=Tripled.apply, product=Product.apply, parts=lambda x: Parts.apply(x)
    )
