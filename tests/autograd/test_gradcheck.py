"""gradcheck accepts right gradients to second order, and refuses wrong ones."""

import numpy as np
import pytest

import torchlike as torch
from torchlike.autograd import Function, gradcheck, gradgradcheck


def double(*shape, start=0.3):
    n = int(np.prod(shape))
    values = np.linspace(start, start + 1.7, n).reshape(shape)
    return torch.tensor(values.tolist(), dtype=torch.float64, requires_grad=True)


def complex_pair():
    return torch.tensor([0.3 + 0.4j, -1.2 + 0.5j], dtype=torch.complex128, requires_grad=True)


RIGHT = {
    "product": (lambda x, y: x * y.exp(), lambda: (double(3), double(3, start=-1.0))),
    "matrix": (lambda x, y: (x @ y).tanh(), lambda: (double(2, 3), double(3, 2))),
    "several outputs": (lambda x: (x.sin(), (x * x).sum()), lambda: (double(4),)),
    "an input that is not differentiated": (lambda x, k: x**k, lambda: (double(3), 3)),
    "views and in-place": (
        lambda x: (lambda y: (y[1:].mul_(y[:1]), y)[1])(x * 2), lambda: (double(3),)
    ),
    "transposed input": (lambda x: (x.t() * x.t()).cumsum(0), lambda: (double(2, 3),)),
    "complex": (lambda z: z * z.conj() + z**2, lambda: (complex_pair(),)),
    "complex to real": (lambda z: z.abs(), lambda: (complex_pair(),)),
    "real to complex": (lambda x: torch.view_as_complex(x).exp(), lambda: (double(3, 2),)),
    "unused input": (lambda x, y: x * 2, lambda: (double(2), double(2))),
}  # fmt: skip


@pytest.mark.parametrize(("f", "inputs"), RIGHT.values(), ids=RIGHT.keys())
def test_right_gradients_pass_to_second_order(f, inputs):
    given = inputs()
    before = [t.tolist() for t in given if isinstance(t, torch.Tensor)]
    assert gradcheck(f, given)
    assert gradgradcheck(f, given)
    assert [t.tolist() for t in given if isinstance(t, torch.Tensor)] == before


class Wrong(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x**2 * g


class WrongTwice(Function):
    """Right once: the second derivative is cut off."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * x.detach() ** 2 * g


def test_wrong_gradients_are_refused():
    x = double(2)
    with pytest.raises(
        RuntimeError, match="Jacobian mismatch for output 0 with respect to input 0"
    ):
        gradcheck(Wrong.apply, x)
    assert gradcheck(Wrong.apply, x, raise_exception=False) is False
    assert gradcheck(WrongTwice.apply, x)
    assert gradgradcheck(WrongTwice.apply, x, raise_exception=False) is False


def test_a_cut_graph_is_refused():
    assert gradcheck(lambda x: x * x.detach(), double(2), raise_exception=False) is False
    assert gradcheck(lambda x: x.detach() * 2, double(2), raise_exception=False) is False
    assert gradcheck(lambda x: torch.ones(2, dtype=torch.float64), double(2))


def test_what_cannot_be_checked():
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x, (torch.ones(2),))
    with pytest.warns(UserWarning, match="not a double precision"):
        gradcheck(lambda x: x * 2, torch.ones(2, requires_grad=True), raise_exception=False)
    with pytest.raises(RuntimeError, match="stride 0"):
        gradcheck(lambda x: x * 2, double(1).expand(3))
    with pytest.raises(NotImplementedError, match="forward mode"):
        gradcheck(lambda x: x, double(2), check_forward_ad=True)
