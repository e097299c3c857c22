"""Hooks on what a jitted function depends on, is given, gives back and makes: each is called once
for each backward pass, with the gradient that eager execution has."""

import numpy as np
import pytest

import torchlike as torch
from torchlike._core.errors import JitCaptureError

W = [[0.5, -1.0], [2.0, 0.25]]
X = [[1.0, -2.0], [0.5, 3.0]]


class Scene:
    """A weight, an input computed from a leaf, and a record of what hooks saw."""

    def __init__(self):
        self.w = torch.tensor(W, requires_grad=True)
        self.leaf = torch.tensor(X, requires_grad=True)
        self.x = self.leaf * 2
        self.seen = []

    def note(self, name, factor=None):
        def hook(grad):
            self.seen.append((name, grad.clone()))
            return None if factor is None else grad * factor

        return hook

    def call(self, x):
        return (x @ self.w).tanh()


def on_a_weight(s):
    s.w.register_hook(s.note("w", 10))


def two_on_a_weight(s):
    s.w.register_hook(s.note("first", 10))
    s.w.register_hook(s.note("second", 3))


def on_an_argument(s):
    s.x.register_hook(s.note("x", 10))


def on_the_leaf_behind(s):
    s.leaf.register_hook(s.note("leaf", 10))


def retained(s):
    s.x.retain_grad()


def on_the_node_of_an_argument(s):
    s.x.grad_fn.register_hook(lambda gi, go: s.seen.append(("node", go[0].clone())))
    s.x.grad_fn.register_prehook(lambda go: (go[0] * 10,))


def after_accumulation(s):
    s.w.register_post_accumulate_grad_hook(lambda p: s.seen.append(("post", p.grad.clone())))


def on_the_accumulator(s):
    s.w.expand_as(s.w).grad_fn.next_functions[0][0].register_hook(
        lambda *_: s.seen.append(("acc", s.w.grad.clone()))
    )


PLACES = [
    on_a_weight,
    two_on_a_weight,
    on_an_argument,
    on_the_leaf_behind,
    retained,
    on_the_node_of_an_argument,
    after_accumulation,
    on_the_accumulator,
]


def results(place, jitted, how):
    s = Scene()
    place(s)
    call = torch.jit(s.call) if jitted else s.call
    for k in range(2):
        y = call(s.x)
        if how == "result":
            y.register_hook(s.note("y", 2))
        if how == "create_graph":
            (g,) = torch.autograd.grad(y.sum(), [s.w], create_graph=True)
            (g.pow(2).sum() + y.sum()).backward(retain_graph=True)
        else:
            (y * (k + 1)).sum().backward(retain_graph=True)
    grads = [s.w.grad, s.leaf.grad, s.x.grad if place is retained else None]
    return s.seen, grads


@pytest.mark.sampled(every=2, rest="full")
@pytest.mark.parametrize("how", ["plain", "result", "create_graph"])
@pytest.mark.parametrize("place", PLACES)
def test_hooks_around_a_jitted_call(place, how):
    eager, jitted = results(place, False, how), results(place, True, how)
    assert [name for name, _ in eager[0]] == [name for name, _ in jitted[0]]
    for (_, a), (_, b) in zip(eager[0], jitted[0], strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=2e-5)
    for a, b in zip(eager[1], jitted[1], strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=2e-5)


def test_hooks_in_a_jitted_step():
    """The pass is part of the program: its hooks are traced, once, and change what it computes."""

    def run(jitted):
        s = Scene()
        s.w.register_hook(lambda g: g * 10)
        s.w.register_hook(lambda g: g + 1)

        def step(x):
            s.w.grad = None
            h = x @ s.w
            h.register_hook(lambda g: g * 2)
            h.tanh().sum().backward()
            return s.w.grad * 1

        call = torch.jit(step) if jitted else step
        return [call(torch.tensor(X) * k).numpy() for k in (1, 2)]

    np.testing.assert_allclose(run(True), run(False), rtol=1e-5)


@pytest.mark.usefixtures("compiled_at_once")
def test_hooks_of_modules():
    def run(jitted):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
        net[0].register_full_backward_hook(lambda m, gi, go: (gi[0] * 5,))
        net[2].register_full_backward_pre_hook(lambda m, go: (go[0] * 3,))
        net[1].register_forward_hook(lambda m, args, out: out * 2)
        net[0].weight.register_hook(lambda g: g * 7)
        call = torch.jit(net) if jitted else net
        x = torch.tensor(X, requires_grad=True)
        for _ in range(2):
            call(x).sum().backward()
        return [x.grad, *(p.grad for p in net.parameters())]

    for a, b in zip(run(False), run(True), strict=True):
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-5)


def test_a_hook_that_comes_and_goes():
    s = Scene()
    call = torch.jit(s.call)

    def gradient():
        s.w.grad = None
        call(s.x).sum().backward(retain_graph=True)
        return s.w.grad.numpy()

    plain = gradient()
    handle = s.w.register_hook(lambda g: g * 10)
    np.testing.assert_allclose(gradient(), plain * 10, rtol=1e-6)
    handle.remove()
    np.testing.assert_allclose(gradient(), plain, rtol=1e-6)


def on_a_leaf(x):
    x.register_hook(lambda g: g * 10)
    return x * 2


def retaining(x):
    x.retain_grad()
    return x * 2


@pytest.mark.parametrize(
    ("f", "is_leaf", "words"),
    [
        (on_a_leaf, True, "hook on an argument"),
        (on_a_leaf, False, "computed outside"),
        (retaining, False, "computed outside"),
    ],
)
def test_a_hook_that_the_body_leaves_on_an_argument_is_refused(f, is_leaf, words):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(JitCaptureError, match=words):
        torch.jit(f)(x if is_leaf else x * 3)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_a_hook_on_an_argument_that_the_body_removes():
    @torch.jit
    def f(x):
        handle = x.register_hook(lambda g: g * 10)
        (x * 2).sum().backward()
        handle.remove()

    for _ in range(3):
        x = torch.ones(2, requires_grad=True)
        f(x)
        assert x.grad.tolist() == [20, 20]
    assert f.compiles == 1


@pytest.mark.filterwarnings("ignore:torchlike.jit")
def test_hooks_that_the_body_leaves_on_state_add_up():
    w = torch.ones(2, requires_grad=True)

    @torch.jit
    def f(x):
        w.register_hook(lambda g: g * 10)
        return w * x

    for k in (10, 100, 1000):
        f(torch.ones(2)).sum().backward()
        assert w.grad.tolist() == [k, k]
        w.grad = None
