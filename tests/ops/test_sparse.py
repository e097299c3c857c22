"""Sparse tensors in coordinate form: products, sums, gradients, errors, what is not supported."""

from __future__ import annotations

import pkgutil

import numpy as np
import pytest

import torchlike
from torchlike._compat import unsupported

AT = [[0, 1, 1, 0], [2, 0, 2, 2]]
DENSE = np.array([[0, 0, 4.0], [4, 0, 5]], np.float32)


def made(values=(3.0, 4.0, 5.0, 1.0), **options):
    held = values if isinstance(values, torchlike.Tensor) else torchlike.tensor(list(values))
    return torchlike.sparse_coo_tensor(torchlike.tensor(AT), held, (2, 3), **options)


def test_conversions():
    s = made()
    assert (s.shape, s._nnz(), s.layout, s.is_coalesced()) == (
        (2, 3),
        4,
        torchlike.sparse_coo,
        False,
    )
    assert np.array_equal(s.to_dense().numpy(), DENSE)
    tidy = s.coalesce()
    assert tidy.indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    assert tidy.values().tolist() == [4.0, 4.0, 5.0]
    again = torchlike.tensor(DENSE).to_sparse()
    assert again.indices().tolist() == tidy.indices().tolist()
    hybrid = torchlike.tensor(DENSE).to_sparse(1)
    assert (hybrid.sparse_dim(), hybrid.dense_dim()) == (1, 1)
    assert np.array_equal(hybrid.to_dense().numpy(), DENSE)
    assert s.t().to_dense().tolist() == DENSE.T.tolist()
    assert s[1].to_dense().tolist() == DENSE[1].tolist()


def test_repr():
    assert repr(made().coalesce()) == (
        "tensor(indices=tensor([[0, 1, 1],\n"
        "                       [2, 0, 2]]),\n"
        "       values=tensor([4., 4., 5.]),\n"
        "       size=(2, 3), nnz=3, layout=torch.sparse_coo)"
    )


def test_arithmetic():
    s, d = made(), torchlike.arange(6.0).reshape(2, 3)
    for got, expected in (
        (s + s, DENSE * 2),
        (s - s.coalesce(), DENSE * 0),
        (-s, -DENSE),
        (s * 2.5, DENSE * 2.5),
        (s / 4, DENSE / 4),
        (s * s, DENSE * DENSE),
        (s * d, DENSE * d.numpy()),
        (s @ s.t(), DENSE @ DENSE.T),
        (s.sum(0), DENSE.sum(0)),
        (s.sum(1), DENSE.sum(1)),
    ):
        assert np.array_equal(got.to_dense().numpy(), expected)
    assert np.array_equal((d + s).numpy(), d.numpy() + DENSE)
    assert np.array_equal((d.t() @ s).numpy(), d.numpy().T @ DENSE)
    assert float(s.sum()) == DENSE.sum()


def test_products(run):
    v, d = torchlike.tensor([3.0, 4.0, 5.0, 1.0]), torchlike.arange(6.0).reshape(3, 2)
    got = run(lambda v, d: torchlike.sparse.mm(made(v), d), v, d)
    np.testing.assert_allclose(got.numpy(), DENSE @ d.numpy())
    vector = run(lambda v, d: made(v) @ d[:, 0], v, d)
    np.testing.assert_allclose(vector.numpy(), DENSE @ d.numpy()[:, 0])


def test_gradients_of_a_product():
    v = torchlike.tensor([3.0, 4.0, 5.0, 1.0], dtype=torchlike.float64, requires_grad=True)
    d = torchlike.arange(6.0, dtype=torchlike.float64).reshape(3, 2).requires_grad_()
    out = (torchlike.sparse.mm(made(v), d) ** 2).sum()
    whole = torchlike.tensor(DENSE, dtype=torchlike.float64, requires_grad=True)
    other = d.detach().clone().requires_grad_()
    same = ((whole @ other) ** 2).sum()
    first = torchlike.autograd.grad(out, [v, d], create_graph=True)
    expected = torchlike.autograd.grad(same, [whole, other])
    np.testing.assert_allclose(first[0].detach().numpy(), expected[0].numpy()[tuple(AT)])
    np.testing.assert_allclose(first[1].detach().numpy(), expected[1].numpy())
    second = torchlike.autograd.grad(first[0].sum(), d)[0]
    # d/dd of the sum over k of 2 (A d)[row k] . d[column k]
    a, x = DENSE.astype(np.float64), d.detach().numpy()
    by_hand = np.zeros_like(x)
    for r, c in zip(*AT, strict=True):
        by_hand += 2 * np.outer(a[r], x[c])
        by_hand[c] += 2 * a[r] @ x
    np.testing.assert_allclose(second.numpy(), by_hand)


def test_gradient_of_a_sparse_leaf():
    s = made(requires_grad=True)
    (torchlike.sparse.mm(s, torchlike.eye(3)) ** 2).sum().backward()
    assert s.grad is not None
    np.testing.assert_allclose(s.grad.to_dense().numpy(), 2 * DENSE)


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_reduced_products(reduce):
    a = torchlike.tensor([[0, 2.0, -1], [0, 0, 0], [3, 0, 4]])
    b = torchlike.tensor([[1.0, -2], [3, 4], [-5, 6]], requires_grad=True)
    got = torchlike.sparse.mm(a.to_sparse(), b, reduce)
    rows = []
    for row in a.numpy():
        terms = [w * x for w, x in zip(row, b.detach().numpy(), strict=True) if w]
        fold = {"sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min}[reduce]
        rows.append(fold(terms, 0) if terms else np.zeros(2))
    np.testing.assert_allclose(got.detach().numpy(), rows)
    got.sum().backward()
    assert b.grad is not None
    assert b.grad.abs().sum() > 0


def test_addmm_and_sampled_addmm():
    s, d = made(), torchlike.arange(6.0).reshape(3, 2)
    m = torchlike.ones(2, 2)
    got = torchlike.sparse.addmm(m, s, d, beta=2, alpha=3)
    np.testing.assert_allclose(got.numpy(), 2 + 3 * DENSE @ d.numpy())
    sampled = torchlike.sparse.sampled_addmm(s, m, torchlike.ones(2, 3), beta=0.5, alpha=2)
    np.testing.assert_allclose(sampled.to_dense().numpy(), np.where(DENSE != 0, DENSE / 2 + 4, 0))


def test_sparse_mask():
    got = torchlike.arange(6.0).reshape(2, 3).sparse_mask(made().coalesce())
    np.testing.assert_allclose(got.to_dense().numpy(), [[0, 0, 2], [3, 0, 5]])


def test_errors():
    i, v = torchlike.tensor(AT), torchlike.ones(4)
    for size, words in (((2, 2), "size is inconsistent with indices"), ((2,), "'len(size)")):
        with pytest.raises(RuntimeError, match=words.replace("(", r"\(").replace(")", r"\)")):
            torchlike.sparse_coo_tensor(i, v, size)
    with pytest.raises(RuntimeError, match="must have same nnz"):
        torchlike.sparse_coo_tensor(i, v[:3], (2, 3))
    with pytest.raises(RuntimeError, match="uncoalesced tensor"):
        made().indices()
    with pytest.raises(RuntimeError, match=r"add\(sparse, dense\) is not supported"):
        made() + 1
    with pytest.raises(TypeError, match="to_dense"):
        made().numpy()
    with pytest.raises(RuntimeError, match="Expected dim 0 size 3"):
        made() @ torchlike.ones(2, 2)


def every_gap():
    return [(space, name) for space, table in unsupported.GAPS.items() for name in table]


@pytest.mark.parametrize(("space", "name"), every_gap())
def test_what_is_not_supported_says_what_to_use(space, name):
    owner = {"": torchlike, "aten": torchlike.ops.aten, "Tensor": torchlike.Tensor}.get(space)
    if owner is None:
        owner = pkgutil.resolve_name(f"torchlike.{space}")
    with pytest.raises(NotImplementedError, match="Use instead: "):
        getattr(owner, name)(torchlike.ones(2))


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize("masked", [True, False])
def test_gradcheck_of_sparse_inputs(layout, masked):
    check = torchlike.sparse.as_sparse_gradcheck(torchlike.autograd.gradcheck)
    x = torchlike.tensor([[1.0, 0], [2, 3]], dtype=torchlike.float64)
    s = x.to_sparse(layout=getattr(torchlike, layout)).requires_grad_()
    assert check(lambda s: s @ x, (s,), masked=masked)
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        check(lambda s: s.detach() @ x + (s @ x) * 0, (s,), masked=masked)
