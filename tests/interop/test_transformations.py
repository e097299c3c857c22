"""JAX's transformations over functions written with torchlike's ops and modules."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import torchlike as torch

F = torch.nn.functional


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))


def loss(m, x):
    return (m(x) ** 2).mean().jax()


X = torch.tensor([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6]])


def torch_gradients(m):
    for p in m.parameters():
        p.grad = None
    (m(X) ** 2).mean().backward()
    return [p.grad.tolist() for p in m.parameters()]


@pytest.mark.parametrize("jitted", [False, True])
def test_grad_of_a_module(jitted):
    m = model()
    gradient = jax.grad(loss)
    found = (jax.jit(gradient) if jitted else gradient)(m, X)
    assert type(found) is torch.nn.Sequential
    for p, expected in zip(found.parameters(), torch_gradients(m), strict=True):
        assert isinstance(p, torch.nn.Parameter)
        np.testing.assert_allclose(p.jax(), expected, rtol=1e-5, atol=1e-7)


def test_a_module_goes_through_jit_once_for_each_structure():
    traced = []

    @jax.jit
    def run(m, x):
        traced.append(m.training)
        return m(x).jax()

    m, other = model(), model()
    run(m, X), run(other, X)
    m.eval()
    run(m, X), run(m, X)
    assert traced == [True, False]
    m[1] = torch.nn.ReLU()
    run(m, X)
    assert len(traced) == 3


def test_training_with_optax():
    m = model()
    optimizer = optax.sgd(0.1)
    state = optimizer.init(m)

    @jax.jit
    def step(m, state):
        value, gradient = jax.value_and_grad(loss)(m, X)
        updates, state = optimizer.update(gradient, state)
        return jax.tree.map(lambda p, u: p + u, m, updates), state, value

    first = m
    values = []
    for _ in range(3):
        m, state, value = step(m, state)
        values.append(float(value))
    reference = model()
    other = torch.optim.SGD(reference.parameters(), lr=0.1)
    for value in values:
        other.zero_grad()
        out = (reference(X) ** 2).mean()
        np.testing.assert_allclose(value, out.item(), rtol=1e-5)
        out.backward()
        other.step()
    # The module given stays as it is; the new one trains on by the tape.
    torch.testing.assert_close(first[0].weight, model()[0].weight)
    (m(X) ** 2).mean().backward()
    assert m[0].weight.grad is not None


def test_shared_parameters_and_buffers():
    m = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2), torch.nn.Linear(2, 2))
    m[2].weight = m[0].weight
    leaves, structure = jax.tree_util.tree_flatten(m)
    assert len(leaves) == 3 + 2 + 3
    again = jax.tree_util.tree_unflatten(structure, leaves)
    assert again[2].weight is again[0].weight
    assert again[0].weight is not m[0].weight
    assert set(again.state_dict()) == set(m.state_dict())
    assert hash(structure) == hash(jax.tree_util.tree_structure(m))


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "transform", [jax.jit, jax.checkpoint, lambda f: jax.jit(jax.checkpoint(f))]
)
def test_grad_through_ops(transform):
    def f(x):
        y = F.gelu(x @ x.t()).softmax(0)
        y = torch.cat([y, y[:1] * 2]).cumsum(0)
        return (y.sort(0)[0] * torch.where(y > 0.5, y, y.exp())).sum().jax()

    found = jax.grad(transform(f))(X)
    x = X.clone().requires_grad_()
    y = F.gelu(x @ x.t()).softmax(0)
    y = torch.cat([y, y[:1] * 2]).cumsum(0)
    (y.sort(0)[0] * torch.where(y > 0.5, y, y.exp())).sum().backward()
    np.testing.assert_allclose(found.jax(), x.grad.jax(), rtol=1e-4, atol=1e-6)


def test_vmap_hessian_and_jvp():
    def f(x):
        return (x.sin() * x).sum()

    rows = jax.vmap(lambda t: f(t) * 2)(X)
    torch.testing.assert_close(rows, 2 * (X.sin() * X).sum(1))
    hessian = jax.hessian(lambda t: f(t).jax())(X[0])
    v = X[0]
    diagonal = 2 * v.cos() - v * v.sin()
    np.testing.assert_allclose(np.diag(hessian.jax().jax()), diagonal.jax(), rtol=1e-5)
    _, tangent = jax.jvp(f, (v,), (torch.ones(2),))
    torch.testing.assert_close(tangent, (v.sin() + v * v.cos()).sum())


def test_in_place_writes_inside():
    @jax.jit
    def f(x):
        y = x.clone()
        y[0] = 7
        y.mul_(2)
        y[1:].add_(1)
        return y

    torch.testing.assert_close(f(X), torch.tensor([[14.0, 14.0], [1.6, 0.2], [2.0, 2.2]]))
    assert X[0, 0].item() == pytest.approx(0.1)


def test_the_tape_inside_jax():
    @jax.jit
    def gradient(x):
        x = x.detach().requires_grad_()
        (x**3).sum().backward()
        return x.grad

    torch.testing.assert_close(gradient(X), 3 * X**2)


def test_scan():
    cell = torch.nn.GRUCell(2, 3)

    def run(cell, x):
        def body(h, row):
            h = cell(row.unsqueeze(0), h)
            return h, h

        return jax.lax.scan(body, torch.zeros(1, 3), x)

    last, all_ = run(cell, X)
    h = torch.zeros(1, 3)
    for row in X:
        h = cell(row.unsqueeze(0), h)
    torch.testing.assert_close(last, h.detach())
    assert all_.shape == (3, 1, 3)
    gradient = jax.jit(jax.grad(lambda c: run(c, X)[0].sum().jax()))(cell)
    h.sum().backward()
    np.testing.assert_allclose(
        gradient.weight_ih.jax(), cell.weight_ih.grad.jax(), rtol=1e-4, atol=1e-6
    )


def test_cond_and_while_loop():
    def f(x):
        return jax.lax.cond((x.sum() > 0).jax(), lambda t: t * 2, lambda t: -t, x)

    torch.testing.assert_close(f(X), X * 2)
    torch.testing.assert_close(jax.jit(f)(-X), X)
    halved = jax.lax.while_loop(lambda t: (t.abs().sum() > 0.5).jax(), lambda t: t / 2, X)
    assert 0.25 < halved.abs().sum().item() <= 0.5
    gradient = jax.grad(lambda t: f(t).sum().jax())(X)
    assert gradient.tolist() == [[2.0, 2.0]] * 3


@pytest.mark.parametrize(
    "op",
    [
        lambda x: x[torch.tensor([0, 2, 1])],
        lambda x: x[1:, ::2],
        lambda x: x.index_select(0, torch.tensor([1])),
        lambda x: x.gather(1, torch.tensor([[0], [1], [0]])),
        lambda x: x.view(-1).topk(2)[0],
        lambda x: F.layer_norm(x, (2,)),
        lambda x: x.reshape(2, 3).t().contiguous(),
        lambda x: F.one_hot(x.argmax(1), 2),
        lambda x: x[x.argmax(0)],
        lambda x: F.embedding(x.argmax(1), x),
        lambda x: F.cross_entropy(x, x.argmax(1)),
        lambda x: torch.linalg.qr(x)[1].abs(),
    ],
)
def test_ops_that_look_at_values_eagerly(op):
    torch.testing.assert_close(jax.jit(op)(X), op(X), rtol=1e-5, atol=1e-6)


def test_a_value_for_python_is_jaxs_error():
    with pytest.raises(jax.errors.TracerArrayConversionError):
        jax.jit(lambda x: x * x.sum().item())(X)
    assert jnp.asarray(X).shape == (3, 2)
