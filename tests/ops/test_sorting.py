"""sort, topk, median, mode, quantile, searchsorted, unique and counts."""

import jax
import numpy as np
import pytest

import torchlike as torch
from torchlike._ops.reduce.sorting import sorted_with_index

X = torch.tensor([[3.0, 1.0, 2.0, 1.0], [0.0, -1.0, 5.0, 5.0]])
N = X.numpy().copy()
NAN = float("nan")


@pytest.mark.parametrize("descending", [False, True])
def test_sort_is_stable(run, descending) -> None:
    values, indices = run(lambda x: tuple(x.sort(1, descending)), X)
    order = np.argsort(-N if descending else N, 1, kind="stable")
    np.testing.assert_array_equal(indices.numpy(), order)
    np.testing.assert_array_equal(values.numpy(), np.take_along_axis(N, order, 1))


def test_nan_counts_as_the_largest() -> None:
    x = torch.tensor([1.0, NAN, -1.0])
    assert x.argsort().tolist() == [2, 0, 1]
    assert x.argsort(descending=True).tolist() == [1, 0, 2]
    assert x.topk(1).indices.item() == 1
    assert x.topk(2, largest=False).indices.tolist() == [2, 0]
    assert torch.isnan(x.median())
    assert x.nanmedian().item() == -1


def test_topk_sends_the_gradient_to_what_it_took(run) -> None:
    def step(x):
        x = x.detach().requires_grad_()
        x.topk(2, 1).values.sum().backward()
        return x.grad

    np.testing.assert_array_equal(run(step, X).numpy(), [[1, 0, 1, 0], [0, 0, 1, 1]])


@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.int8, torch.int64, torch.bfloat16, torch.bool]
)
def test_smallest_of_other_dtypes(dtype) -> None:
    x = torch.tensor([1, 0, 1]).to(dtype)
    found = x.topk(1, largest=False)
    assert found.values.item() == 0
    assert found.indices.item() == 1


def test_order_statistics(run) -> None:
    assert run(lambda x: x.median(1).values, X).tolist() == [1, 0]
    assert run(lambda x: x.kthvalue(3, 1).values, X).tolist() == [2, 5]
    assert run(lambda x: tuple(x.mode(1)), X)[0].tolist() == [1, 5]
    found = run(lambda x: x.quantile(torch.tensor([0.0, 0.3, 1.0]), 1), X)
    np.testing.assert_allclose(found.numpy(), np.quantile(N, [0, 0.3, 1], 1), rtol=1e-6)
    assert torch.tensor([NAN, 1.0, 2.0]).nanquantile(0.5).item() == 1.5


def test_searching(run) -> None:
    edges = torch.tensor([0.0, 1.0, 3.0])
    for side in ("left", "right"):
        found = run(lambda e, x, s=side: torch.searchsorted(e, x, side=s), edges, X)
        np.testing.assert_array_equal(found.numpy(), np.searchsorted(edges.numpy(), N, side))
    assert torch.bucketize(torch.tensor([1.0, 0.5]), edges, right=True).tolist() == [2, 1]


def test_distinct_values_and_counts() -> None:
    x = torch.tensor([3, 1, 3, 2])
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == (
        [1, 2, 3],
        [2, 0, 2, 1],
        [1, 1, 2],
    )
    assert torch.tensor([1, 1, 2, 1]).unique_consecutive().tolist() == [1, 2, 1]
    assert torch.bincount(x, minlength=5).tolist() == [0, 1, 1, 2, 0]
    assert torch.isin(x, torch.tensor([3])).tolist() == [True, False, True, False]
    assert torch.tensor([1.5, 0.5], dtype=torch.bfloat16).unique().dtype is torch.bfloat16


def test_mistakes() -> None:
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        X.topk(5)
    with pytest.raises(RuntimeError, match=r"q must be in the range \[0, 1\]"):
        X.quantile(1.5)
    with pytest.raises(RuntimeError, match="only supports 1-d non-negative"):
        torch.bincount(torch.tensor([-1]))


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_nan_of_either_sign_is_the_largest(dtype, jitted) -> None:
    # 0 / 0 has the sign bit on x86, and log(-1) has not.
    nan = float("nan")
    x = torch.copysign(
        torch.tensor([nan, 1.0, nan, float("inf"), -1.0]), torch.tensor([-1.0, 1.0, 1.0, 1.0, -1.0])
    ).to(dtype)
    assert x.signbit().tolist() == [True, False, False, False, True]
    topk = torch.jit(torch.topk) if jitted else torch.topk
    assert topk(x, 4).indices.tolist() == [0, 2, 3, 1]
    assert topk(x, 5, largest=False).indices.tolist() == [4, 1, 3, 0, 2]


@pytest.mark.sampled(every=5)
@pytest.mark.skipif(jax.default_backend() != "cpu", reason="a form for XLA's CPU backend")
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8", "uint8", "bool"])
def test_elements_and_places_are_sorted_as_one_integer(dtype, descending):
    """Ties, both zeros, NaN of both signs, denormals: the order of the form with two operands."""
    x = (np.random.default_rng(0).standard_normal((8, 40)) * 3).astype(dtype)
    if x.dtype.kind == "f":
        x[:, ::5], x[:, 1::7], x[:, 2::9] = 0.0, -0.0, 1e-45
        x[:, 3], x[:, 7], x[:, 11], x[:, 13] = np.nan, -np.nan, np.inf, -np.inf
    compiled = jax.jit(sorted_with_index, static_argnums=(1, 2))
    values, index = compiled(x, 1, descending)
    # NumPy's order, NaN last; reversed before and after where the largest is first.
    row = np.argsort(x[:, ::-1] if descending else x, 1, kind="stable")
    expected = (x.shape[1] - 1 - row)[:, ::-1] if descending else row
    np.testing.assert_array_equal(index, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, 1))
    text = compiled.lower(x, 1, descending).compile().as_text()
    (line,) = (line for line in text.splitlines() if " sort(" in line)
    assert " s64[" in line
