"""Running sums, products, extrema and log-sum-exps: by blocks in programs of XLA for the CPU."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike._ops.reduce.running import folded, running_sum

SHAPES = [((20, 7), 1), ((20, 7), 0), ((2, 3000), 1), ((3000, 2), 0), ((300, 130), 1), ((1, 5), 1)]


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128"])
def test_sums_are_those_of_numpy(shape, axis, dtype):
    x = (np.random.default_rng(0).standard_normal(shape) * 9).astype(dtype)
    found = jax.jit(running_sum, static_argnums=1)(x, axis)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.cumsum(x, axis), rtol=1e-9, atol=1e-9)


def test_an_infinity_reaches_what_follows_and_nothing_before():
    x = np.ones((16, 400))
    x[:, 200] = np.inf
    x[3, 300] = -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(running_sum(x, 1), np.cumsum(x, 1))


@pytest.mark.parametrize("of", [jax.jit, jax.vmap])
def test_gradients_run_backwards(of):
    x = np.random.default_rng(0).standard_normal((16, 400))
    found = jax.grad(lambda x: jnp.sum(of(lambda x: running_sum(x, x.ndim - 1))(x) ** 2))(x)
    sums = 2 * np.cumsum(x, 1)
    np.testing.assert_allclose(found, np.cumsum(sums[:, ::-1], 1)[:, ::-1], rtol=1e-9)


def test_rows_of_some_length_are_added_in_one_loop_each():
    """XLA's own form is log(n) passes, whose work grows with the length of a row."""
    x = np.zeros((16, 1000), np.float32)
    text = jax.jit(running_sum, static_argnums=1).lower(x, 1).compile().as_text()
    assert "reduce-window" not in text
    assert '"known_trip_count":{"n":"128"' in text


@pytest.mark.parametrize("compiled", [False, True])
def test_a_long_running_sum_is_as_exact_as_single_precision_allows(compiled):
    x = np.random.default_rng(0).random(200_000, dtype=np.float32)
    cumsum = torch.jit(torch.cumsum) if compiled else torch.cumsum
    found = cumsum(torch.tensor(x), 0)
    np.testing.assert_allclose(found.numpy(), np.cumsum(x, dtype=np.float64), rtol=5e-7)


def lowered_by_rows(function, *args):
    """Return the result, and assert that it is computed by a loop over the rows of blocks."""
    compiled = jax.jit(function).lower(*args).compile()
    assert '"known_trip_count":{"n":"128"' in compiled.as_text()
    return compiled(*args)


@pytest.mark.parametrize("name", ["cumprod", "cummax", "cummin", "logcumsumexp"])
def test_compiled_folds_by_blocks_are_those_of_eager_code(name):
    values = np.random.default_rng(0).standard_normal((16, 300)).astype(np.float32)
    values[0, 150], values[1, 10], values[2, 5], values[3, :4] = np.nan, np.inf, -np.inf, -np.inf
    x = torch.tensor(values)

    def of(x):
        return getattr(torch, name)(x, 1)

    found, expected = torch.jit(of, warmup=0)(x), of(x)
    if name.startswith("cumm"):
        np.testing.assert_array_equal(found[1].numpy(), expected[1].numpy())
        found, expected = found[0], expected[0]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=2e-5, atol=2e-38)


def test_the_loop_is_made_for_each_kind_of_fold():
    x = np.ones((16, 300), np.float32)
    lowered_by_rows(lambda x: folded(jnp.maximum, x, 1, -np.inf), x)
    lowered_by_rows(lambda x: folded(jnp.logaddexp, x, 1, -np.inf), x)


@pytest.mark.parametrize("shape", [(16, 300), (2, 9)])
def test_the_gradient_of_a_running_logsumexp_has_each_share(shape):
    values = np.random.default_rng(0).standard_normal(shape) * 20
    x = torch.tensor(values, requires_grad=True)
    by = torch.arange(1.0, x.numel() + 1, dtype=torch.float64).reshape(shape)

    def slope(x):
        return torch.autograd.grad((x.logcumsumexp(1) * by).sum(), x)[0]

    shares = np.tril(np.ones((shape[1],) * 2)) * np.exp(
        values[:, None] - np.logaddexp.accumulate(values, 1)[:, :, None]
    )
    expected = np.einsum("bij,bi->bj", shares, by.numpy())
    np.testing.assert_allclose(slope(x).numpy(), expected, rtol=1e-9)
    np.testing.assert_allclose(torch.jit(slope, warmup=0)(x).numpy(), expected, rtol=1e-9)
