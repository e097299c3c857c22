"""Work is counted as loops do it: what XLA's own count says, times the places of a fused value."""

import jax
import jax.numpy as jnp
import pytest

from benchmarks.hlo_work import work

N = 64
IMAGE = jnp.ones((2, N, N), "float32")


def _of(function, *arrays):
    return work(jax.jit(function).lower(*arrays).compile().as_text())


def test_elements_times_their_cost():
    assert _of(lambda x: x * x + x, IMAGE) == 2 * IMAGE.size
    assert _of(jnp.tanh, IMAGE) == 20 * IMAGE.size
    assert _of(lambda x: x.T, IMAGE) == 0


def test_products_and_sums():
    x = jnp.ones((16, 32), "float32")
    assert _of(lambda a, b: a @ b.T, x, x) == 2 * 16 * 16 * 32
    assert _of(lambda a: a.sum(1), x) == x.size


def test_a_loop_is_its_turns():
    def ten(x):
        return jax.lax.fori_loop(0, 10, lambda _, y: jnp.tanh(y), x)

    counted = _of(ten, IMAGE) - 10 * _of(jnp.tanh, IMAGE)
    assert 0 <= counted < 100  # what the loop counts with


def test_a_conditional_is_its_dearer_branch():
    def chosen(flag, x):
        return jax.lax.cond(flag, jnp.tanh, lambda x: x + 1, x)

    assert 20 * IMAGE.size <= _of(chosen, True, IMAGE) <= 20 * IMAGE.size + 10


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="XLA's fusion on the CPU")
def test_what_a_fusion_reads_at_several_places_counts_for_each():
    index = jnp.arange(N) // 2

    def read(x):
        return sum(jnp.take(x * x * x, (index + k) % N, 2) for k in range(4))

    compiled = jax.jit(read).lower(IMAGE).compile()
    assert work(compiled.as_text()) > 1.5 * _of(lambda x: x * x * x, IMAGE)
