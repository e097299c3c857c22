"""Saved-tensor hooks around the call of a jitted function, and inside it."""

import pytest

import torchlike as torch
from torchlike.autograd.graph import save_on_cpu, saved_tensors_hooks


def product(x, w):
    return (x * w).sum()


def leaf(value=2.0):
    return torch.full((3,), value, requires_grad=True)


def test_hooks_see_what_the_program_keeps():
    f, told = torch.jit(product), []

    def pack(t):
        told.append(tuple(t.shape))
        return t.numpy()

    def unpack(kept):
        told.append("back")
        return torch.from_numpy(kept) * 2

    for _ in range(3):
        told.clear()
        w = leaf()
        with saved_tensors_hooks(pack, unpack):
            y = f(torch.arange(3.0), w)
        assert set(told) == {(3,)}
        y.backward()
        assert told.count("back") * 2 == len(told)
        assert w.grad.tolist() == [0, 2, 4]
        w.grad = None
        f(torch.arange(3.0), w).backward()
        assert w.grad.tolist() == [0, 1, 2]
    assert f.compiles == 1


def test_save_on_cpu_and_a_second_backward():
    f, w = torch.jit(lambda x, w: (x * w).sin()), leaf()
    with save_on_cpu():
        y = f(torch.ones(3), w)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    torch.testing.assert_close(w.grad, 2 * leaf().detach().cos())
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


@pytest.mark.parametrize("of", ["shape", "dtype"])
def test_what_does_not_fit_the_program_is_refused(of):
    f, w = torch.jit(product), leaf()
    wrong = {"shape": lambda t: t[:1], "dtype": lambda t: t.double()}[of]
    with saved_tensors_hooks(lambda t: t, wrong):
        y = f(torch.ones(3), w)
    with pytest.raises(RuntimeError, match=f"unpack_hook has {of}"):
        y.backward()


def test_create_graph_is_refused():
    f, w = torch.jit(lambda x, w: (x * w**3).sum()), leaf()
    with saved_tensors_hooks(lambda t: t, lambda t: t):
        y = f(torch.ones(3), w)
    with pytest.raises(NotImplementedError, match="saved_tensors_hooks"):
        torch.autograd.grad(y, w, create_graph=True)
