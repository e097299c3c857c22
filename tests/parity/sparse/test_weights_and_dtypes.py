"""A weight of 0 in sums with sparse products, and the dtypes of products of sparse tensors."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torchlike  # noqa: E402
from tests.parity.oracle import compare  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")
NAN = math.nan
SUMS = {
    "addmm": lambda t, m: t.addmm(t.full((2, 2), NAN), m, t.ones(2, 2), beta=0),
    "addmm of a row": lambda t, m: t.addmm(t.full((2,), NAN), m, t.ones(2, 2), beta=0.0),
    "addmm_": lambda t, m: t.full((2, 2), NAN).addmm_(m, t.ones(2, 2), beta=0),
    "sparse.addmm": lambda t, m: t.sparse.addmm(t.full((2, 2), NAN), m, t.ones(2, 2), beta=0),
}


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
@pytest.mark.parametrize("name", SUMS)
def test_no_weight_lets_no_nan_through(name: str, layout: str) -> None:
    compare(lambda t: SUMS[name](t, getattr(t.eye(2), layout)()))


def test_of_compressed_ones_alone() -> None:
    def of_vectors(t: Any) -> Any:
        return t.addmv(t.full((2,), NAN), t.eye(2).to_sparse_csr(), t.ones(2), beta=0)

    def of_three(t: Any) -> Any:
        m = t.eye(2).to_sparse_csr()
        return t.addmm(m * NAN, m, m, beta=0).to_dense()

    compare(of_vectors)
    compare(of_three)


def test_what_has_no_weight_has_no_gradient() -> None:
    def gradient(t: Any) -> Any:
        x = t.full((2, 2), NAN, requires_grad=True)
        return t.autograd.grad(t.addmm(x, t.eye(2).to_sparse(), t.ones(2, 2), beta=0).sum(), x)

    compare(gradient)


def test_a_vector_and_coordinates() -> None:
    """PyTorch has no `addmv` of a matrix in coordinate form; a weight of 0 means the same in it."""
    matrix = torchlike.eye(2).to_sparse()
    found = torchlike.addmv(torchlike.full((2,), NAN), matrix, torchlike.ones(2), beta=0)
    assert found.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("dtype", "other"),
    [
        ("int8", "int64"),
        ("int8", "float32"),
        ("float16", "float64"),
        ("float32", "complex128"),
        ("bool", "int64"),
        ("uint8", "float64"),
    ],
)
@pytest.mark.parametrize("shapes", [((2,), ()), ((), (2,)), ((2,), (2,)), ((), ())], ids=str)
def test_dtypes_of_products(dtype: str, other: str, shapes: Any) -> None:
    def product(t: Any) -> Any:
        a, b = (
            t.full(shape, 1, dtype=getattr(t, d)).to_sparse()
            for shape, d in zip(shapes, (dtype, other), strict=True)
        )
        return (a * b).to_dense()

    compare(product)


def test_a_product_that_wraps_around() -> None:
    def product(t: Any) -> Any:
        return (t.tensor([100, 2], dtype=t.int8).to_sparse() * t.tensor(3).to_sparse()).to_dense()

    compare(product)
    assert product(torch).tolist() == [44, 6]
