"""``torch.nn.grad``: the gradients of convolutions, and those of these."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import torchlike

torch = pytest.importorskip("torch")


CASES = [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "padding": (2,)}, {"groups": 2}]


def gradients(library: Any, n: int, how: dict[str, Any]) -> list[np.ndarray]:
    library.manual_seed(0)
    how = {k: v * n if isinstance(v, tuple) else v for k, v in how.items()}
    x = library.randn(2, 4, *[6, 5, 7][:n]).requires_grad_()
    w = library.randn(6, 4 // how.get("groups", 1), *[2, 3, 2][:n]).requires_grad_()
    out = getattr(library.nn.functional, f"conv{n}d")(x, w, **how)
    g = library.randn(out.shape).requires_grad_()
    of_input = getattr(library.nn.grad, f"conv{n}d_input")(x.shape, w, g, **how)
    of_weight = getattr(library.nn.grad, f"conv{n}d_weight")(x, w.shape, g, **how)
    total = (of_input**2).sum() + (of_weight**2).sum()
    found = [of_input, of_weight, *library.autograd.grad(total, (x, w, g))]
    with library.no_grad():
        alone = getattr(library.nn.grad, f"conv{n}d_input")(x.shape, w, g, **how)
    assert not alone.requires_grad
    return [t.detach().numpy() for t in (*found, alone)]


@pytest.mark.parametrize("how", CASES, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_gradients_of_convolutions(n, how):
    for a, b in zip(gradients(torchlike, n, how), gradients(torch, n, how), strict=True):
        assert a.shape == b.shape
        # Sums of up to some hundred products of either sign.
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * np.abs(b).max())


def test_inside_a_function_of_the_users():
    library = torchlike

    class Convolve(library.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return library.nn.functional.conv2d(x, w)

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            of = library.nn.grad
            return of.conv2d_input(x.shape, w, g), of.conv2d_weight(x, w.shape, g)

    x = library.randn(1, 2, 4, 4, dtype=library.float64).requires_grad_()
    w = library.randn(3, 2, 2, 2, dtype=library.float64).requires_grad_()
    assert library.autograd.gradcheck(Convolve.apply, (x, w))
    assert library.autograd.gradgradcheck(Convolve.apply, (x, w))
    step = library.jit(lambda x, w: library.autograd.grad(Convolve.apply(x, w).sum(), (x, w)))
    eager = library.autograd.grad(library.nn.functional.conv2d(x, w).sum(), (x, w))
    library.testing.assert_close(step(x, w), eager)


def test_it_is_found_in_functional_too():
    for library in (torchlike, torch):
        assert library.nn.functional.grad.conv2d_input is library.nn.grad.conv2d_input
