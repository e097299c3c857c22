"""create_graph through jitted calls."""

import numpy as np
import pytest

import torchlike as torch

W = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)


def plain(x, k=2.0):
    a = (W * x).sin()
    return (a * a * k).sum(), a * 2


def with_detach(x):
    a = (W * x).sin()
    b = (W.detach() * a * 0.3).exp()
    with torch.no_grad():
        c = (a * 2).cos()
    return (b * a * c).sum(), a * 2


def with_a_branch(x):
    return ((W * x).sum() ** 3 if x.sum() < 100 else x.sum()), W * W


def with_dropout(x):
    return (torch.nn.functional.dropout(W * x, 0.5) ** 3).sum(), W * x * x


def second_order(f, x):
    W.grad = x.grad = None
    torch.manual_seed(3)
    loss, more = f(x)
    gw, gx = torch.autograd.grad([loss, more.sum()], [W, x], create_graph=True, allow_unused=True)
    (gw**2).sum().backward()
    return [
        gw.tolist(),
        [0] if gx is None else gx.tolist(),
        W.grad.tolist(),
        0.0 if x.grad is None else x.grad.tolist(),
    ]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("f", [plain, with_detach, with_dropout])
def test_second_order_gradients_are_eager_ones(f):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    jitted = torch.jit(f)
    expected = second_order(f, x)
    for _ in range(2):
        for a, b in zip(expected, second_order(jitted, x), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert jitted.compiles == 1


def test_a_gradient_penalty_in_a_training_loop():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    start = {k: v.clone() for k, v in net.state_dict().items()}

    def losses(call):
        net.load_state_dict(start)
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        seen = []
        for k in range(3):
            x = torch.full((4, 3), 0.5 + k, requires_grad=True)
            out = call(x)
            (g,) = torch.autograd.grad(out.sum(), x, create_graph=True)
            loss = ((g.norm(dim=1) - 1) ** 2).mean() + out.mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen.append(loss.item())
        return seen

    np.testing.assert_allclose(losses(torch.jit(lambda x: net(x))), losses(net), rtol=1e-4)


def test_branches_refuse_clearly():
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with pytest.raises(NotImplementedError, match="CondBackward"):
        second_order(torch.jit(with_a_branch), x)


def test_state_that_changed_since_the_call_is_refused():
    box = {"k": 2.0}
    x = torch.ones(3, requires_grad=True)
    loss = torch.jit(lambda x: (x**3 * box["k"]).sum())(x)
    box["k"] = 5.0
    with pytest.raises(RuntimeError, match="has changed since the call"):
        torch.autograd.grad(loss, x, create_graph=True)


def test_a_second_backward_is_refused_as_eagerly():
    x = torch.ones(3, requires_grad=True)
    loss = torch.jit(lambda x: (x**3).sum())(x)
    loss.backward()
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(loss, x, create_graph=True)


def test_jacobians_of_the_gradient_of_a_jitted_call():
    grad, jacrev, vmap = torch.func.grad, torch.func.jacrev, torch.vmap
    f, x = lambda x: (x**3).sum() * x.sin().sum(), torch.tensor([[1.0, 2.0], [0.5, -1.0]])
    jitted = torch.jit(f)
    for _ in range(2):
        for take in (lambda f: jacrev(grad(f))(x[0]), lambda f: vmap(jacrev(grad(f)))(x)):
            np.testing.assert_allclose(take(jitted).numpy(), take(f).numpy(), rtol=1e-5)


SCALAR, VECTOR = lambda x: (W * x).sin().sum(), lambda x: ((W * x).sin() * x).cumsum(0)
JACOBIANS = {
    "jacrev": lambda f, x: torch.func.jacrev(f)(x),
    "functional": lambda f, x: torch.autograd.functional.jacobian(f, x, vectorize=True),
    "hessian": lambda f, x: torch.func.hessian(f)(x),
    "pullback": lambda f, x: torch.vmap(torch.func.vjp(f, x)[1])(torch.ones(2, *f(x).shape))[0],
    "batched": lambda f, x: _batched(f, x.clone().requires_grad_()),
    "nested": lambda f, x: torch.func.jacrev(lambda k: torch.func.jacrev(f)(x * k))(torch.ones(3)),
}


def _batched(f, x):
    y = f(x)
    given = torch.ones(2, *y.shape)
    return torch.autograd.grad(y, x, given, is_grads_batched=True)[0]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("f", [SCALAR, VECTOR], ids=["scalar", "vector"])
@pytest.mark.parametrize("jacobian", JACOBIANS)
def test_jacobians_by_vmap_of_a_jitted_call(jacobian, f):
    x = torch.tensor([1.0, 2.0, -0.5])
    jitted, take = torch.jit(f), JACOBIANS[jacobian]
    if jacobian == "nested":
        with pytest.raises(NotImplementedError, match="call the function eagerly"):
            take(jitted, x)
        return
    for _ in range(2):
        expected, found = take(f, x).detach(), take(jitted, x).detach()
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)
