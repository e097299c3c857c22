"""torch.func with jit, with modules' state, with random numbers, with no_grad."""

from __future__ import annotations

from typing import Any

import pytest
from comparing import close

import torchlike as torch
from torchlike import func

X = torch.tensor([[1.0, 2.0, 3.0], [3.0, -4.0, 1.0], [5.0, 6.0, -2.0], [0.0, 1.0, 2.0]])


def test_compiled_once() -> None:
    w = torch.tensor([[0.1, 0.2, 0.3], [0.0, 0.1, -0.2], [0.3, 0.3, 0.3]])
    per_sample = func.vmap(func.grad(lambda w, a: (w @ a).tanh().sum()), in_dims=(None, 0))
    compiled = torch.jit(per_sample)
    for _ in range(3):
        close(compiled(w, X), per_sample(w, X))
    assert compiled.compiles == 1
    hessian = torch.jit(func.hessian(lambda a: (a**3).sum()))
    for _ in range(2):
        close(hessian(X[0]), torch.diag(6 * X[0]))
    assert hessian.compiles == 1


@pytest.mark.parametrize("rows", [1, 2])
def test_per_sample_gradients_of_a_wide_layer(rows: int) -> None:
    """One row makes the gradient an outer product, which has a lowering of its own (256x256)."""
    torch.manual_seed(0)
    w, x = torch.randn(256, 256), torch.randn(3, rows, 256)

    def loss(w: Any, a: Any) -> Any:
        return torch.nn.functional.linear(a.relu(), w).sin().sum()

    per_sample = func.vmap(func.grad(loss), in_dims=(None, 0))
    expected = torch.stack([(a.relu() @ w.T).cos().T @ a.relu() for a in x])
    for run in (per_sample, torch.jit(per_sample)):
        torch.testing.assert_close(run(w, x), expected, rtol=1e-4, atol=1e-4)  # sums of 256 terms
    twice = func.grad(lambda w: func.grad(loss)(w, x[0]).square().sum())
    w64, x64 = w.double(), x.double()
    reference = func.grad(lambda w: ((x64[0].relu() @ w.T).cos().T @ x64[0].relu()).square().sum())(
        w64
    )
    # Sums of 256 products, each of sums of 256: float32 is off by up to 2e-3 where they cancel.
    torch.testing.assert_close(twice(w).double(), reference, rtol=1e-4, atol=5e-3)


def test_keyword_arguments_are_not_mapped() -> None:
    y = torch.tensor([3.0, 4.0])
    a = torch.tensor([1.0, 2.0])
    assert func.vmap(lambda a, y: a * y)(a, y=y).tolist() == [[3, 4], [6, 8]]
    assert func.vmap(lambda a, y: a * y, chunk_size=1)(a, y=y).tolist() == [[3, 4], [6, 8]]


def test_jacobians_of_scalars() -> None:
    x = torch.tensor(3.0)
    for jacobian in (func.jacrev, func.jacfwd):
        found = jacobian(lambda a: a**2)(x)
        assert (found.item(), found.shape) == (6, ())
    assert func.hessian(lambda a: a**3)(x).item() == 18


def test_vjp_gives_a_tuple() -> None:
    _, pull = func.vjp(lambda a: a * 2, X)
    (found,) = pull(X)
    close(found, 2 * X)


def test_jitted_functions_inside() -> None:
    f = torch.jit(lambda a: (a * 2).sin())
    close(func.vmap(f)(X), (X * 2).sin())
    close(func.grad(lambda a: f(a).sum())(X), 2 * (X * 2).cos())
    close(func.jvp(f, (X,), (X,))[1], 2 * X * (X * 2).cos())
    close(func.hessian(lambda a: f(a).sum())(X[0]), torch.diag(-4 * (X[0] * 2).sin()))


def test_a_functional_training_step() -> None:
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)

    def step(x: Any) -> Any:
        params = {k: v.detach() for k, v in model.named_parameters()}
        g, loss = func.grad_and_value(
            lambda p: func.functional_call(model, p, (x,)).square().sum()
        )(params)
        with torch.no_grad():
            for name, p in model.named_parameters():
                p.sub_(0.01 * g[name])
        return loss

    start = {k: v.clone() for k, v in model.state_dict().items()}
    eager = [step(X).item() for _ in range(3)]
    model.load_state_dict(start)
    compiled = torch.jit(step)
    assert [compiled(X).item() for _ in range(3)] == pytest.approx(eager, rel=1e-5)
    assert compiled.compiles == 1


def test_different_numbers_for_each_example() -> None:
    def f(a: Any) -> Any:
        return a * 0 + torch.rand(3)

    torch.manual_seed(0)
    rows = torch.stack([torch.rand(3) for _ in range(4)])
    torch.manual_seed(0)
    close(func.vmap(f, randomness="different")(X), rows)
    torch.manual_seed(0)
    close(func.vmap(f, randomness="same")(X), rows[:1].expand(4, 3))
    dropped = func.vmap(lambda a: torch.nn.functional.dropout(a + 10, 0.5), randomness="different")(
        X
    )
    assert len({tuple((row == 0).tolist()) for row in dropped}) > 1
    kept = func.vmap(torch.bernoulli, randomness="different")(torch.full((64, 8), 0.5))
    assert len({tuple(row.tolist()) for row in kept}) > 1


def test_grad_mode() -> None:
    w = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        g = func.grad(lambda a: (a * w).sin().sum())(X)
    assert not g.requires_grad
    close(g, X.cos())
    assert func.grad(lambda a: (a * w).sin().sum())(X).requires_grad
    assert not func.grad(lambda a: (a * 2).sin().sum())(X).requires_grad

    def unrecorded(a: Any) -> Any:
        with torch.no_grad():
            b = a * w
        return (a * b).sum()

    out = func.vmap(unrecorded)(X)
    assert not out.requires_grad
    close(func.grad(unrecorded)(X[0]), X[0])


def test_detach_stops_every_level() -> None:
    w = torch.ones(3, requires_grad=True)
    out = func.vmap(lambda a: ((a * w).detach() * w).sum())(X)
    (g,) = torch.autograd.grad(out.sum(), w)
    close(g, X.sum(0))
    _, t = func.jvp(lambda a: a.detach() * a, (X,), (torch.ones_like(X),))
    close(t, X)


def test_non_differentiable_ops_have_no_tangent() -> None:
    _, t = func.jvp(lambda a: a.argmax(1) + (a > 0).sum(), (X,), (X,))
    close(t, torch.zeros_like(t))


def test_results_keep_their_order() -> None:
    params = {"z": X, "a": X * 2}
    g = func.grad(lambda p: sum((v * v).sum() for v in p.values()))(params)
    assert list(g) == ["z", "a"]
    close(g["a"], 4 * X)


def test_linearize_runs_the_function_once() -> None:
    calls = []

    def f(a: Any) -> Any:
        calls.append(1)
        return {"y": a.sin(), "z": torch.ones(2)}

    out, push = func.linearize(f, X)
    close(out["y"], X.sin())
    for scale in (1.0, 2.0):
        t = push(X * scale)
        close(t["y"], X * scale * X.cos())
        close(t["z"], torch.zeros(2))
    assert len(calls) == 1
    with pytest.raises(RuntimeError, match="tangent:0 with shape"):
        push(X[0])


def test_functionalize_keeps_the_meaning() -> None:
    def f(a: Any) -> Any:
        b = a.clone()
        b[0].mul_(2)
        return b

    close(func.functionalize(f)(X), f(X))


def test_an_inner_level_of_an_inner_level() -> None:
    def f(a: Any, b: Any) -> Any:
        return (a * b).sin().sum()

    nested = func.vmap(func.vmap(func.grad(f), in_dims=(None, 0)), in_dims=(0, None))(X, X)
    for i in range(4):
        for j in range(4):
            close(nested[i, j], X[j] * (X[i] * X[j]).cos())
