"""When a form is due to be compiled: shared calls, patience, small and large work."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from torchlike._runtime import first_calls
from torchlike._runtime.first_calls import cost
from torchlike._runtime.first_calls.statistics import record_of


def doubling():
    """A function of its own: JAX keeps programs by the function."""
    return lambda x: x * 2


def test_forms_of_one_computation_share_their_calls(request, monkeypatch):
    monkeypatch.setattr(cost, "_MOST_CALLS", 3)
    name = request.node.nodeid
    plain = first_calls.jit(doubling(), name=name)
    donating = first_calls.jit(doubling(), name=name, like=plain, donate_argnums=0)
    x = jnp.arange(4.0)
    for _ in range(3):
        plain(x)
    np.testing.assert_array_equal(donating(jnp.arange(4.0)), [0, 2, 4, 6])
    assert (record_of(name).calls, record_of(name).compiled) == (3, 1)


@pytest.mark.parametrize(("patience", "calls"), [(0.5, 2), (2, 8)])
def test_patience_is_a_factor(request, monkeypatch, patience, calls):
    monkeypatch.setattr(cost, "_MOST_CALLS", 4)
    name = request.node.nodeid
    form = first_calls.jit(doubling(), name=name, patience=lambda arguments: patience)
    for _ in range(10):
        form(jnp.arange(4.0))
    assert (record_of(name).calls, record_of(name).compiled) == (calls, 1)


def calls_of(n):
    """How often NumPy computes a chain of functions of n elements."""
    made = jax.make_jaxpr(lambda x: jnp.sin(jnp.exp(x)) + x)(jnp.ones(n))
    return cost.worth(made.jaxpr).calls


def test_large_arrays_are_due_sooner_than_small_ones():
    found = [calls_of(n) for n in (64, 1 << 14, 1 << 18, 1 << 22)]
    assert found == sorted(found, reverse=True)
    assert found[0] == cost._MOST_CALLS > found[1] > found[2] > found[3]


def test_what_has_large_arrays_never_stays_with_numpy():
    jaxpr = jax.make_jaxpr(lambda x: x + x)
    assert cost.worth(jaxpr(jnp.ones(64)).jaxpr).most_steps >= 1
    assert cost.worth(jaxpr(jnp.ones(cost._LARGE)).jaxpr).most_steps < 0


def test_a_call_counts_for_the_turns_of_its_loop(request, monkeypatch):
    """Twenty turns take as long as some calls without any."""
    monkeypatch.setattr(cost, "_MOST_CALLS", 9)
    name = request.node.nodeid
    form = first_calls.jit(
        lambda n, x: jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, x)),
        name=name,
    )
    x = jnp.ones(2)
    for _ in range(3):
        form(0, x)
    assert (record_of(name).calls, record_of(name).compiled) == (3, 0)
    for _ in range(3):
        np.testing.assert_array_equal(form(20, x)[1], [2.0**20] * 2)
    assert (record_of(name).calls, record_of(name).compiled) == (4, 1)
