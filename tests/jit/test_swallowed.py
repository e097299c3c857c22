"""A capture ends with what it refused, whatever user code does with the error.

The catalogue of `tests.jit.swallowing` are functions that ask for a value that a capture has not,
and catch the refusal.
"""

import contextlib
import functools
import threading
import time
import warnings

import jax
import jax.numpy as jnp
import pytest

import torchlike as torch
from tests.jit.swallowing import CATALOGUE, X, except_exception, scaled

quietly = pytest.mark.filterwarnings(
    "ignore:no total", "ignore::pytest.PytestUnraisableExceptionWarning"
)


@pytest.mark.sampled(every=12)
@quietly
@pytest.mark.parametrize("function", CATALOGUE, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "wrap", [torch.jit, functools.partial(torch.compile, fullgraph=True)], ids=["jit", "fullgraph"]
)
def test_is_an_error(function, wrap):
    compiled = wrap(function)
    for _ in range(2):
        with pytest.raises(torch.jit.JitCaptureError, match=r"swallowing\.py:\d+"):
            compiled(X)


@pytest.mark.sampled(every=5)
@quietly
@pytest.mark.parametrize("function", CATALOGUE, ids=lambda f: f.__name__)
def test_runs_eagerly_with_a_warning(function):
    expected = function(X)
    compiled = torch.compile(function)
    with pytest.warns(RuntimeWarning, match="runs eagerly"):
        found = compiled(X)
    assert compiled.fell_back
    assert found.tolist() == expected.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the modules, which are compiled by themselves now
        assert compiled(X + 1).tolist() == function(X + 1).tolist()


def legitimate_value_error(x):
    try:
        if x.dim() == 1:
            raise ValueError("a vector")
        y = x
    except ValueError:
        y = x[None]
    return y * 2


def shape_as_a_probe(x):
    try:
        return x.view(2, 2)
    except RuntimeError:
        return x.view(3, 1)


def dtype_as_a_probe(x):
    try:
        return torch.nn.functional.embedding(x, x)
    except Exception:
        return x * 3


def missing_attribute(x):
    return x * getattr(x, "scale", 2.0)


def numpy_that_needs_detach(x):
    with contextlib.suppress(RuntimeError):
        (x.detach().requires_grad_() * 1).numpy()
    return x + 1


def a_try_around_a_branch(x):
    try:
        y = x * 2 if x.sum() > 0 else x * 3
    except Exception:
        y = x * 0
    return y


def a_try_around_a_branch_statement(x):
    try:
        if x.sum() > 0:
            y = x * 2
        else:
            y = x * 3
    finally:
        x = x + 1
    return y + x


def _doubled_if_positive(x):
    if x.sum() > 0:
        x = x * 2
    return x


def a_branch_in_a_called_function(x):
    try:
        return _doubled_if_positive(x)
    except RuntimeError:
        return x * 0


def a_name_that_is_missing_anyway(x):
    try:
        k = missing_name
    except NameError:
        k = 2.0
    if x.sum() > 100:
        x = x * 2
    return x * k


def a_thread_of_a_library(x):
    threading.Timer(0, time.sleep, (0,)).start()
    return x + 1


def a_loop_in_a_try(x):
    try:
        while x.abs().sum() < 20:
            x = x * 2
    except Exception:
        x = x * 0
    return x


def what_jax_catches_itself(x):
    return torch.from_jax(
        jnp.power(x.jax(), jnp.asarray(2.0))
        + jax.lax.fori_loop(0, jnp.int32(x.jax()[2]), lambda i, s: s + i, 0)
    )


LEGITIMATE = [
    legitimate_value_error,
    shape_as_a_probe,
    dtype_as_a_probe,
    missing_attribute,
    numpy_that_needs_detach,
    a_try_around_a_branch,
    a_try_around_a_branch_statement,
    a_branch_in_a_called_function,
    a_loop_in_a_try,
    what_jax_catches_itself,
    a_name_that_is_missing_anyway,
    a_thread_of_a_library,
]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("function", LEGITIMATE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("wrap", [torch.jit, torch.compile], ids=["jit", "compile"])
def test_other_errors_may_be_caught(function, wrap):
    compiled = wrap(function)
    for x in (X, X + 1, X * -1):
        assert compiled(x).tolist() == function(x).tolist()
    assert compiled.compiles == 1
    assert not compiled.fell_back


@pytest.mark.parametrize("asked", [True, False])
def test_error_on_graph_break_speaks_of_refusals_caught_inside(asked):
    @torch._dynamo.error_on_graph_break(asked)
    def f(x):
        try:
            return x * x.sum().item()
        except RuntimeError:
            return x

    compiled = torch.compile(f)
    if asked:
        with pytest.raises(torch.jit.JitCaptureError):
            compiled(X)
    else:
        with pytest.warns(RuntimeWarning, match="runs eagerly"):
            assert compiled(X).tolist() == (X * 3).tolist()


def test_the_first_refusal_is_told_rather_than_what_came_of_it():
    def f(x):
        try:
            k = x.sum().item()
        except RuntimeError as error:
            raise ValueError("no sum") from error
        return x * k

    with pytest.raises(torch.jit.JitCaptureError, match=r"\.item\(\)"):
        torch.jit(f)(X)


def test_an_interrupt_stays_one():
    def f(x):
        with contextlib.suppress(RuntimeError):
            x.sum().item()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        torch.jit(f)(X)


def test_what_the_code_changed_is_put_back():
    log = []

    def f(x):
        with contextlib.suppress(RuntimeError):
            x.sum().item()
        log.append(1)
        x.add_(1)
        return x

    x = torch.zeros(2)
    with pytest.raises(torch.jit.JitCaptureError):
        torch.jit(f)(x)
    assert (log, x.tolist()) == ([], [0.0, 0.0])


def test_a_number_that_makes_a_caught_error_is_compiled_for():
    @torch.jit(dynamic=True)
    def f(x, n):
        try:
            k = 1 / n
        except ZeroDivisionError:
            k = 7.0
        return x * k

    assert [f(X, n)[0].item() for n in (0, 2, 0, 4, 0.0)] == [7.0, 0.5, 7.0, 0.25, 7.0]


def test_trace_refuses_it_too():
    with pytest.raises(torch.jit.JitCaptureError, match=r"float\(tensor\)"):
        torch.jit.trace(except_exception, (X,))


def test_export_has_the_number_as_a_part_of_the_graph():
    exported = torch.export.export(scaled, (X,)).module()
    for x in (X, 2 * X):
        assert exported(x).tolist() == scaled(x).tolist()
