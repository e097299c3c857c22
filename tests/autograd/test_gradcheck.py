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
        lambda x: (lambda y: (y[1:].mul_(y[:1]), y)[1])(x * 2),
        lambda: (double(3),),
    ),
    "transposed input": (lambda x: (x.t() * x.t()).cumsum(0), lambda: (double(2, 3),)),
    "complex": (lambda z: z * z.conj() + z**2, lambda: (complex_pair(),)),
    "complex to real": (lambda z: z.abs(), lambda: (complex_pair(),)),
    "real to complex": (lambda x: torch.view_as_complex(x).exp(), lambda: (double(3, 2),)),
    "unused input": (lambda x, y: x * 2, lambda: (double(2), double(2))),
}


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(("f", "inputs"), RIGHT.values(), ids=RIGHT.keys())
def test_right_gradients_pass_to_second_order(f, inputs):
    given = inputs()
    before = [t.tolist() for t in given if isinstance(t, torch.Tensor)]
    assert gradcheck(f, given)
    assert gradgradcheck(f, given)
    assert [t.tolist() for t in given if isinstance(t, torch.Tensor)] == before


@pytest.mark.parametrize(("f", "inputs"), RIGHT.values(), ids=RIGHT.keys())
def test_forward_mode_agrees(f, inputs):
    assert gradcheck(f, inputs(), check_forward_ad=True, check_backward_ad=False)


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
    with pytest.raises(AssertionError, match="requires check_forward_ad to be True"):
        gradcheck(torch.sin, double(1), check_batched_forward_grad=True)
    with pytest.raises(AssertionError, match="requires check_rev_over_rev to be True"):
        gradgradcheck(torch.sin, double(1), check_fwd_over_rev=True, check_rev_over_rev=False)


class WrongForward(Function):
    """Right backward, wrong in forward mode."""

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g * 2 * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, t):
        return t * 3 * ctx.saved_tensors[0]


def test_forward_mode_is_compared_where_that_is_asked_for():
    x = double(2)
    assert gradcheck(WrongForward.apply, x)
    with pytest.raises(RuntimeError, match="forward mode mismatch"):
        gradcheck(WrongForward.apply, x, check_forward_ad=True)


def test_hooks_of_the_function_are_called():
    """The function may ask its intermediate results for gradients, at the differences too."""

    def hooked(x):
        y = x * 2
        y.register_hook(lambda g: g * 2)
        return y

    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(hooked, double(2))


def test_gradchecks_fast_mode_runs_a_function_few_times():
    calls = []

    def counted(x, y):
        calls.append(1)
        return (x * y).sin(), x.sum()

    x, y = (torch.rand(50, dtype=torch.float64, requires_grad=True) for _ in range(2))
    assert gradcheck(counted, (x, y), fast_mode=True, check_undefined_grad=False)
    assert len(calls) < 12
    assert gradgradcheck(torch.sin, (x,), fast_mode=True)


@pytest.mark.parametrize("fast", [False, True])
def test_inputs_without_elements_have_no_derivative(fast):
    empty = torch.zeros(0, 2, dtype=torch.float64).requires_grad_()
    assert gradcheck(lambda x, y: x.sum(0) + y**2, (empty, double(2)), fast_mode=fast)


class Drifting(Function):
    """A product whose gradient is another one at each backward pass, by so much."""

    by = 0.0
    passes = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        Drifting.passes += 1
        return grad * (2 + Drifting.by * (Drifting.passes % 2))


@pytest.mark.parametrize(("by", "is_reentrant"), [(0.0, True), (1e-14, True), (1e-9, False)])
def test_backward_is_reentrant_but_for_rounding(monkeypatch, by, is_reentrant):
    monkeypatch.setattr(Drifting, "by", by)
    if is_reentrant:
        assert gradcheck(Drifting.apply, double(3))
        return
    with pytest.raises(RuntimeError, match="Backward is not reentrant"):
        gradcheck(Drifting.apply, double(3))
    assert gradcheck(Drifting.apply, double(3), nondet_tol=1e-8)
