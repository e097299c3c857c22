"""A sparse matrix times a vector or matrix: by SciPy where nobody traces, else by the op."""

from __future__ import annotations

import functools

import comparing
import pytest

import torchlike as torch
from torchlike._ops.linalg import scipy_products
from torchlike.overrides import TorchFunctionMode

N = 2000


LAYOUTS = ["csr", "csc", "coo", "coalesced"]
SHAPES = [(60,), (60, 5)]


def matrix(layout, dtype=torch.float32):
    torch.manual_seed(0)
    at = torch.randint(60, (2, N))
    coo = torch.sparse_coo_tensor(at, torch.randn(N, dtype=dtype), (70, 60))
    if layout == "coo":
        return coo
    coo = coo.coalesce()
    return (
        coo if layout == "coalesced" else coo.to_sparse(layout=getattr(torch, f"sparse_{layout}"))
    )


def of_values(layout, dtype=torch.float32):
    """A matrix of values that require gradients."""
    m = matrix(layout, dtype)
    return m._with(m._held.requires_grad_())


#: Sums of 33 terms that cancel.
close = functools.partial(comparing.close, atol=1e-5)


@pytest.mark.sampled(every=3)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_as_the_dense_product(layout, dtype, shape):
    m, x = matrix(layout, dtype), torch.randn(shape, dtype=dtype)
    assert scipy_products.applies(m._held, x)
    expected = m.to_dense() @ x
    for found in (m @ x, torch.matmul(m, x), torch.jit(lambda m, x: m @ x)(m, x)):
        assert found.dtype is dtype
        close(found, expected)
    out = m @ x
    out += 1  # the result's memory is its own
    close(m @ x, expected)
    close(torch.ones(3, 70, dtype=dtype) @ m, torch.ones(3, 70, dtype=dtype) @ m.to_dense())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients(layout, shape):
    """Of the elements and the dense factor, and theirs."""
    m = of_values(layout, torch.float64)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    g = torch.randn(70, *shape[1:], dtype=torch.float64, requires_grad=True)
    out = m @ x
    assert type(out.grad_fn) is scipy_products.ProductNode
    dense = m.detach().to_dense().requires_grad_()
    by_x, by_m = torch.autograd.grad(out, [x, m._held], g, create_graph=True)
    of_x, of_m = torch.autograd.grad(dense @ x, [x, dense], g, create_graph=True)
    at, _ = m.coordinates() if layout in ("csr", "csc") else (m._at, None)
    close(by_x, of_x)
    close(by_m, of_m[tuple(at)])
    second = torch.autograd.grad(by_x.sum() + by_m.sin().sum(), [x, m._held, g])
    expected = torch.autograd.grad(of_x.sum() + of_m[tuple(at)].sin().sum(), [x, dense, g])
    close(second[0], expected[0])
    close(second[2], expected[2])
    close(m.detach()._with(second[1]).to_dense() * 1, _summed(expected[1], at))
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()


def _summed(of_dense, at):
    """What stands at each place, as often as it stands there."""
    ones = torch.ones(at.shape[1], dtype=of_dense.dtype)
    return of_dense * torch.sparse_coo_tensor(at, ones, of_dense.shape).to_dense()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_gradient_alone(layout):
    x = torch.randn(60, requires_grad=True)
    m = matrix(layout)
    (m @ x).sum().backward()
    close(x.grad, m.to_dense().sum(0))
    m = of_values(layout)
    (m @ x.detach()).sum().backward()
    assert m._held.grad.shape == m._held.shape
    with torch.no_grad():
        assert not (m @ x).requires_grad


def test_written_indices_and_values_are_read_again():
    m, x = matrix("csr"), torch.randn(60)
    m @ x
    m.col_indices()[:2] = torch.tensor([0, 1])
    m.values().mul_(2)
    close(m @ x, m.to_dense() @ x)
    m.col_indices()[-1] = 60
    with pytest.raises(RuntimeError, match="out of range"):
        m @ x


def test_what_was_saved_stays_as_it_was():
    m, leaf, x = of_values("csr"), matrix("csr").requires_grad_(), torch.randn(60)
    kept = x.clone()
    out, other = m @ x, leaf @ x
    x.zero_()
    out.sum().backward()
    other.sum().backward()
    close(m._held.grad, kept[m.col_indices()])
    close(leaf.grad, kept.expand(70, 60))
    with pytest.raises(RuntimeError, match="second time"):
        other.sum().backward()


def test_a_batch_of_cotangents():
    """By the ops that record, as transforms see them."""
    m, x = matrix("csr"), torch.randn(60, requires_grad=True)
    found = torch.autograd.grad(m @ x, x, torch.eye(70)[:3], is_grads_batched=True)[0]
    close(found, m.to_dense()[:3])


def test_checkpoints_decide_what_is_saved():
    m, x = matrix("coo"), torch.randn(60, requires_grad=True)
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        (m @ x).sum().backward()
    assert packed
    close(x.grad, m.to_dense().sum(0))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_does_not_fit(layout):
    m = matrix(layout)
    for wrong in (torch.randn(61), torch.randn(60, dtype=torch.float64), torch.randn(61, 2)):
        with pytest.raises(RuntimeError):
            m @ wrong


def test_modes_see_it():
    class Names(TorchFunctionMode):
        def __init__(self):
            super().__init__()
            self.seen = []

        def __torch_function__(self, func, types, args=(), kwargs=None):
            self.seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    m, x = matrix("csr"), torch.randn(60)
    with Names() as mode:
        m @ x
    assert mode.seen == ["matmul"]
