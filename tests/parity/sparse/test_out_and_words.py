"""Results written into sparse tensors, backward passes from sparse gradients, products of two
sparse tensors, and the words of refusals: as PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import torchlike
from tests.parity import oracle
from tests.parity.sparse.test_compressed import described

AT = [[0, 1, 1, 2], [2, 0, 2, 1]]


def scope(t):
    at, values = t.tensor(AT), t.tensor([1.5, -2, 3, 0.25])
    whole = t.sparse_coo_tensor(at, values, (3, 3)).coalesce()
    return {
        "t": t,
        "s": whole,
        "at": at,
        "v": values,
        "dup": t.sparse_coo_tensor(at[:, [0, 1, 1]], values[:3], (3, 3)),
        "hybrid": t.sparse_coo_tensor(t.tensor([[0, 2, 2]]), t.ones(3, 3), (3, 3)),
        "ints": t.sparse_coo_tensor(at, t.tensor([1, -2, 3, 4]), (3, 3)).coalesce(),
        "other": t.sparse_coo_tensor(
            t.tensor([[0, 1, 2], [2, 1, 1]]), t.tensor([2.0, 5, 4]), (3, 3)
        ).coalesce(),
        "none": t.sparse_coo_tensor(size=(3, 3)),
        "csr": whole.to_dense().to_sparse_csr(),
        "row": t.sparse_coo_tensor(t.tensor([[0, 0], [0, 2]]), t.tensor([2.0, 7]), (1, 3)),
        "dense": t.arange(9.0).reshape(3, 3),
        "into": lambda f, *a, out: (f(*a, out=out), out)[1],
        "empty": lambda *size, **kw: t.sparse_coo_tensor(size=size, **kw),
        "range": range,
    }


def run(text):
    return lambda t: described(eval(text, scope(t)))


RESULTS = [
    *(f"into(t.{f}, s, out=empty(3, 3))" for f in ("abs", "sin", "neg", "sqrt", "sign")),
    "into(t.abs, s, out=empty(5, 5))",
    "into(t.add, s, other, out=empty(3, 3))",
    "into(t.mul, s, 2, out=empty(3, 3))",
    "into(t.mul, s, other, out=empty(3, 3))",
    "into(t.abs, csr, out=csr * 2)",
    "(s * other)",
    "(s * none)",
    "(other * s)",
    "(hybrid * hybrid.coalesce()).to_dense()",
    "hybrid + none",
    "none + hybrid",
    "hybrid - none",
    "none - hybrid",
    "s + none",
    "none + s",
    "t._sparse_broadcast_to(row, (2, 3))",
    "t._sparse_broadcast_to(row, (2, 3, 3)).to_dense()",
    "t.hsmm(s, dense)",
    "t.saddmm(none, s, dense).to_dense()",
    "t.zeros_like(hybrid)",
    "t.empty_like(hybrid).sparse_dim()",
    "s.new()",
    "s.new(2, 3)",
    "s.new(t.Size([2, 3]))",
    "s.new(at, v)",
    "t.sparse_coo_tensor(t.empty(3, 0), t.empty(0, 2)).shape",
    "none.copy_(s)",
    "into(t.zeros, 2, 4, out=s)",
    "empty().copy_(s)",
    "t.sparse_coo_tensor([[0]], [3.0], (1,)).item()",
    "t.sparse_coo_tensor([[0]], [0.0], (1,)).is_nonzero()",
    "t.mv(s, v[:3])",
    "bool(t.sparse_coo_tensor([[0, 0]], [1.0, -1], (1,)))",
    "s.norm(2, [0, 1])",
    "t.autograd.gradcheck(lambda x: x.to_dense(), s.double().requires_grad_(), masked=True)",
    "t.testing.assert_close(csr, csr * 1)",
    "t.Tensor.to_sparse(s)",
    "t.Tensor.to_dense(s)",
    "t.Tensor.values(s)",
    "t.Tensor.sparse_dim(hybrid)",
    "t.Tensor.dense_dim(csr)",
    "t.Tensor.crow_indices(csr)",
    "t.Tensor.to_sparse(csr)",
    "t.Tensor.to_sparse(dense)",
]


@pytest.mark.parametrize("text", RESULTS)
def test_results(text):
    oracle.compare(run(text))


#: What PyTorch refuses, and how many characters of its words are the same here.
REFUSED = {
    "into(t.sin, s, out=empty(3, 3, dtype=t.int64))": 70,
    "into(t.abs, s.clone().requires_grad_(), out=empty(3, 3))": 99,
    "into(t.abs, s, out=t.zeros(3, 3))": 0,
    "into(t.abs, dense, out=empty(3, 3))": 0,
    "ints.sin_()": 70,
    "ints.mul_(s)": 70,
    "ints.mul_(2.5)": 0,
    "s.copy_(dense)": 99,
    "s.copy_(hybrid)": 99,
    "s.copy_(row)": 60,
    "csr.copy_((dense > 0).float().to_sparse_csr())": 99,
    "s.to_sparse(1)": 99,
    "t.sparse_coo_tensor(at, v, (2**40, 2**40))": 99,
    "t.sparse_coo_tensor(at[:, [0, 0]], v[:2], (3, 3), is_coalesced=True, "
    "check_invariants=True)": 70,
    "t.Tensor.crow_indices(s)": 60,
    "t.mv(s, t.ones(5))": 99,
    "s.narrow_copy(10, 0, 1)": 99,
    "s.narrow_copy(-1, 0, 1)": 99,
    "t.native_norm(s, 2, (0, 1), False, t.float64)": 99,
    "t.cat([s, hybrid])": 99,
    "s.new(v)": 0,
    "s.new([6])": 0,
    "t.cat([s, row], 1)": 99,
    "dense + row": 99,
    "s + row": 99,
    "s + hybrid": 99,
    "s.__setitem__(0, 1)": 99,
    "csr.__setitem__(0, 1)": 99,
    "s.item()": 99,
    "s.norm(keepdim=True)": 99,
    "s.norm(2, 0)": 99,
    "t.sparse.sum(s, [0, 0])": 99,
    "t.sparse.sum(s, [1, -1])": 99,
    "t.sparse.spdiags(t.ones(1, 3), t.tensor([0], dtype=t.int32), (3, 3))": 99,
    "t.sparse.spdiags(t.ones(1, 3), t.tensor([0]), (3, 3), t.strided)": 99,
    "t.autograd.gradcheck(lambda x: x, s.double().requires_grad_())": 60,
    "t.testing.assert_close(csr, csr * 2)": 99,
    "t.testing.assert_close(csr, none.to_sparse_csr())": 60,
    "t.sparse_coo_tensor([[0, 1]], t.empty(2, 0), (4, 0)).is_nonzero()": 99,
}


@pytest.mark.parametrize(("text", "words"), REFUSED.items())
def test_refusals(text, words):
    oracle.refused(run(text), words=words)


def test_a_tensor_is_another_leaf_than_its_values():
    """Two tensors of one tensor of values have each a gradient of their own."""

    def function(t):
        names = scope(t)
        at, values = names["at"], names["v"]
        a, b = (t.sparse_coo_tensor(at, values, (3, 3)).requires_grad_() for _ in range(2))
        c = t.sparse_csr_tensor([0, 1, 2, 2], [0, 1], values[:2], (3, 3)).requires_grad_()
        t.sparse.mm(a, names["dense"]).sum().backward()
        t.sparse.mm(c, names["dense"]).sum().backward()
        return values.requires_grad, values.grad, b.grad, a.grad.to_dense(), c.grad.to_dense()

    oracle.compare(function)


def test_sparse_products_broadcast():
    """PyTorch broadcasts dense dimensions alone."""
    names = scope(torchlike)
    expected = names["s"].to_dense() * names["row"].to_dense()
    for text in ("s * row", "row * s"):
        found = eval(text, names)
        assert found._nnz() == 3
        assert found.to_dense().tolist() == expected.tolist()


@pytest.mark.parametrize("gradient", ["other", "s", "s * 3"])
def test_backward_from_a_sparse_gradient(gradient):
    def function(t):
        names = scope(t)
        s = names["s"].clone().requires_grad_()
        (s * 2).backward(eval(gradient, names))
        return s.grad.to_dense()

    ours, theirs = (oracle.outcome(function, lib) for lib in (torchlike, torch))
    at = tuple(np.array(AT))
    np.testing.assert_allclose(oracle.as_numpy(ours)[at], oracle.as_numpy(theirs)[at], rtol=1e-6)
