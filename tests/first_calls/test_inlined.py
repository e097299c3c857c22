"""Within the trace of a program a form's equations are taken over, by the avals of its operands."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from torchlike._ops import loops
from torchlike._runtime import first_calls
from torchlike._runtime.first_calls import inlined
from torchlike._runtime.inlining import AT_ONCE
from torchlike._runtime.jax_private import tracing
from torchlike._runtime.jax_private.equations import walk
from torchlike._runtime.jaxprs import make_jaxpr

pytestmark = pytest.mark.skipif(not tracing.TAKES_OVER, reason="this JAX has no way")


@pytest.fixture
def form():
    """Return a form, and the shapes for which its function ran."""
    runs = []

    def function(x, y):
        runs.append(x.shape)
        return {"sum": x + y, "product": jnp.sin(x) * y}

    return first_calls.jit(function, inline=AT_ONCE), runs


@pytest.mark.parametrize("y", [jnp.arange(3.0), 2, 2.5, True], ids=str)
def test_equations_are_those_that_jax_writes(form, y):
    compiled, _ = form
    plain = jax.jit(lambda x, y: {"sum": x + y, "product": jnp.sin(x) * y}, inline=True)
    x = jnp.linspace(0, 1, 3)
    found, expected = (jax.make_jaxpr(lambda x, f=f: f(x, y))(x) for f in (compiled, plain))
    assert str(found.jaxpr) == str(expected.jaxpr)
    a, b = jax.jit(lambda x: compiled(x, y))(x), plain(x, y)
    for name in b:
        np.testing.assert_array_equal(a[name], b[name])


def test_a_form_is_traced_once_for_each_avals(form):
    compiled, runs = form

    def thrice(x):
        for _ in range(3):
            x = compiled(x, x)["sum"]
        return x

    jax.make_jaxpr(thrice)(jnp.ones(3))
    jax.make_jaxpr(lambda x: thrice(x) + 1)(jnp.ones(3))
    assert runs == [(3,)]
    jax.make_jaxpr(thrice)(jnp.ones(4))
    assert runs == [(3,), (4,)]


def test_transforms_and_numpy_arrays_are_left_to_jax(form, monkeypatch):
    compiled, _ = form
    taken = []

    def noted(*what):
        taken.append(what)
        return tracing.taken_over(*what)

    monkeypatch.setattr(inlined, "taken_over", noted)
    x = jnp.ones((2, 3))
    jax.vmap(lambda row: compiled(row, row)["sum"])(x)
    jax.grad(lambda v: compiled(v, v)["product"].sum())(x)
    jax.make_jaxpr(lambda v: compiled(v, np.ones(3))["sum"])(x)
    assert not taken
    jax.make_jaxpr(lambda v: compiled(v, v)["sum"])(x)
    assert len(taken) == 1


def test_a_trace_that_raises_lets_its_arrays_go():
    held, x = [], jnp.arange(3.0)

    def raises():
        held.append(jnp.sin(x))  # a tracer, which refers to the trace
        raise ValueError

    with pytest.raises(ValueError):
        make_jaxpr(raises)
    assert tracing.constant_of(held[0]) is held[0]
    assert not held[0]._trace.frame.constvar_to_val


def test_what_is_computed_at_once_is_left_to_jax(form):
    """As state that a trace makes and that outlives it: not even by a trace of the form that knows
    its avals already."""
    compiled, _ = form
    x, found = jnp.linspace(0, 1, 3), []

    def traced():
        staged = compiled(x, x)["sum"]
        with jax.ensure_compile_time_eval():
            found.append(compiled(x, x)["sum"])
        return staged

    closed = jax.make_jaxpr(traced)()
    assert not isinstance(found[0], jax.core.Tracer)
    np.testing.assert_array_equal(found[0], x + x)
    assert len(closed.jaxpr.eqns) == 3, closed  # of a dictionary, whose product nobody reads


def test_arrays_that_a_function_holds_are_those_of_the_program():
    held = jnp.linspace(0, 1, 3)
    function = first_calls.jit(lambda x: (x * held, x), inline=AT_ONCE)
    x = jnp.ones(3)
    closed = jax.make_jaxpr(lambda: function(x))()
    assert {id(held), id(x)} == set(map(id, closed.consts))
    a, b = jax.jit(lambda x: function(x))(x)
    np.testing.assert_array_equal(a, held)
    np.testing.assert_array_equal(b, x)


def primitives(function, *args):
    return [e.primitive.name for e in walk(jax.make_jaxpr(function)(*args).jaxpr)]


def test_of_the_library_functions_within_are_no_programs_and_loops_stay_loops():
    def function(x):
        x = jnp.where(x > 0, jnp.clip(x, 0, 1), jax.jit(jnp.sin)(x))
        return loops.scan(lambda carry, row: (carry + row, carry * row), x[0], x)

    x = jnp.linspace(-2, 2, 5)
    compiled = first_calls.jit(function, of_library=True, inline=AT_ONCE)
    found = primitives(compiled, x)
    assert found.count("scan") == 1
    assert not {"jit", "pjit"}.intersection(found)
    a, b = jax.jit(lambda x: compiled(x))(x), jax.jit(function)(x)
    for one, other in zip(a, b, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_loop_that_would_be_unrolled_is_left_to_jax():
    compiled = first_calls.jit(
        lambda x: jax.lax.fori_loop(0, 150, lambda i, x: jnp.sin(x) + i, x),
        of_library=True,
        inline=AT_ONCE,
    )
    assert primitives(compiled, jnp.ones(3)).count("sin") == 1


def test_an_error_is_that_of_jax():
    compiled = first_calls.jit(lambda x: x + 1 / 0, of_library=True, inline=AT_ONCE)
    with pytest.raises(ZeroDivisionError):
        jax.make_jaxpr(compiled)(jnp.ones(3))
