"""Autograd through, around and inside jitted functions."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


def agree(f, *inputs):
    """Outputs and gradients of ``f(*inputs).backward()``, eager and jitted, twice."""
    jitted = torch.jit(f)
    results = []
    for run in (f, jitted, jitted):
        given = [torch.tensor(v, requires_grad=True) for v in inputs]
        out = run(*given)
        out.sum().backward()
        results.append(
            [out.tolist()] + [None if t.grad is None else t.grad.tolist() for t in given]
        )
    assert results[1] == results[2]
    for a, b in zip(results[0], results[1], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b, a, rtol=1e-5)


class Double(torch.autograd.Function):
    factor = 2.0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * Double.factor


def in_place(x):
    y = x * 1
    y[0] = 0
    y.mul_(x)
    return y


def hooked(x):
    y = x * 2
    y.register_hook(lambda g: g * 5)
    return y * 3


def create_graph_inside(x):
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    return g * x


def retain_graph_inside(x):
    y = (x**2).sum()
    (a,) = torch.autograd.grad(y, x, retain_graph=True)
    (b,) = torch.autograd.grad(y, x)
    return x * (a + b).detach()


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * x.detach(),
        lambda x: Double.apply(x),
        in_place,
        hooked,
        create_graph_inside,
        retain_graph_inside,
        lambda x: x.clone().t().flatten() * 3,
        lambda x: torch.where(x > 1, x * 2, x.exp()),
    ],
    ids=[
        "detach",
        "Function",
        "in place",
        "hook",
        "create_graph",
        "retain_graph",
        "views",
        "where",
    ],
)
def test_gradients_are_as_in_eager(f):
    agree(f, [1.0, 2.0, 0.5])


def test_an_unused_argument_gets_no_gradient():
    agree(lambda a, b: a * 2, [1.0], [2.0])


def test_the_same_leaf_twice():
    x = leaf(3.0)
    f = torch.jit(lambda a, b: a * b)
    f(x, x).sum().backward()
    assert x.grad.tolist() == [6]


def test_values_read_in_backward_are_guarded():
    f = torch.jit(lambda x: Double.apply(x))
    try:
        for factor in (2.0, 7.0):
            Double.factor = factor
            x = leaf(1.0)
            f(x).sum().backward()
            assert x.grad.tolist() == [factor]
    finally:
        Double.factor = 2.0


def test_backward_twice_through_a_jitted_call():
    x = leaf(3.0)
    y = torch.jit(lambda x: x * x)(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [12]
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_create_graph_through_a_jitted_call():
    x = leaf(3.0)
    y = torch.jit(lambda x: x**3)(x).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    g.sum().backward()
    assert x.grad.tolist() == [18]


def test_create_graph_through_a_jitted_call_that_writes_says_what_to_do():
    x, state = leaf(3.0), torch.zeros(1)

    def f(x):
        state.add_(1)
        return x**3 * state

    y = torch.jit(f)(x).sum()
    with pytest.raises(NotImplementedError, match="inner gradient inside"):
        torch.autograd.grad(y, x, create_graph=True)


def test_backward_into_a_graph_from_outside_is_refused():
    h = leaf(1.0) * 2
    with pytest.raises(JitCaptureError, match="recorded outside"):
        torch.jit(lambda: (h * 3).sum().backward())()


def test_state_changed_between_forward_and_backward():
    # The residuals are the values of the call; eager raises, because its node holds the tensor.
    w = torch.ones(1)
    x = leaf(2.0)
    y = torch.jit(lambda x: x * w)(x)
    w.fill_(100)
    y.sum().backward()
    assert x.grad.tolist() == [1]


def test_gradients_kept_from_an_earlier_call():
    w = leaf(1.0, 2.0)

    @torch.jit
    def step(x):
        w.grad = None
        (w * x).sum().backward()

    step(torch.ones(2))
    kept = w.grad
    step(torch.ones(2) * 5)
    assert kept.tolist() == [1, 1]
    assert w.grad.tolist() == [5, 5]


@pytest.mark.parametrize("first", [False, True], ids=["captured without", "captured with"])
def test_hooks_on_saved_tensors_around_a_call_are_not_captured(first):
    w = torch.ones(4, requires_grad=True)
    x = torch.arange(4.0)
    f = torch.jit(lambda x: (w * x).exp().sum())
    gradient = np.arange(4) * np.exp(np.arange(4))
    packed = []
    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda t: packed.append(t) or t, lambda t: t * 2
    )
    for hooked in (first, not first, first):
        packed.clear()
        w.grad = None
        if hooked:
            with hooks:
                loss = f(x)
        else:
            loss = f(x)
        loss.backward()
        # Each array that the program keeps comes back doubled; the gradient is their product.
        assert bool(packed) == hooked
        np.testing.assert_allclose(w.grad.numpy(), gradient * 2 ** len(packed), rtol=1e-5)
    assert f.compiles == 1


def test_hooks_on_saved_tensors_inside_are_part_of_the_program():
    w = torch.ones(4, requires_grad=True)

    def step(x):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t * 2):
            return (w * x).exp().sum()

    found = []
    for f in (step, torch.jit(step)):
        for _ in range(2):
            w.grad = None
            f(torch.arange(4.0)).backward()
            found.append(w.grad.numpy())
    for g in found[1:]:
        np.testing.assert_allclose(g, found[0], rtol=1e-6)
