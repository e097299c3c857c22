"""Which names are live: what a branch or a turn binds for itself need not be alike elsewhere."""

import ast
import contextlib

import numpy as np
import pytest

import torchlike as torch
from torchlike._jit.trace import statements

UP, DOWN, BIG = (torch.tensor(x) for x in ([1.0, 2.0], [-1.0, -2.0], [10.0, 20.0]))


def found(source, node=ast.If):
    body = ast.parse(source).body
    statements.annotate(body)
    return next(n for s in body for n in ast.walk(s) if isinstance(n, node))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("if c: a = 1\nelse: b = 2\nd = b", "b"),
        ("if c: a = 1\na = 2\nprint(a)", "print"),
        ("if c: a = 1\nif d: a = 2\nprint(a)", "a d print"),
        ("if c: a = 1\na += 1", "a"),
        ("if c: a = 1\nb, (*e, f) = a, g\nreturn b, e, f", "a g"),
        ("if c: a = 1\ndel a", "a"),
        ("def g(): return a\nif c: a = 1\nif d: e = 2\ng()", "a d g"),
        ("g = lambda: a\nif c: a = 1", "a"),
        ("if c: a = 1\nb = (a for _ in r)", "a r"),
        ("nonlocal a\nif c: a = 1", "a"),
        ("if c: a = 1\nreturn b\nreturn a", "b"),
        ("if c: a = 1\nraise b(a)", "a b"),
        ("try:\n  if c: a = 1\n  a = 2\nfinally: print(a)", "a print"),
        ("try:\n  if c: a = 1\nexcept E: pass\nelse: print(a)", "E a print"),
        ("with g:\n  if c: a = 1\n  a = 2\nprint(a)", "a g print"),
        ("while t:\n  if c: a = 1\n  b = 1", "c t"),
        ("while t:\n  print(a)\n  if c: a = 1", "a c print t"),
        ("for a in r:\n  if c: a, b = 1, 2\n  print(b)", "b c print"),
        ("for i in r:\n  if c: a = 1\n  if d: break\n  a = 2\nprint(a)", "a c d print"),
        ("for i in r:\n  if c: a = 1\n  if d: continue\n  a = 2\nelse: print(a)", "a c d print"),
        ("match m:\n  case 1:\n    if c: a = 1\n  case 2: print(a)\nprint(b)", "a b c m print"),
        ("if c: x[0] = 1\nx.y = z", "x z"),
    ],
)
def test_live_after_an_if(source, names):
    assert statements.after(found(source)) == set(names.split())


def test_live_before_an_if_and_after_a_loop():
    assert statements.before(found("if c: a = a + b\nelse: d = 1\nreturn d")) == {"a", "b", "d"}
    assert statements.after(found("for a in r: b = a + d\nreturn b", ast.For)) == {"b", "d"}
    assert statements.after(found("while t > u: u = t; t = v", ast.While)) == {"t", "u", "v"}


def test_where_all_names_are_read_each_is_live():
    assert "anything" in statements.after(found("if c: a = 1\nprint(locals())"))
    assert "anything" in statements.before(ast.parse("if c: a = 1").body[0])


# -- what it is for --------------------------------------------------------------------------------


class EarlyExit(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(4))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            if x.norm() > 1.0:
                break
        return x


class EarlyReturn(EarlyExit):
    def forward(self, x):
        for k, layer in enumerate(self.layers):
            x = layer(x)
            if x.norm() < 0.9:
                return x * k
        return x


@pytest.mark.parametrize("kind", [EarlyExit, EarlyReturn])
def test_an_early_exit_from_a_loop_over_layers(kind):
    torch.manual_seed(0)
    net = kind()
    jitted = torch.jit(net)
    for x in (UP, DOWN, BIG, UP * 0.1):
        grads = []
        for call in (net, jitted):
            net.zero_grad()
            y = call(x)
            y.sum().backward()
            # The graph has both branches: what eager execution did not reach has zeros there.
            found = (torch.zeros_like(p) if p.grad is None else p.grad for p in net.parameters())
            grads.append([y.detach().numpy(), *(g.numpy() for g in found)])
        for a, b in zip(*grads, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-7)
    assert jitted.compiles == 1


def temporaries(x):
    if x.sum() > 0:
        parts, scale = [x, x * 2], 2.0
        y = parts[1] * scale
    else:
        parts, scale = x[:1], "none"
        y = x + parts
    return y


def read_before_bound(x):
    k, name = 2.0, "up"
    if x.sum() > 0:
        k = k * x.max()
        y = x * k
    else:
        name = name.upper()
        y = x - len(name)
    return y


def read_in_the_next_turn(x):
    previous, y = None, x
    for _ in range(4):
        if previous is not None:
            y = y + previous
        previous = y * 0.5
        if y.sum() > 5:
            break
    return y


def read_by_a_function_later(x):
    def scaled(y):
        return y * k

    k = 1.0
    if x.sum() > 0:
        y = x + 1
    else:
        y = x - 1
    k = 3.0
    return scaled(y)


def read_after_an_exception(x):
    k = x
    with contextlib.suppress(ZeroDivisionError):
        if x.sum() > 0:
            k = x * 2
        else:
            k = x * 3
        1 / 0  # noqa: B018
        k = x * 5
    return k


def deleted(x):
    if x.sum() > 0:
        t = x * 2
    else:
        t = x * 3
    y = t + 1
    del t
    return y


def with_all_names_read(x):
    n, k = len(locals()), 2.0
    if x.sum() > 0:
        k = k * x.max()
    else:
        k = k - x.min()
    return x * k + n


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize(
    "f",
    [
        temporaries,
        with_all_names_read,
        read_before_bound,
        read_in_the_next_turn,
        read_by_a_function_later,
        read_after_an_exception,
        deleted,
    ],
)
def test_values(f):
    jitted = torch.jit(f)
    for x in (UP, DOWN, BIG):
        np.testing.assert_allclose(jitted(x).numpy(), f(x).numpy(), rtol=1e-6)
    assert jitted.compiles == 1


# -- numbers that a branch chose -------------------------------------------------------------------


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    "use",
    [
        lambda x, k: torch.full((2,), k),
        lambda x, k: torch.full((2,), k, dtype=torch.int32),
        lambda x, k: torch.full_like(x, k),
        lambda x, k: x.new_full((2,), k, dtype=torch.float64),
        lambda x, k: torch.tensor(k),
        lambda x, k: torch.tensor(k, dtype=torch.float64) / 3,
        lambda x, k: torch.as_tensor(k, dtype=torch.int64),
        lambda x, k: set_item(x.clone(), 0, k),
        lambda x, k: set_item(x.clone(), torch.tensor([1]), k),
        lambda x, k: set_item(x.long(), slice(None), k),
    ],
)
@pytest.mark.parametrize("kind", [float, int])
def test_a_number_fills_tensors(use, kind):
    def f(x):
        k = kind(2.5)
        if x.sum() > 0:
            k = kind(3.5)
        return use(x, k)

    jitted = torch.jit(f)
    for x in (UP, DOWN):
        a, b = f(x), jitted(x)
        assert a.dtype is b.dtype
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert jitted.compiles == 1


def set_item(x, index, value):
    x[index] = value
    return x
