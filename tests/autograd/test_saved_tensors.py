"""Hooks on saved tensors, and strict mode."""

import threading

import pytest

import torchlike as torch
from torchlike.autograd import graph, is_strict_in_place, set_strict_in_place
from torchlike.autograd.graph import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    increment_version,
    save_on_cpu,
    saved_tensors_hooks,
)


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


class Counts:
    """Hooks that scale by ten and back, and count."""

    def __init__(self):
        self.packed, self.unpacked = [], 0
        self.context = saved_tensors_hooks(self.pack, self.unpack)

    def pack(self, t):
        assert not torch.is_grad_enabled()
        self.packed.append((tuple(t.shape), t.requires_grad))
        return "scaled", t.detach() * 10

    def unpack(self, packed):
        self.unpacked += 1
        return packed[1] / 10


@pytest.mark.parametrize("jitted", [False, True])
def test_each_saved_tensor_goes_through_the_hooks(jitted):
    counts = Counts()

    def f(x, w):
        with counts.context:
            y = x * w
            return (y.exp() @ w.cos()) + torch.nn.functional.layer_norm(x, (3,)).sum()

    x, w = leaf(1.0, 2.0, 3.0), leaf(0.1, 0.2, 0.3)
    expected = torch.autograd.grad(
        (x * w).exp() @ w.cos() + torch.nn.functional.layer_norm(x, (3,)).sum(), (x, w)
    )
    y = (torch.jit(f) if jitted else f)(x, w)
    assert counts.packed[:3] == [((3,), True)] * 3
    y.backward()
    torch.testing.assert_close((x.grad, w.grad), expected)
    assert counts.unpacked == len(counts.packed)
    if not jitted:
        with pytest.raises(RuntimeError, match="second time"):
            y.backward()


def test_second_derivatives_unpack_too():
    counts, x = Counts(), leaf(0.5, -0.3)
    with counts.context:
        y = (x * x * x).sin()
        (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    v = x.detach()
    torch.testing.assert_close(h, 6 * v * (v**3).cos() - 9 * v**4 * (v**3).sin())


def test_the_innermost_pair_counts_and_order_is_kept():
    outer, inner, x = Counts(), Counts(), leaf(2.0)
    with outer.context:
        a = x * x
        with inner.context:
            b = x.exp()
        c = x.sin()
    d = x.cos()
    assert (len(outer.packed), len(inner.packed)) == (3, 1)
    (a + b + c + d).sum().backward()
    assert (outer.unpacked, inner.unpacked) == (3, 1)


def test_a_write_after_packing_does_not_reach_what_was_packed():
    x = leaf(3.0)
    y = x * 1
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        z = y * y
    y.add_(1)
    z.sum().backward()
    assert x.grad.item() == 6


def test_custom_functions_pack_what_they_save():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0] ** 2 * g

    counts, x = Counts(), leaf(2.0)
    with counts.context:
        y = Cube.apply(x)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert (len(counts.packed), counts.unpacked, g.item(), h.item()) == (1, 1, 12, 12)


def run(pack, unpack):
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(pack, unpack):
        y = x * x
    y.sum().backward()


def raising(t):
    raise KeyError("mine")


@pytest.mark.parametrize(
    ("pack", "unpack", "error", "words"),
    [
        (lambda t: t, lambda t: 3, TypeError, "expected to be a Tensor but got result of type int"),
        (
            lambda t: t.mul_(2),
            lambda t: t,
            RuntimeError,
            "pack hook is modifying its input in place",
        ),
        (lambda t: t, lambda t: t[:1], RuntimeError, "has shape"),
        (raising, lambda t: t, KeyError, "mine"),
        (lambda t: t, raising, KeyError, "mine"),
        (1, 2, TypeError, "callable"),
    ],
)
def test_errors(pack, unpack, error, words):
    with pytest.raises(error, match=words):
        run(pack, unpack)
    assert torch.is_grad_enabled()
    (leaf(1.0) * 2).sum().backward()


def test_disabled():
    with disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"):
        save_on_cpu().__enter__()
    with Counts().context, pytest.raises(RuntimeError, match="nor here"):
        disable_saved_tensors_hooks("nor here").__enter__()


@pytest.mark.parametrize("pin_memory", [False, True])
def test_save_on_cpu(pin_memory):
    x = leaf(1.0, 2.0)
    with save_on_cpu(pin_memory=pin_memory):
        y = (x * x).exp()
    y.sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach() * (x.detach() ** 2).exp())


def test_mutation_is_allowed():
    x = torch.ones(2, 3, requires_grad=True)
    with set_strict_in_place(True), allow_mutation_on_saved_tensors() as context:
        b = x.clone()
        out = (b**2).sum()
        b.sin_()
        out.backward()
        context.clear()
        with (
            pytest.raises(RuntimeError, match="cannot be nested"),
            graph.allow_mutation_on_saved_tensors(),
        ):
            pass
    assert x.grad.tolist() == [[2.0] * 3] * 2


def test_increment_version():
    x = torch.ones(1)
    increment_version([x, x])
    increment_version(x)
    assert x._version == 3
    with pytest.raises(RuntimeError, match=r"expect a Iterable\[Tensor\]"):
        increment_version(3)


# -- strict mode -----------------------------------------------------------------------------------


def test_by_default_the_gradient_is_right():
    x = leaf(3.0)
    y = x * 1
    z = y * y
    y.add_(10)
    z.sum().backward()
    assert x.grad.item() == 6


def test_strict_mode_is_of_the_thread_and_ends_with_its_context():
    with set_strict_in_place(True):
        assert is_strict_in_place()
        found = []
        thread = threading.Thread(target=lambda: found.append(is_strict_in_place()))
        thread.start()
        thread.join()
        assert found == [False]
        with set_strict_in_place(False):
            assert not is_strict_in_place()
        assert is_strict_in_place()
    assert not is_strict_in_place()
    set_strict_in_place(True)
    assert is_strict_in_place()
    set_strict_in_place(False)


@pytest.mark.parametrize("jitted", [False, True])
def test_strict_mode_raises(jitted):
    def f(x):
        y = x * 1
        z = y * y
        y.add_(1)
        z.sum().backward()

    words = (
        r"modified by an inplace operation: \[torch.FloatTensor \[2\]\], which is output 0 of Add, "
        "is at version 1; expected version 0 instead. Hint: enable anomaly"
    )
    with set_strict_in_place(True), pytest.raises(RuntimeError, match=words):
        (torch.jit(f) if jitted else f)(leaf(1.0, 2.0))
