"""The gamma function's logarithm, and the Hurwitz zeta function's derivatives."""

import math

import pytest

import torchlike as torch


def test_the_derivative_of_zeta_in_its_first_argument_is_refused():
    x = torch.tensor([2.5], requires_grad=True)
    y = torch.special.zeta(x, 2.0)
    with pytest.raises(NotImplementedError, match="the derivative for 'zeta' is not implemented"):
        y.backward()


def test_the_derivative_of_zeta_in_its_second_argument():
    """d/dq zeta(x, q) = -x zeta(x + 1, q)."""
    x, q = torch.tensor([2.5, 3.0]), torch.tensor([1.5, -0.5], requires_grad=True)
    torch.special.zeta(x, q).sum().backward()
    torch.testing.assert_close(q.grad, -x * torch.special.zeta(x + 1, q.detach()))


def test_the_logarithm_of_the_gamma_function_near_its_zeros():
    x = torch.tensor([1.0, 2.0, 0.999999, 1.00001, 2.00001, 1.5, -2.5, 0.0, -1.0, torch.inf])
    expected = [math.inf if n in (0, -1) else math.lgamma(n) for n in x.tolist()]
    for fn in (torch.lgamma, torch.jit(torch.lgamma)):
        assert fn(x)[:2].tolist() == [0, 0]
        assert fn(x).tolist() == pytest.approx(expected, rel=1e-6)
