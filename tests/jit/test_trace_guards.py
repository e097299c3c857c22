"""What a user's JAX function reads in Python is guarded, eagerly and inside a jitted function."""

import gc
import sys

import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch

FACTOR = 2.0


@pytest.fixture(autouse=True)
def _factor():
    yield
    set_factor(2.0)


def set_factor(value):
    globals()["FACTOR"] = value


def scaled(x):
    return jnp.sum(x * FACTOR) ** 2


def gradient(f, w):
    w.grad = None
    f(w).backward()
    return w.grad.tolist()


def expected(factor):
    return [2 * 2 * factor * factor] * 2


@pytest.mark.parametrize("warm", [False, True], ids=["first used jitted", "first used eagerly"])
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jitted"])
def test_a_global_that_changes_is_seen(warm, jitted):
    op, w = torch.from_jax_function(scaled), torch.ones(2, requires_grad=True)
    if warm:
        gradient(op, w)
    f = torch.jit(lambda x: op(x)) if jitted else op
    for factor in (2.0, 3.0, 2.0, 5.0):
        set_factor(factor)
        for _ in range(2):
            assert gradient(f, w) == expected(factor)
    if jitted:
        assert f.compiles == 3  # going back to an earlier value finds its program again


@pytest.mark.exhaustive
def test_a_closure_and_a_helper_are_seen():
    k = [2.0]

    def helper(x):
        return x * k[0]

    op = torch.from_jax_function(lambda x: helper(x) + 0)
    f = torch.jit(lambda x: op(x))
    for value in (2.0, 4.0):
        k[0] = value
        assert f(torch.ones(2)).tolist() == op(torch.ones(2)).tolist() == [value] * 2


def test_a_change_between_forward_and_backward_is_refused():
    w = torch.ones(2, requires_grad=True)
    y = torch.from_jax_function(scaled)(w)
    set_factor(3.0)
    with pytest.raises(RuntimeError, match="`FACTOR`, which the function read in its forward"):
        y.backward()


def test_unchanged_values_trace_once_and_counting_is_no_change():
    traces = []

    @torch.from_jax_function
    def f(x):
        traces.append(1)
        return x * FACTOR

    for _ in range(3):
        np.testing.assert_allclose(f(torch.ones(2)).numpy(), [2, 2], rtol=1e-6)
    assert len(traces) == 1


def test_the_profiler_and_the_collector_are_as_before():
    before = sys.getprofile()

    @torch.from_jax_function
    def f(x):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        f(torch.ones(2))
    assert sys.getprofile() is before
    assert gc.isenabled()
