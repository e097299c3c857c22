"""``grad_fn._saved_self`` and its kin."""

import pytest

import torchlike as torch
from torchlike.autograd import set_strict_in_place
from torchlike.autograd.graph import saved_tensors_hooks


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


def saved(node):
    return sorted(name for name in dir(node) if name.startswith("_saved_"))


def test_operands():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    node = (x * y).grad_fn
    assert saved(node) == ["_saved_other", "_saved_self"]
    assert node._saved_self is x
    assert node._saved_other is y
    constant = (x * y.detach()).grad_fn
    assert constant._saved_self is None
    assert constant._saved_other.tolist() == [3, 4]
    assert not constant._saved_other.requires_grad


def test_what_was_saved_has_its_history():
    x = leaf(1.0, 2.0)
    y = x * 3
    z = y * y
    assert z.grad_fn._saved_self.grad_fn is y.grad_fn
    assert torch.autograd.grad(z.grad_fn._saved_self.sum(), x)[0].tolist() == [3, 3]
    e = x.exp()
    assert e.grad_fn._saved_result.grad_fn is e.grad_fn
    torch.testing.assert_close(e.grad_fn._saved_result, e)


def test_a_leaf_written_to_since_is_given_as_it_was():
    x = leaf(1.0, 2.0)
    node = (x * x).grad_fn
    with torch.no_grad():
        x.add_(1)
    assert node._saved_self.tolist() == [1, 2]
    assert node._saved_self.requires_grad


def test_numbers_and_static_arguments():
    x = leaf(1.0, 2.0)
    assert (x**3).grad_fn._saved_exponent == 3
    assert (x * 2).grad_fn._saved_other.item() == 2
    node = torch.add(x, x, alpha=5).grad_fn
    assert node._saved_alpha == 5
    assert not hasattr(node, "_saved_self")
    node = x.reshape(1, 2).clone().sum(1, keepdim=True).grad_fn
    assert (node._saved_dim, node._saved_keepdim) == ((1,), True)
    assert node._saved_self_sym_sizes == (1, 2)


def test_what_is_not_there():
    node = leaf(1.0).exp().grad_fn
    for name in ("_saved_self", "_saved_nothing", "_raw_saved_self", "nothing"):
        with pytest.raises(AttributeError, match=f"ExpBackward0.*{name}"):
            getattr(node, name)
    assert saved(leaf(1.0, 2.0)[0].grad_fn) == []


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (torch.exp, "result"),
        (lambda x: x * x, "other"),
        (lambda x: (x * 1).mul_(x), "self"),
    ],
)
def test_freed(f, name):
    x = leaf(1.0, 2.0)
    y = f(x)
    y.sum().backward(retain_graph=True)
    assert getattr(y.grad_fn, f"_saved_{name}") is not None
    y.sum().backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors"):
        getattr(y.grad_fn, f"_saved_{name}")


def test_static_arguments_are_not_freed():
    y = leaf(1.0, 2.0).softmax(0)
    y.sum().backward()
    assert y.grad_fn._saved_dim == 0
    with pytest.raises(RuntimeError, match="directly access saved tensors"):
        _ = y.grad_fn._saved_result


def test_saved_tensor_hooks_unpack():
    x = leaf(1.0, 2.0)
    with saved_tensors_hooks(lambda t: t * 10, lambda t: t + 1):
        node = (x * x).grad_fn
    assert node._saved_self.tolist() == [11, 21]
    assert node._saved_other.tolist() == [11, 21]


def test_strict_mode_refuses_what_was_overwritten():
    x = leaf(1.0, 2.0)
    with set_strict_in_place(True):
        y = x * 1
        node = (y * y).grad_fn
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            _ = node._saved_self


def test_under_jit():
    @torch.jit
    def f(x):
        return (x * x).exp().grad_fn._saved_result.detach()

    torch.testing.assert_close(f(leaf(1.0, 2.0)), leaf(1.0, 2.0).detach().square().exp())
