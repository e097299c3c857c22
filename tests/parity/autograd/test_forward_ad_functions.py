"""Functions whose forward takes ctx, in forward mode: their jvp reads what forward left there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")

pytestmark = [
    # PyTorch's first dual tensor compiles decompositions by its deprecated torch.jit.script.
    pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning"),
]


def exponential(library: Any) -> Any:
    class Exponential(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.result = library.exp(x)
            return ctx.result

        @staticmethod
        def jvp(ctx, tangent):
            result = ctx.result
            del ctx.result
            return tangent * result

    return Exponential


def product(library: Any) -> Any:
    class Product(library.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, factor):
            ctx.save_for_backward(x * 0, y * 0)  # jvp is not to see these
            ctx.save_for_forward(x, y)
            ctx.factor = factor
            return x * y * factor * (library.rand(3) > 0.5), x + y

        @staticmethod
        def jvp(ctx, dx, dy, _):
            x, y = ctx.saved_tensors
            return (dx * y + x * dy) * ctx.factor, dx + dy

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return g + x, h + y, None

    return Product


def tangents(library: Any, recorded: bool) -> list[np.ndarray]:
    library.manual_seed(0)
    x, y = library.randn(3), library.randn(3)
    x.requires_grad_(recorded)
    fw = library.autograd.forward_ad
    found = []
    with fw.dual_level():
        dual = fw.make_dual(x, library.randn(3))
        found += [*fw.unpack_dual(exponential(library).apply(dual))]
        for out in product(library).apply(dual, y, 3.0):
            found += [*fw.unpack_dual(out)]
        if recorded:
            found += library.autograd.grad(sum(t.sum() for t in found[2:]), x)
    return [t.detach().numpy() for t in (*found, library.rand(2))]


@pytest.mark.parametrize("recorded", [False, True])
def test_forward_with_ctx(recorded):
    for a, b in zip(tangents(torchlike, recorded), tangents(torch, recorded), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def test_transforms_ask_for_setup_context():
    for library in (torchlike, torch):
        x = library.ones(2)
        with pytest.raises(RuntimeError, match="must override the setup_context"):
            library.func.jvp(exponential(library).apply, (x,), (x,))
