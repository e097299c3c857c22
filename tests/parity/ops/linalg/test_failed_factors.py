"""Factorizations that fail: what is said, and what is left of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from oracle import compare  # noqa: E402

import torchlike  # noqa: E402

NAN, INF = math.nan, math.inf
INDEFINITE = {
    "first": [[-1.0, 2.0], [2.0, 1.0]],
    "last": [[4.0, 2.0, 1.0], [2.0, 3.0, 1.0], [1.0, 1.0, -5.0]],
    "middle": [[4.0, 2.0, 1.0], [2.0, -3.0, 1.0], [1.0, 1.0, 5.0]],
    "batch": [[[4.0, 2.0], [2.0, -3.0]], [[4.0, 2.0], [2.0, 3.0]], [[-4.0, 2.0], [2.0, 3.0]]],
    "zero": [[0.0, 0.0], [0.0, 0.0]],
    "nan": [[4.0, NAN, 1.0], [NAN, 3.0, 1.0], [1.0, 1.0, 5.0]],
    "infinite": [[4.0, INF, 1.0], [INF, 3.0, 1.0], [1.0, 1.0, 5.0]],
    "complex": [[4.0, 2j], [-2j, -1.0]],
    "definite": [[4.0, 2.0], [2.0, 3.0]],
}


def agree(f, value, *, jitted=False, dtype="float64"):
    def run(m):
        kind = "complex128" if np.iscomplexobj(value) else dtype
        return tuple(f(m, m.tensor(value, dtype=getattr(m, kind))))

    compare(run, jitted=jitted, rtol=1e-13, atol=1e-14)


@pytest.mark.sampled(every=5, rest="full")
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("name", INDEFINITE)
def test_cholesky_ex(name, upper, jitted):
    agree(lambda m, x: m.linalg.cholesky_ex(x, upper=upper), INDEFINITE[name], jitted=jitted)


def test_columns_before_the_minor_of_a_large_matrix():
    x = np.random.default_rng(0).standard_normal((60, 60))
    x = x @ x.T + 60 * np.eye(60)
    x[40, 40] = -1
    ours = torchlike.linalg.cholesky_ex(torchlike.tensor(x))
    theirs = torch.linalg.cholesky_ex(torch.tensor(x))
    assert int(ours.info) == int(theirs.info) == 41
    found = theirs.L.numpy()[:, :40]
    np.testing.assert_allclose(ours.L.numpy()[:, :40], np.tril(found), rtol=1e-12)


def test_gradient_beside_a_matrix_that_failed():
    def of(m):
        x = m.tensor(INDEFINITE["batch"], dtype=m.float64, requires_grad=True)
        m.linalg.cholesky_ex(x).L[1].sum().backward()
        return x.grad[1].numpy()

    np.testing.assert_allclose(of(torchlike), of(torch), rtol=1e-13)


UNKNOWN = {
    "first": [[NAN, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]],
    "second": [[2.0, 2.0, 0.0], [2.0, NAN, 0.0], [0.0, 0.0, 1.0]],
    "below": [[0.0, NAN, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "none": [[0.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "batch": [[[NAN, 2.0], [2.0, 4.0]], [[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]]],
}


@pytest.mark.sampled(every=3, rest="full")
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize(
    "f",
    [
        lambda m, x: m.linalg.lu_factor_ex(x),
        lambda m, x: m.linalg.inv_ex(x)[1:],
        lambda m, x: m.linalg.solve_ex(x, m.ones_like(x))[1:],
        lambda m, x: m.linalg.slogdet(x),
    ],
    ids=["lu_factor_ex", "inv_ex", "solve_ex", "slogdet"],
)
def test_matrices_with_nan(f, name, jitted):
    agree(f, UNKNOWN[name], jitted=jitted)


def test_solutions_of_matrices_with_nan_are_nan():
    for m in (torch, torchlike):
        x = m.tensor(UNKNOWN["first"])
        assert m.linalg.inv(x).isnan().all()
        assert m.linalg.solve(x, m.tensor([0.0, 0.0, 1.0])).isnan().all()


SINGULAR = [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0], [2.0, 4.0]]]


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize(
    "f",
    [
        lambda m, x: m.linalg.cholesky_ex(-x, check_errors=True),
        lambda m, x: m.linalg.cholesky(-x),
        lambda m, x: m.linalg.inv_ex(x, check_errors=True),
        lambda m, x: m.linalg.inv(x),
        lambda m, x: m.linalg.lu_factor_ex(x, check_errors=True),
        lambda m, x: m.linalg.lu_factor(x),
        lambda m, x: m.linalg.solve_ex(x, m.ones_like(x), check_errors=True),
        lambda m, x: m.linalg.solve(x, m.ones_like(x)),
        lambda m, x: m.cholesky_inverse(x * 0),
    ],
)
def test_words(f, batch):
    def said(m):
        with pytest.raises(RuntimeError) as raised:
            f(m, m.tensor(SINGULAR if batch else SINGULAR[1]))
        return str(raised.value), isinstance(raised.value, m.linalg.LinAlgError)

    assert said(torchlike) == said(torch)


@pytest.mark.parametrize("order", [None, 2, -2, 1, float("inf"), "fro", "nuc", 3, 1.5, "abc"])
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3), (3, 0), (2, 0, 3), (3, 2), (3,)])
def test_condition_numbers_of_what_has_none(shape, order):
    def said(m):
        try:
            found = m.linalg.cond(m.zeros(shape), order)
        except (RuntimeError, ValueError) as refusal:
            return type(refusal).__name__, str(refusal)
        return tuple(found.shape), found.tolist()

    np.testing.assert_equal(said(torchlike), said(torch))
