"""autograd.Function: ctx, both styles, double backward, non-tensor outputs, dirty inputs."""

import gc
import weakref

import pytest

import torchlike as torch
from torchlike.autograd import Function, once_differentiable


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


class Cube(Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        ctx.save_for_backward(x)
        return scale * x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * ctx.scale * x**2 * g, None


class CubeNewStyle(Function):
    @staticmethod
    def forward(x, scale):
        return scale * x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.scale = inputs
        ctx.save_for_backward(x)

    backward = Cube.backward


@pytest.mark.parametrize("function", [Cube, CubeNewStyle])
def test_three_derivatives(function):
    x = leaf(2.0)
    y = function.apply(x, 2.0)
    assert y.item() == 16
    assert y.grad_fn.name() == f"{function.__name__}Backward"
    for expected in (24, 24, 12):
        (y,) = torch.autograd.grad(y, x, torch.ones(1), create_graph=True)
        assert y.item() == expected


def test_a_saved_output_is_differentiated_through():
    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return ctx.saved_tensors[0] * g

    x = leaf(0.0)
    for _ in range(3):
        (y,) = torch.autograd.grad(Exp.apply(x), x, torch.ones(1), create_graph=True)
        (y,) = torch.autograd.grad(y, x, torch.ones(1))
        assert y.item() == 1


def test_what_ctx_says():
    seen = {}

    class Looks(Function):
        @staticmethod
        def forward(ctx, a, n, b):
            seen["forward"] = ctx.needs_input_grad, torch.is_grad_enabled(), (a * 2).requires_grad
            ctx.save_for_backward(a, None, b)
            return a * n, b * n

        @staticmethod
        def backward(ctx, ga, gb):
            seen["backward"] = ctx.needs_input_grad, ctx.saved_tensors[1]
            seen["grads"] = ga.tolist(), gb.tolist()
            return ga, None, gb

    a, b = leaf(1.0), torch.ones(1)
    first, second = Looks.apply(a, 2, b)
    assert second.requires_grad
    first.sum().backward()
    assert seen["forward"] == ((True, False, False), False, False)
    assert seen["backward"] == ((True, False, False), None)
    assert seen["grads"] == ([1], [0])  # materialized
    assert b.grad is None


def test_outputs_that_have_no_gradient():
    class Mixed(Function):
        @staticmethod
        def forward(ctx, x):
            mask, extra = x > 1, x * 3
            ctx.mark_non_differentiable(extra)
            ctx.set_materialize_grads(False)
            return x * 2, mask, "text", extra

        @staticmethod
        def backward(ctx, g, *rest):
            assert rest == (None, None, None)
            return g * 2

    x = leaf(1.0, 2.0)
    y, mask, text, extra = Mixed.apply(x)
    assert (mask.requires_grad, text, extra.requires_grad) == (False, "text", False)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_mark_dirty():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.mul_(2)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0, 2.0)
    y = x * 1
    z = Double.apply(y)
    assert z is y
    assert y.tolist() == [2, 4]
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    base = x * 1
    Double.apply(base[1:])
    assert base.tolist() == [1, 4]
    x.grad = None
    base.sum().backward()
    assert x.grad.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used"):
        Double.apply(x)


def test_an_input_returned_as_it_is():
    class Reverse(Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return -g

    class Same(Reverse):
        @staticmethod
        def forward(ctx, x):
            return x

    for function in (Reverse, Same):
        x = leaf(1.0)
        y = function.apply(x)
        assert y is not x
        (y * 3).sum().backward()
        assert x.grad.item() == -3


def test_once_differentiable():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            assert not torch.is_grad_enabled()
            return 2 * ctx.saved_tensors[0] * g

    x, w = leaf(3.0), leaf(2.0)
    (g,) = torch.autograd.grad(Square.apply(x) * w, x, torch.ones(1), create_graph=True)
    assert g.item() == 12
    with pytest.raises(RuntimeError, match="once_differentiable"):
        g.sum().backward()


def test_gradients_of_a_broadcast_shape_are_summed_and_others_refused():
    class Give(Function):
        given = torch.ones(4, 2)

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return Give.given

    x = leaf(1.0, 2.0)
    Give.apply(x).sum().backward()
    assert x.grad.tolist() == [4, 4]
    Give.given = torch.ones(3)
    with pytest.raises(RuntimeError, match="returned an invalid gradient at index 0"):
        Give.apply(x).sum().backward()
    Give.given = "no"
    with pytest.raises(RuntimeError, match="expected Variable or None"):
        Give.apply(x).sum().backward()
    Give.given = (torch.ones(2), torch.ones(2))
    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        Give.apply(x).sum().backward()


def test_saved_tensors_are_freed_with_the_graph():
    x = leaf(2.0)
    y = Cube.apply(x, 1.0).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_without_grad_nothing_is_recorded():
    x = leaf(2.0)
    with torch.no_grad():
        assert not Cube.apply(x, 1.0).requires_grad
    assert not Cube.apply(x.detach(), 1.0).requires_grad


def test_missing_parts():
    class Nothing(Function):
        pass

    class NoBackward(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    with pytest.raises(NotImplementedError, match="implement the forward"):
        Nothing.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="backward"):
        NoBackward.apply(leaf(1.0)).sum().backward()


def test_graphs_with_functions_hold_no_cycles():
    kept = []

    class Doubled(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, g):
            _, y = ctx.saved_tensors
            kept.append(y.grad_fn is not None)
            return g * 2

    x = torch.ones(2, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        for backward in (False, True):
            y = Doubled.apply(x * 1)
            node, array = weakref.ref(y.grad_fn), weakref.ref(y.jax())
            if backward:
                y.sum().backward()
            del y
            assert (node(), array()) == (None, None)
    finally:
        gc.enable()
    assert kept == [True]


def test_what_ctx_saved_outlives_its_graph():
    contexts = []

    class Kept(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            contexts.append(ctx)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    Kept.apply(torch.ones(2, requires_grad=True))
    assert contexts[0].saved_tensors[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("wrap", [lambda f: f, torch.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("kept", ["by a Function", "by an op"])
def test_what_was_saved_before_a_leaf_was_written_to(wrap, kept):
    def body(x):
        y = Cube.apply(x, 1.0) if kept == "by a Function" else x * x
        found = [] if kept == "by a Function" else [y.grad_fn._saved_self is x]
        with torch.no_grad():
            x.add_(2.0)
        if kept == "by an op":
            found.append(y.grad_fn._saved_self.detach().clone())
        y.sum().backward()
        return x.grad.clone(), found, x.detach().clone()

    grad, found, after = wrap(body)(leaf(-3.0, 2.0))
    assert after.tolist() == [-1, 4]
    if kept == "by a Function":
        assert grad.tolist() == [27, 12]
    else:
        assert grad.tolist() == [-6, 4]
        assert found[0] is True
        assert found[1].tolist() == [-3, 2]
