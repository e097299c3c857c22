"""Compressed tensors: systems of equations, new sizes, copies, products at given places."""

import pytest

torch = pytest.importorskip("torch")

from tests.parity import oracle  # noqa: E402


def dense(t):
    return t.tensor([[1.0, 0, 2, 0], [0, 0, 3, 4], [5, 0, 0, 0], [0, 6, 0, 7]])


def csr(t):
    return dense(t).to_sparse_csr()


def bsr(t):
    return dense(t).to_sparse_bsr((2, 2))


def parts(a):
    return a.shape, a.crow_indices(), a.col_indices(), a.values()


def upper(t, layout):
    a = t.tensor([[2.0, 1, 0, 3], [0, 4, 1, 0], [0, 0, 5, 2], [0, 0, 0, 8]])
    return a.to_sparse_bsr((2, 2)) if layout == "bsr" else a.to_sparse_csr()


@pytest.mark.parametrize("layout", ["csr", "bsr"])
@pytest.mark.parametrize("how", [{}, {"transpose": True}, {"unitriangular": True}])
def test_triangular_systems(layout, how):
    if layout == "bsr" and "unitriangular" in how:
        pytest.skip("PyTorch's conversion to coordinates takes no blocks")
    right = torch.arange(8.0).reshape(4, 2)

    def solved(t):
        return tuple(t.triangular_solve(t.tensor(right.tolist()), upper(t, layout), **how))

    oracle.compare(solved, exact=True, rtol=1e-6)


def test_systems_by_columns():
    oracle.refused(lambda t: t.triangular_solve(t.ones(4, 1), dense(t).to_sparse_csc()))


@pytest.mark.parametrize("size", [(4, 6), (6, 4), (3, 4), (1, 5), (2, 3)])
def test_resize(size):
    oracle.compare(lambda t: parts(csr(t).resize_(*size)))


def test_resize_as():
    oracle.compare(lambda t: parts(csr(t).resize_as_sparse_(t.zeros(2, 3).to_sparse_csr())))


SAMPLED = {
    "out": lambda t: {"out": t.zeros(2, 2).to_sparse_csr(), "beta": 2},
    "a dense out": lambda t: {"out": t.zeros(4, 4)},
    "an out of another dtype": lambda t: {"out": csr(t).double()},
}


@pytest.mark.parametrize("case", SAMPLED)
def test_products_at_places_into_a_tensor(case):
    def sampled(t):
        named = SAMPLED[case](t)
        found = t.sparse.sampled_addmm(csr(t), t.ones(4, 2), t.ones(2, 4), **named)
        return found is named["out"], parts(found)

    oracle.compare(sampled)


@pytest.mark.parametrize(
    ("first", "second", "dtype"),
    [((3, 2), (2, 4), 0), ((4, 2), (2, 3), 0), ((4, 2), (3, 4), 0), ((4, 2), (2, 4), 1)],
)
def test_products_that_do_not_fit(first, second, dtype):
    def sampled(t):
        mat1 = t.ones(first, dtype=(t.float32, t.float64)[dtype])
        return t.sparse.sampled_addmm(csr(t), mat1, t.ones(second))

    oracle.refused(sampled)


@pytest.mark.parametrize(
    "run",
    [
        lambda t: t.zeros(4, 4).copy_(csr(t)),
        lambda t: t.zeros(4, 4).copy_(dense(t).to_sparse()),
        lambda t: dense(t).to_sparse_bsr((0, 2)),
        lambda t: dense(t).to_sparse(layout=t.sparse_csr, blocksize=(2, 2)),
    ],
)
def test_refusals(run):
    oracle.refused(run)
