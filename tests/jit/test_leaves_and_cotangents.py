"""Gradients at the edge of a compiled call: leaves made inside, cotangents of another dtype."""

import pytest

import torchlike as torch


def leaf_and_product(x):
    leaf = (x * 2).detach().requires_grad_()
    return leaf, (leaf * x).sum()


@pytest.mark.parametrize("wrap", [lambda f: f, torch.jit], ids=["eager", "jit"])
def test_a_leaf_given_back_with_what_was_computed_from_it(wrap):
    run = wrap(leaf_and_product)
    for k in range(3):
        x = torch.full((2,), k + 1.0, requires_grad=True)
        leaf, product = run(x)
        product.backward()
        assert leaf.is_leaf
        assert leaf.grad.tolist() == [k + 1, k + 1]
        assert x.grad.tolist() == [2 * k + 2] * 2
        leaf, product = run(x)
        (first,) = torch.autograd.grad(product, leaf, create_graph=True)
        assert torch.autograd.grad(first.sum(), x)[0].tolist() == [1, 1]


@pytest.mark.parametrize("wrap", [lambda f: f, torch.jit], ids=["eager", "jit"])
def test_a_leaf_bound_to_a_module(wrap):
    class Noisy(torch.nn.Module):
        def forward(self, x):
            self.noise = torch.ones(2, requires_grad=True)
            return {"of": [self.noise * x], "leaf": self.noise}

    run, module = wrap(lambda module, x: module(x)), Noisy()
    for k in range(3):
        found = run(module, torch.full((2,), k + 1.0))
        found["of"][0].sum().backward()
        assert module.noise.grad.tolist() == [k + 1, k + 1]
        assert found["leaf"] is module.noise


def test_a_leaf_given_back_alone():
    leaf = torch.jit(lambda x: (x * 2).detach().requires_grad_())(torch.ones(2))
    (leaf * 3).sum().backward()
    assert leaf.grad.tolist() == [3, 3]


@pytest.mark.parametrize("wrap", [lambda f: f, torch.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int64])
def test_a_cotangent_of_another_dtype(wrap, dtype):
    square = wrap(lambda x: x * x)
    for _ in range(2):
        x = torch.ones(2, requires_grad=True)
        square(x).backward(torch.ones(2, dtype=dtype))
        assert x.grad.dtype is torch.float32
        assert x.grad.tolist() == [2, 2]
        (first,) = torch.autograd.grad(square(x), x, torch.ones(2, dtype=dtype), create_graph=True)
        assert torch.autograd.grad(first.sum(), x)[0].tolist() == [2, 2]


def test_a_leaf_made_inside_is_made_anew_at_each_call():
    """As in a net that learns a differential equation: what is returned has a graph, which
    backward has run through and which leads to the leaf."""
    w = torch.ones(3, requires_grad=True)

    def step(x):
        w.grad = None
        x = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad((w * x).pow(3).sum(), x, create_graph=True)
        loss = slope.pow(2).sum()
        loss.backward()
        return loss

    compiled = torch.jit(step, warmup=0)
    for i in range(1, 4):
        x = torch.full((3,), float(i))
        found, gradient = compiled(x), w.grad
        torch.testing.assert_close(found, step(x))
        torch.testing.assert_close(gradient, w.grad)
        assert found.requires_grad
    assert compiled.compiles == 1


def test_a_leaf_that_is_put_outside_is_found_there():
    w, held = torch.ones(3, requires_grad=True), []

    def step(x):
        w.grad = None
        x = x.clone().requires_grad_()
        held.append(x)
        loss = (w * x).pow(2).sum()
        loss.backward()
        return loss

    compiled = torch.compile(step, options={"warmup": 0})
    for i in range(1, 5):
        compiled(torch.full((3,), float(i)))
    assert [x.tolist() for x in held] == [[i] * 3 for i in (1, 2, 3, 4)]
    assert [x.grad.tolist() for x in held] == [[2 * i] * 3 for i in (1, 2, 3, 4)]
