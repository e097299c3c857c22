"""The Hurwitz zeta function's derivatives."""

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
