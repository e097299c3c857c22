"""forward_ad: dual tensors in plain code."""

from __future__ import annotations

import functools
from typing import Any

import comparing
import pytest

import torchlike as torch
from torchlike.autograd import forward_ad as fw

X, T = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([0.5, -1.0, 2.0])

close = functools.partial(comparing.close, rtol=1e-6)


def test_a_derivative() -> None:
    with fw.dual_level() as level:
        assert level == 0
        y = fw.make_dual(X, T).sin() * 2
        primal, tangent = fw.unpack_dual(y)
        close(primal, 2 * X.sin())
        close(tangent, 2 * X.cos() * T)
        assert fw.unpack_dual(X).tangent is None
        assert repr(fw.make_dual(X, T)) == (
            "tensor([1., 2., 3.], tangent=tensor([ 0.5000, -1.0000,  2.0000]))"
        )


def test_written_in_place() -> None:
    with fw.dual_level():
        z = torch.zeros(3)
        z.add_(fw.make_dual(X, T)).mul_(3)
        close(fw.unpack_dual(z).tangent, 3 * T)
        w = torch.zeros(2, 3)
        w[1] = fw.make_dual(X, T)
        close(fw.unpack_dual(w).tangent, torch.stack([torch.zeros(3), T]))
    close(z, 3 * X)


def test_after_the_level_a_dual_is_its_primal() -> None:
    with fw.dual_level():
        d = fw.make_dual(X, T)
    close(d + 1, X + 1)
    assert d.tolist() == X.tolist()
    assert repr(d) == repr(X)
    assert fw.unpack_dual(d).tangent is None


def test_backward_through_tangents() -> None:
    w = X.clone().requires_grad_()
    with fw.dual_level():
        d = fw.make_dual(w, T)
        primal, tangent = fw.unpack_dual((d * d).sum())
        # Both parts come from one node, so its graph is kept for the second.
        (g,) = torch.autograd.grad(tangent, w, retain_graph=True)
        close(g, 2 * T)
        (g,) = torch.autograd.grad(primal, w)
        close(g, 2 * X)


def test_compiled() -> None:
    @torch.jit
    def directional(x: Any, t: Any) -> Any:
        with fw.dual_level():
            return fw.unpack_dual(fw.make_dual(x, t).exp().cumsum(0)).tangent

    for _ in range(2):
        close(directional(X, T), (X.exp() * T).cumsum(0))
    assert directional.compiles == 1


def test_refusals() -> None:
    with pytest.raises(RuntimeError, match="no level exists"):
        fw.make_dual(X, T)
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fw.exit_dual_level()
    with fw.dual_level():
        with pytest.raises(RuntimeError, match="Nested forward mode AD"):
            fw.enter_dual_level()
        with pytest.raises(RuntimeError, match="already has a forward gradient"):
            fw.make_dual(fw.make_dual(X, T), T)
        with pytest.raises(ValueError, match=r"floating point or complex, but got: torch\.int64"):
            fw.make_dual(X.long(), T)
        with pytest.raises(RuntimeError, match="different size"):
            fw.make_dual(X, T[:2])
        with pytest.raises(AttributeError, match="'int' object has no attribute"):
            fw.make_dual(X, 3)  # type: ignore[arg-type]


def test_a_dual_tensor_that_outlives_its_level_in_a_compiled_function():
    def dual(x):
        with fw.dual_level():
            return fw.make_dual(x, x * 2)

    compiled = torch.jit(dual)
    for value in (1.0, 5.0):
        x = torch.full((2,), value)
        assert dual(x).tolist() == compiled(x).tolist() == [value, value]
    assert compiled.compiles == 1


def test_a_gradient_that_outlives_its_level():
    x = torch.ones(2, requires_grad=True)
    with fw.dual_level():
        y = fw.make_dual(x, torch.ones(2)) ** 3
    (y * 2).sum().backward()
    assert x.grad.jax().tolist() == [6, 6]  # an array, as any other


def test_duals_of_tensors_that_require_grad_in_compiled_functions():
    @torch.jit
    def hessian_vector(x, v):
        with fw.dual_level():
            d = fw.make_dual(x, v)
            (g,) = torch.autograd.grad((d**3).sum(), d, create_graph=True)
            return fw.unpack_dual(g).tangent

    x, v = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([1.0, -1.0])
    close(hessian_vector(x, v), 6 * x.detach() * v)
