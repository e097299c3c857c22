"""torch.cond, while_loop, scan, associative_scan and map: eagerly and in a graph."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError
from torchlike._higher_order_ops import associative_scan
from torchlike._higher_order_ops.map import map as torch_map
from torchlike._higher_order_ops.scan import scan
from torchlike.testing import assert_matches_eager


def leaves(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def check(f, *args, compiles=1):
    """Values and gradients, by the arguments and what ``f`` reaches, eagerly and jitted."""
    assert_matches_eager(f, *args)
    jitted = torch.jit(f)
    jitted(*args)
    jitted(*args)
    assert jitted.compiles == compiles


@pytest.fixture
def w():
    torch.manual_seed(0)
    return [torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)]


X = torch.tensor([0.5, -1.0, 2.0])


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("p", [True, False])
def test_cond(w, p):
    a, b = w
    pred = torch.tensor(p)
    check(
        lambda p, x: torch.cond(p, lambda x: (x * a).sin(), lambda x: (x * b * b).exp(), (x,)),
        pred,
        X,
    )
    check(lambda p: torch.cond(p, lambda: a, lambda: b), pred)
    check(lambda p: torch.cond(p, lambda: (a * 2).detach() * b, lambda: b), pred)
    nested = lambda p, x: torch.cond(  # noqa: E731
        p, lambda: torch.cond(x.sum() > 9, lambda: a * 2, lambda: a * b), lambda: b * x
    )
    check(nested, pred, X)


def test_cond_keeps_custom_functions_and_no_grad(w):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 100

    def f(p):
        def yes():
            with torch.no_grad():
                y = w[1] * 3
            return Double.apply(w[0]) * y

        return torch.cond(p, yes, lambda: w[1])

    check(f, torch.tensor(True))
    check(f, torch.tensor(False))


def test_one_program_serves_both_branches(w):
    f = torch.jit(lambda p: torch.cond(p, lambda: w[0] * 2, lambda: w[1] * 3))
    assert f(torch.tensor(True)).tolist() == (w[0] * 2).tolist()
    assert f(torch.tensor(False)).tolist() == (w[1] * 3).tolist()
    assert f.compiles == 1


def test_cond_in_a_training_step(w):
    opt = torch.optim.SGD(w, lr=0.1)
    start = [p.detach().clone() for p in w]

    def step(p):
        opt.zero_grad()
        loss = torch.cond(p, lambda: (w[0] ** 2).sum(), lambda: (w[1] ** 2 * 3).sum())
        loss.backward()
        opt.step()
        return loss

    seen = []
    for run in (step, torch.jit(step)):
        with torch.no_grad():
            for p, s in zip(w, start, strict=True):
                p.copy_(s)
        seen.append([run(torch.tensor(k % 2 == 0)).item() for k in range(4)] + w[0].tolist())
    np.testing.assert_allclose(seen[0], seen[1], rtol=1e-5)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: torch.cond(x > 0, lambda x: x, lambda x: x, (x,)), "single-element"),
        (lambda x: torch.cond("a", lambda x: x, lambda x: x, (x,)), "bool or tensor"),
        (lambda x: torch.cond(x.sum() > 0, 3, lambda x: x, (x,)), "callable"),
        (lambda x: torch.cond(x.sum() > 0, lambda x: x, lambda x: x, x), "operands"),
        (lambda x: torch.cond(x.sum() > 0, lambda x: x, lambda x: x, (3,)), "tensor leaves"),
        (lambda x: torch.cond(x.sum() > 0, lambda x: x.add_(1), lambda x: x + 1, (x,)), "in place"),
        (
            lambda x: torch.while_loop(lambda i: i.sum() < 9, lambda i: (i.double(),), (x,)),
            "input 0 is",
        ),
        (lambda x: torch.while_loop(lambda i: i < 3, lambda i: (i + 1,), x), "tuple or list"),
        (lambda x: torch.while_loop(lambda i: i < 9, lambda i: (i + 1,), (x,)), "boolean scalar"),
        (lambda x: scan(lambda c, x: c, x[0], x), "pair"),
        (lambda x: scan(lambda c, x: (c[None], x), x[0], x), "input 0 is"),
        (lambda x: scan(lambda c, x: (c, x), x[0], x[:0]), "scan dimension > 0"),
    ],
)
def test_errors(call, words, jit):
    with pytest.raises(RuntimeError, match=words):
        (torch.jit(call) if jit else call)(X.clone())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda x: torch.cond(x.sum() > 0, lambda x: x[:1], lambda x: x + 1, (x,)),
            r"\[1\].*\[3\]",
        ),
        (lambda x: torch.cond(x.sum() > 0, lambda: [X], lambda: X), "pytree"),
        (
            lambda x: torch.cond(x.sum() > 0, lambda: torch.rand(1), lambda: torch.ones(1)),
            "random numbers.*true_fn",
        ),
    ],
)
def test_errors_of_the_graph(call, words):
    with pytest.raises(RuntimeError, match=words):
        torch.jit(call)(X.clone())


def test_writing_to_state_in_a_branch_is_refused():
    state = torch.zeros(3)
    f = torch.jit(lambda x: torch.cond(x.sum() > 0, lambda: state.add_(1), lambda: state * 1))
    with pytest.raises(JitCaptureError, match="in place to a tensor from outside"):
        f(X)
    assert state.tolist() == [0, 0, 0]


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("n", [1, 5, 130])
def test_while_loop(w, n):
    def f(n, x):
        return torch.while_loop(
            lambda i, y: i < n, lambda i, y: (i + 1, (y * w[0]).sin() + y), (torch.tensor(0), x)
        )

    check(f, torch.tensor(n), X)
    check(lambda n, x: f(n, x * w[1]), torch.tensor(n), X)


def test_while_loop_of_no_turns_and_of_python_ints():
    f = lambda n: torch.while_loop(lambda i: i < n, lambda i: (i + 1,), (torch.tensor(3),))  # noqa: E731
    check(f, torch.tensor(0))
    g = torch.jit(lambda n: torch.while_loop(lambda i: i < n, lambda i: (i + 1,), (0,)))
    assert g(torch.tensor(7)) == (7,)
    assert g(torch.tensor(2)) == (2,)
    assert g.compiles == 1


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_and_map(w, reverse):
    a, b = w
    xs = torch.randn(6, 3, requires_grad=True)
    check(lambda x: scan(lambda c, x: ((c * a + x).tanh(), c * x), x * b, xs, reverse=reverse), X)
    check(
        lambda: scan(
            lambda c, x: (c + x * b[:2], (c * x)[:1]), a[:2] * 1, xs[:2], dim=1, reverse=reverse
        )
    )
    check(lambda: torch_map(lambda row, a: (row * a).exp(), xs, a))


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("dim", [1, -1])
def test_scan_stacks_where_it_scans(dim, jitted):
    def f(x):
        return scan(lambda c, x: (c + x, [c * x, c.sum()]), torch.zeros(3), x, dim=dim)

    x = torch.arange(6.0).view(3, 2)
    last, (products, sums) = (torch.jit(f) if jitted else f)(x)
    assert last.tolist() == [1, 5, 9]
    assert products.tolist() == [[0, 0], [0, 6], [0, 20]]
    assert sums.tolist() == [0, 6]


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("mode", ["pointwise", "generic"])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(mode, reverse):
    for n in (1, 2, 3, 6):  # a compilation each
        xs = torch.rand(2, n) + 0.5
        xs.requires_grad_()
        f = lambda: associative_scan(  # noqa: E731
            lambda a, b: a * b,
            xs,  # noqa: B023
            1,
            reverse=reverse,
            combine_mode=mode,
        )
        check(f)
        expected = torch.cumprod(xs.flip(1) if reverse else xs, 1)
        expected = expected.flip(1) if reverse else expected
        np.testing.assert_allclose(f().detach().numpy(), expected.detach().numpy(), rtol=1e-5)


def test_hooks_run_once_per_backward(w):
    calls = []
    w[0].register_hook(lambda g: calls.append(1) or g * 2)
    f = lambda p: torch.cond(p, lambda: w[0] * 3, lambda: w[1])  # noqa: E731
    f(torch.tensor(True)).sum().backward()
    expected = w[0].grad.tolist()
    w[0].grad = None

    def step(p):
        f(p).sum().backward()

    torch.jit(step)(torch.tensor(True))
    assert w[0].grad.tolist() == expected


SEEN = []


def shouts(x):
    print("shout")  # noqa: T201
    return x + 1


def keeps(x):
    SEEN.append(1)
    return x + 1


@pytest.mark.parametrize(("fn", "match"), [(shouts, "print in "), (keeps, "changing `SEEN` in ")])
@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda f, x: torch.cond(x.sum() > 0, f, lambda x: x * 2, (x,)), "true_fn of torch.cond"),
        (
            lambda f, x: torch.while_loop(lambda x: x.sum() < 9, lambda x: (f(x),), (x,)),
            "body_fn of torch.while_loop",
        ),
        (lambda f, x: scan(lambda c, x: (f(c), c.clone()), x.sum(), x), "combine_fn of scan"),
        (lambda f, x: torch_map(f, x), "the function of map"),
    ],
    ids=["cond", "while_loop", "scan", "map"],
)
def test_effects_in_python_are_refused(call, what, fn, match, capsys):
    with pytest.raises(JitCaptureError, match=match + what):
        torch.jit(lambda x: call(fn, x))(torch.ones(3))
    assert capsys.readouterr().out == ""
    assert SEEN == []


@pytest.mark.parametrize("jit", [lambda f: f, torch.jit])
def test_a_scan_over_nothing_and_a_map_that_gives_nothing(jit):
    init = torch.ones(2)
    for xs in ([], (), {}):
        f = jit(lambda init, xs=xs: scan(lambda c, x: (c + 1, c * 2), init, xs))
        for _ in range(2):
            carry, ys = f(init)
            assert carry.tolist() == [1, 1]
            assert ys == []
    with pytest.raises(RuntimeError, match="requires init leaves"):
        jit(lambda x: scan(lambda c, x: ([], x), [], x))(torch.ones(3, 2))
    nothing = jit(lambda x: (torch_map(lambda row: None, x), x * 2))
    for _ in range(2):
        none, y = nothing(torch.ones(3, 2))
        assert none is None
        assert y.tolist() == [[2, 2]] * 3
