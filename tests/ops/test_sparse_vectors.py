"""A sparse matrix times a vector: by SciPy where nobody records, else by the op."""

from __future__ import annotations

import pytest

import torchlike as torch
from torchlike._ops.linalg import sparse_vectors
from torchlike.overrides import TorchFunctionMode

N = 2000


def matrix(layout, dtype=torch.float32):
    torch.manual_seed(0)
    at = torch.randint(60, (2, N))
    coo = torch.sparse_coo_tensor(at, torch.randn(N, dtype=dtype), (70, 60))
    return coo.coalesce().to_sparse_csr() if layout == "csr" else coo


@pytest.mark.parametrize("layout", ["csr", "coo"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_as_the_dense_product(layout, dtype):
    m, x = matrix(layout, dtype), torch.randn(60, dtype=dtype)
    assert sparse_vectors.applies(m._held, x)
    expected = m.to_dense() @ x
    for found in (m @ x, m.mv(x), torch.mv(m, x), torch.jit(lambda m, x: m @ x)(m, x)):
        assert found.dtype is dtype
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    out = m @ x
    out += 1  # the result's memory is its own
    torch.testing.assert_close(m @ x, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("layout", ["csr", "coo"])
def test_gradients_are_recorded(layout):
    m, x = matrix(layout), torch.randn(60, requires_grad=True)
    assert not sparse_vectors.applies(m._held, x)
    (m @ x).sum().backward()
    torch.testing.assert_close(x.grad, m.to_dense().sum(0), rtol=1e-5, atol=1e-5)
    with torch.no_grad():
        assert not (m @ x).requires_grad


@pytest.mark.parametrize("layout", ["csr", "coo"])
def test_what_does_not_fit(layout):
    m = matrix(layout)
    for wrong in (torch.randn(61), torch.randn(60, dtype=torch.float64)):
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
