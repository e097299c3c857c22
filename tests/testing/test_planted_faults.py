"""Faults of the usual kinds, each caught by one line of a user's test, and not by luck: the right
function passes the same line."""

import jax
import numpy as np
import pytest

import torchlike as torch
from torchlike.testing import (
    assert_aliases,
    assert_draws_anew,
    assert_finite,
    assert_gradients,
    assert_matches_eager,
    assert_no_recompile,
    chex,
)

X = torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.25, -0.5]])


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


class WrongCube(Cube):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x**2


class WrongSecond(Cube):
    """Right to the first order: what it saves is cut from the graph."""

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x.detach() ** 2


def test_a_wrong_gradient():
    assert_gradients(Cube.apply, X)
    with pytest.raises(AssertionError, match="order 1: Jacobian mismatch"):
        assert_gradients(WrongCube.apply, X)


def test_a_wrong_second_gradient():
    assert_gradients(Cube.apply, X, order=3)
    assert_gradients(WrongSecond.apply, X)
    with pytest.raises(AssertionError, match="derivatives of order 2"):
        assert_gradients(WrongSecond.apply, X, order=2)


def dropout(x):
    return torch.nn.functional.dropout(x.expand(20, 2, 3), 0.5)


@torch.from_jax_function
def dropout_of_one_key(x):
    return x * jax.random.bernoulli(jax.random.key(0), 0.5, (20, 2, 3))


class KeptMask(torch.nn.Module):
    """A mask that is drawn once, as a cache or a captured constant would be."""

    mask = None

    def forward(self, x):
        if self.mask is None:
            self.mask = torch.rand(20, 2, 3) > 0.5
        return x * self.mask


def test_frozen_dropout():
    assert_draws_anew(dropout, X)
    with pytest.raises(AssertionError, match="eagerly, the second call gives the numbers of the"):
        assert_draws_anew(dropout_of_one_key, X)
    with pytest.raises(AssertionError, match="the second call gives the numbers of the first"):
        assert_draws_anew(KeptMask(), X)


def numbers_of_nobody(x):
    return x * torch.from_numpy(np.random.default_rng().random((20, 2, 3)))


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_numbers_without_a_seed():
    with pytest.raises(AssertionError, match="the same seed gives other numbers"):
        assert_draws_anew(numbers_of_nobody, X)


def first_row(x):
    return x[0]


def copied_row(x):
    return torch.from_jax(x.jax()[0])


def test_a_lost_view_write():
    assert_aliases(first_row(X), X)
    with pytest.raises(AssertionError, match="a write to one is not seen in the other"):
        assert_aliases(copied_row(X), X)


@torch.jit
def scaled(x, factor):
    return x * factor


@torch.jit
def scaled_by_shape(x, n):
    return x * torch.ones(n).sum()


def test_a_recompile_per_call():
    with assert_no_recompile():
        for factor in (1, 2, 3):
            scaled(X, torch.tensor(factor))
    with pytest.raises(AssertionError, match=r"scaled_by_shape was compiled 2 times more: .*`n`"):
        assert_no_recompile(lambda: [scaled_by_shape(X, n) for n in (1, 2, 3)])()


def test_a_function_compiled_anew_per_call():
    def step(x):
        return torch.jit(lambda x: x + 1)(x)

    with pytest.raises(AssertionError, match=r"given to torchlike\.jit anew each time"):
        assert_no_recompile(lambda: [step(X) for _ in range(3)])()


def safe_root(x):
    return torch.where(x > 0, torch.where(x > 0, x, 1).sqrt(), 0)


def root(x):
    return torch.where(x > 0, x.sqrt(), 0)


def test_a_nan_path():
    x = torch.tensor([4.0, 0.0, -1.0], requires_grad=True)
    assert_finite(safe_root, x)
    assert root(x).tolist() == [2.0, 0.0, 0.0]  # the value alone shows nothing
    with pytest.raises(AssertionError, match=r"the gradient of argument 0 is not finite at \(1,\)"):
        assert_finite(root, x)


def halved(x):
    return x * torch.tensor([0.5, 1.0, 2.0], dtype=x.dtype)


def promoted(x):
    return x * torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)


def test_a_dtype_promotion():
    chex.assert_trees_all_equal_dtypes(halved(X), X)
    with pytest.raises(AssertionError, match="float64 != float32"):
        chex.assert_trees_all_equal_dtypes(promoted(X), X)


def diverging(x):
    """What a capture cannot see: whether it runs."""
    return x * 2 if torch.compiler.is_compiling() else x + x + 1e-3


def diverging_write(x):
    if torch.compiler.is_compiling():
        x[0].neg_()
    return x.sum() * 0


class DivergingGradient(Cube):
    @staticmethod
    def backward(ctx, g):
        return Cube.backward(ctx, g) * (2 if torch.compiler.is_compiling() else 1)


def drawing(x):
    if torch.compiler.is_compiling():
        torch.rand(3)
    return x * 1


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (diverging, "jit differs from eager in the result"),
        (diverging_write, "in argument 0 after the call"),
        (DivergingGradient.apply, "in the gradient of argument 0"),
        (drawing, "in the random generator"),
    ],
)
def test_compiled_code_that_differs(fault, words):
    x = X.clone() if fault is diverging_write else X.clone().requires_grad_()
    with pytest.raises(AssertionError, match=words):
        assert_matches_eager(fault, x)
