"""What must be computed once: a loop of its own in XLA's compiled text, under every transform."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from torchlike._ops.unfused import unfused


def _long(x):
    return jnp.sin(x) * jnp.cos(x) + 1


def _read_twice(apart):
    def function(x):
        y = unfused(_long, x) if apart else _long(x)
        return y[1:] * 2, y[:-1] + 3

    return function


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="other backends fuse otherwise")
@pytest.mark.parametrize(("apart", "times"), [(True, 1), (False, 2)])
def test_it_is_computed_once(apart, times):
    """Where XLA would compute it for each reader: once it does not, ``unfused`` can go."""
    x = jnp.linspace(0.0, 1.0, 4096, dtype="float32")
    text = jax.jit(_read_twice(apart)).lower(x).compile().as_text()
    assert text.count(" sine(") == times


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
@pytest.mark.parametrize(
    "of",
    [lambda f: f, jax.vmap, jax.jacfwd, lambda f: jax.grad(lambda x: f(x).sum())],
    ids=["values", "vmap", "jvp", "grad"],
)
def test_values_and_derivatives(of, transform):
    x = jnp.linspace(-2.0, 2.0, 12).reshape(3, 4)
    found = transform(of(lambda x: unfused(_long, x)))(x)
    np.testing.assert_allclose(found, transform(of(_long))(x), rtol=1e-12, atol=1e-12)


def test_a_batch_of_conditionals_is_still_one():
    """Under vmap the condition is not batched, or both branches would be computed."""
    text = str(jax.make_jaxpr(jax.vmap(lambda x: unfused(_long, x)))(jnp.ones((3, 4))))
    assert "cond[" in text
    assert "select_n" not in text
