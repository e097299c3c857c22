"""Running sums in blocks: the numbers, gradients and infinities of the plain form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike._ops.reduce.sums import running

SHAPES = [((20, 7), 1), ((20, 7), 0), ((2, 3000), 1), ((3000, 2), 0), ((300, 130), 1), ((1, 5), 1)]


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128"])
def test_sums_are_those_of_numpy(shape, axis, dtype):
    x = (np.random.default_rng(0).standard_normal(shape) * 9).astype(dtype)
    found = jax.jit(running, static_argnums=1)(x, axis)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.cumsum(x, axis), rtol=1e-9, atol=1e-9)


def test_an_infinity_reaches_what_follows_and_nothing_before():
    x = np.ones((16, 400))
    x[:, 200] = np.inf
    x[3, 300] = -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(running(x, 1), np.cumsum(x, 1))


@pytest.mark.parametrize("of", [jax.jit, jax.vmap])
def test_gradients_run_backwards(of):
    x = np.random.default_rng(0).standard_normal((16, 400))
    found = jax.grad(lambda x: jnp.sum(of(lambda x: running(x, x.ndim - 1))(x) ** 2))(x)
    sums = 2 * np.cumsum(x, 1)
    np.testing.assert_allclose(found, np.cumsum(sums[:, ::-1], 1)[:, ::-1], rtol=1e-9)


def test_rows_of_some_length_are_added_in_one_loop_each():
    """XLA's own form is log(n) passes, whose work grows with the length of a row."""
    x = np.zeros((16, 1000), np.float32)
    text = jax.jit(running, static_argnums=1).lower(x, 1).compile().as_text()
    assert "reduce-window" not in text
    assert '"known_trip_count":{"n":"128"' in text


@pytest.mark.parametrize("compiled", [False, True])
def test_a_long_running_sum_is_as_exact_as_single_precision_allows(compiled):
    x = np.random.default_rng(0).random(200_000, dtype=np.float32)
    cumsum = torch.jit(torch.cumsum) if compiled else torch.cumsum
    found = cumsum(torch.tensor(x), 0)
    np.testing.assert_allclose(found.numpy(), np.cumsum(x, dtype=np.float64), rtol=5e-7)
