"""from_jax_function: a JAX function on the tape, differentiated twice, eager and jitted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike.autograd import gradcheck, gradgradcheck
from torchlike.interop import from_jax_function


def leaf(*values):
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


@from_jax_function
def mixed(tree, n, *, scale):
    return {"y": jnp.sin(tree["a"]) * tree["b"] ** n, "z": [scale * tree["a"].sum()]}


@pytest.mark.parametrize("residuals", [False, True])
def test_gradients_of_a_pytree_function(residuals):
    f = from_jax_function(mixed.__wrapped__, residuals=residuals)
    a, b = leaf(0.3, 0.8), leaf(1.2, 0.7)

    def run(a, b):
        out = f({"a": a, "b": b}, 2, scale=3.0)
        return out["y"], out["z"][0]

    assert isinstance(run(a, b)[0], torch.Tensor)
    gradcheck(run, (a, b))
    gradgradcheck(run, (a, b))


def test_inside_a_jitted_step():
    a, b = leaf(0.3, 0.8), leaf(1.2, 0.7)

    @torch.jit
    def step(a, b):
        a.grad = b.grad = None
        out = mixed({"a": a * 2, "b": b}, 2, scale=3.0)
        loss = out["y"].sum() + out["z"][0]
        loss.backward()
        return loss

    for _ in range(2):
        step(a, b)
    expected = torch.autograd.grad((torch.sin(2 * a) * b**2).sum() + 3 * (2 * a).sum(), (a, b))
    torch.testing.assert_close((a.grad, b.grad), expected)
    assert step.compiles == 1


def test_its_own_derivative_is_used():
    @jax.custom_vjp
    def clipped(x):
        return x * x

    clipped.defvjp(lambda x: (x * x, x), lambda x, g: (jnp.clip(2 * x * g, -1, 1),))
    x = leaf(0.25, 3.0)
    y = from_jax_function(clipped)(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [0.5, 1.0]
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [2.0, 0.0]


def test_what_counts_as_an_argument():
    f = from_jax_function(lambda x, mode, *arrays: x.sum(axis=mode) + sum(a.sum() for a in arrays))
    x = torch.ones(2, 3, requires_grad=True)
    out = f(x, 0, np.ones(2), jnp.ones(2))
    assert out.tolist() == [6.0] * 3
    assert f(x, 1).tolist() == [3.0, 3.0]
    assert not f(x.detach(), 0).requires_grad
    with torch.no_grad():
        assert not f(x, 0).requires_grad
    (g,) = torch.autograd.grad(out.sum(), x)
    assert g.tolist() == [[1.0] * 3] * 2


def test_integers_have_no_gradient():
    f = from_jax_function(lambda x: (x * 2, jnp.argmax(x)))
    x = leaf(1.0, 5.0)
    y, i = f(x)
    assert (i.item(), i.requires_grad) == (1, False)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_changed_structure_is_another_signature():
    f = from_jax_function(lambda x: [x] * x.shape[0])
    assert [len(f(torch.ones(n))) for n in (1, 3, 1)] == [1, 3, 1]


def test_scan_and_checkpoint_of_jax():
    def loop(x, steps):
        body = jax.checkpoint(lambda c, _: (jnp.sin(c) * 1.1, c))
        return jax.lax.scan(body, x, None, length=steps)

    x = leaf(0.3, 0.6)
    gradcheck(lambda x: from_jax_function(loop)(x, 3), (x,))


def test_modules_among_the_arguments():
    torch.manual_seed(0)
    model = torch.nn.Linear(2, 3)
    x = torch.tensor([[0.5, -1.0]], requires_grad=True)

    @from_jax_function
    def loss(m, x):
        return jnp.sum(jnp.tanh(x @ m.weight.jax().T + m.bias.jax()))

    expected = torch.autograd.grad(model(x).tanh().sum(), [x, *model.parameters()])
    for run in (loss, torch.jit(lambda x: loss(model, x))):
        y = run(model, x) if run is loss else run(x)
        found = torch.autograd.grad(y, [x, *model.parameters()])
        torch.testing.assert_close(found, expected)
    with torch.no_grad():
        model.weight.zero_()
        model.bias.fill_(1.0)
    torch.testing.assert_close(loss(model, x), 3 * torch.ones(()).tanh())


@pytest.mark.parametrize("compiled", [False, True])
def test_torchlikes_random_numbers_are_refused(compiled):
    """The backward pass runs the function again, and would draw others."""

    def noisy(x):
        return torch.nn.functional.dropout(torch.from_jax(x), 0.5, True).jax()

    op = torch.from_jax_function(noisy)
    x = torch.ones(4, requires_grad=True)
    with pytest.raises(RuntimeError, match="pass would draw others"):
        (torch.jit(op) if compiled else op)(x)
