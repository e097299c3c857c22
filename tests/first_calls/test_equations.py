"""Equations on slots: calls are inlined, and what changes nothing is left out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from torchlike._runtime.first_calls.equations import SlotEquations
from torchlike._runtime.first_calls.interpreter import EvaluationPlan


def traced(function, *arrays):
    with jax.disable_jit(False):
        return jax.make_jaxpr(function)(*arrays)


def names(closed, known=None):
    return [eqn.name for eqn in SlotEquations(closed, known).needed()]


X = jnp.asarray([[1.0, -2.0], [jnp.nan, jnp.inf]])


def test_calls_are_inlined_each_time_anew():
    inner = jax.jit(lambda x: jnp.sin(x) + 1)
    closed = traced(lambda x: inner(inner(x)), X)
    assert names(closed) == ["sin", "add", "sin", "add"]
    x = np.asarray([0.5, -2.0], np.float32)
    (found,) = EvaluationPlan(closed).function({})(x)
    np.testing.assert_allclose(found, np.sin(np.sin(x) + 1) + 1, rtol=1e-6)


@pytest.mark.sampled(every=3)
@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 1.0,
        lambda x: 1.0 * x,
        lambda x: x / 1.0,
        lambda x: lax.max(x, jnp.full((), -jnp.inf, x.dtype)),
        lax.stop_gradient,
        lambda x: lax.optimization_barrier(x),
        lambda x: lax.convert_element_type(x, x.dtype),
    ],
)
def test_what_changes_nothing_is_no_step(function):
    plan = EvaluationPlan(traced(function, X))
    assert len(plan) == 0
    (found,) = plan.function({})(np.asarray(X))
    np.testing.assert_array_equal(found, function(X))


@pytest.mark.parametrize(
    ("function", "x"),
    [
        (lambda x: x * 2.0, X),
        (lambda x: x + 0.0, X),  # -0.0 + 0.0 is 0.0
        (lambda x: 1.0 / x, X),
        (lambda x: x * (1 + 0j), X.astype(np.complex64)),  # infinity times 1 + 0j has a NaN
        (lambda x: x * 1.0, jnp.ones((), np.int32)),  # another dtype
    ],
)
def test_what_changes_something_is_one(function, x):
    assert len(EvaluationPlan(traced(function, x))) > 0


def test_nobody_computes_what_nobody_needs():
    def function(x):
        jnp.cos(x)
        return jnp.sin(x)

    assert names(traced(function, X)) == ["sin"]


def test_a_known_operand_is_a_constant():
    closed = traced(lambda x, a: x + x * a, X, 1.0)
    assert names(closed).count("mul") == 1
    assert names(closed, {1: 1.0}).count("mul") == 0
    plan = EvaluationPlan(closed)
    assert plan.knowing({1: 1.0}) is plan.knowing({1: 1.0})
    (found,) = plan.knowing({1: 1.0}).function({})(np.asarray(X), None)
    np.testing.assert_array_equal(found, np.asarray(X) * 2)


def test_known_numbers_decide_what_changes_nothing():
    def function(x, a):
        factor = lax.convert_element_type(a, x.dtype)
        return lax.select(factor == 0, jnp.zeros_like(x), factor * x) + x

    closed = traced(function, X, 1)
    plan = EvaluationPlan(closed)
    assert len(plan.knowing({1: 1})) == 1
    for a in (0, 1, 3):
        (found,) = plan.knowing({1: a}).function({})(np.asarray(X), None)
        np.testing.assert_array_equal(found, function(X, a))


def test_last_dimensions_broadcast_by_themselves():
    closed = traced(lambda x, y: x * lax.broadcast_in_dim(y, (2, 2), (1,)), X, X[0])
    plan = EvaluationPlan(closed)
    assert len(plan) == 1
    (found,) = plan.function({})(np.asarray(X), np.asarray(X[0]))
    np.testing.assert_array_equal(found, X * X[0])
    first = traced(lambda x, y: x * lax.broadcast_in_dim(y, (2, 2), (0,)), X, X[0])
    (found,) = EvaluationPlan(first).function({})(np.asarray(X), np.asarray(X[0]))
    np.testing.assert_array_equal(found, X * X[0][:, None])


def test_plans_of_one_structure_share_their_code():
    of_sum, of_product = (
        EvaluationPlan(traced(f, X, X)).function({})
        for f in (lambda x, y: x + y, lambda x, y: x * y)
    )
    assert of_sum.__code__ is of_product.__code__
    assert of_sum(3, 4) == [7]
    assert of_product(3, 4) == [12]


def test_a_long_plan_runs_as_a_loop():
    def function(x):
        for n in range(40):
            x = jnp.sin(x) + n
        return x

    plan = EvaluationPlan(traced(function, X))
    assert len(plan) == 80
    (found,) = plan.function({})(np.ones((2, 2), np.float32))
    np.testing.assert_allclose(found, function(jnp.ones((2, 2))), rtol=1e-5)


def test_a_long_plan_becomes_code_once_it_is_used(monkeypatch):
    written = []
    as_code = EvaluationPlan._as_code
    monkeypatch.setattr(
        EvaluationPlan,
        "_as_code",
        lambda plan, steps: written.append(len(steps)) or as_code(plan, steps),
    )

    def repeated(x):
        for _ in range(20):
            x = x * 3 - 1
        return x

    x = np.arange(4.0) / 2
    function = EvaluationPlan(traced(repeated, x)).function({})
    found = [function(x)[0] for _ in range(29)]
    assert written == []
    found += [function(x)[0] for _ in range(3)]
    assert written == [40]
    for y in found:
        np.testing.assert_array_equal(y, repeated(x))
