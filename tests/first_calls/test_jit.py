"""first_calls.jit: who computes which call, and what a call gives."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike._runtime import first_calls
from torchlike._runtime.first_calls import cost
from torchlike._runtime.first_calls.settings import set_first_calls, settings
from torchlike._runtime.first_calls.statistics import record_of


@pytest.fixture
def name(request):
    """A name for the form, which no other test counts under."""
    return request.node.nodeid


def rows(*shape):
    return jnp.asarray(np.random.default_rng(0).standard_normal(shape, np.float32))


def test_calls_are_numpys_until_compiling_pays(name, monkeypatch):
    monkeypatch.setattr(cost, "_MOST_CALLS", 3)
    form = first_calls.jit(lambda x: x * 2 + 1, name=name)
    x = rows(4, 5)
    for _ in range(6):
        np.testing.assert_array_equal(form(x), np.asarray(x) * 2 + 1)
    record = record_of(name)
    assert (record.programs, record.calls, record.compiled) == (1, 3, 1)
    assert record.compiled_after == [3]


def test_one_call_suffices_while_a_loop_settles(name):
    form = first_calls.jit(lambda x: x * 2 + 1, name=name)
    x = rows(4, 5)
    form(x)
    with first_calls.settling():
        form(x)
        form(x)
    form(x)
    assert record_of(name).compiled_after == [2]
    assert record_of(name).calls == 2


def test_what_stays_with_numpy_stays_while_a_loop_settles(name):
    form = first_calls.jit(lambda x: x + 1, name=name)
    with first_calls.settling():
        for _ in range(4):
            assert isinstance(first_calls.call(form, np.ones(3, np.float32)), np.ndarray)
    assert record_of(name).compiled == 0


def test_an_op_on_small_tensors_makes_no_jitted_function(monkeypatch):
    made = []
    jit = jax.jit
    monkeypatch.setattr(
        jax, "jit", lambda *args, **kwargs: made.append(args) or jit(*args, **kwargs)
    )
    torch.Tensor.erf.spec.cache.clear()
    x = torch.tensor([0.25, 0.5])
    assert x.erf().tolist() == pytest.approx([0.27632639, 0.52049988], rel=1e-6)
    assert made == []
    with set_first_calls("compiled"):
        assert x.erf().tolist() == pytest.approx([0.27632639, 0.52049988], rel=1e-6)
    assert len(made) >= 1


def test_a_compiled_signature_never_comes_back(name):
    form = first_calls.jit(lambda x: x + 1, name=name)
    x = rows(3)
    with set_first_calls("compiled"):
        form(x)
    form(x)
    assert record_of(name).calls == 0


def test_large_work_is_compiled_at_once(name):
    form = first_calls.jit(jnp.matmul, name=name)
    form(rows(1500, 1500), rows(1500, 1500))
    record = record_of(name)
    assert (record.calls, record.compiled, record.reasons) == (0, 1, {"large": 1})


def test_what_has_no_rule_is_compiled_at_once(name):
    form = first_calls.jit(lambda x: jax.lax.linalg.hessenberg(x)[0], name=name)
    np.testing.assert_allclose(form(4 * jnp.eye(3)), 4 * np.eye(3))
    record = record_of(name)
    assert (record.calls, record.compiled) == (0, 1)
    assert list(record.reasons) == ["no rule for hessenberg"]


def test_a_long_loop_is_compiled(name):
    form = first_calls.jit(
        lambda n: jax.lax.while_loop(lambda s: s < n, lambda s: s + 1, 0), name=name
    )
    assert form(np.int64(100)) == 100
    assert form(np.int64(20_000)) == 20_000
    record = record_of(name)
    assert (record.calls, record.compiled) == (2, 1)
    assert list(record.reasons) == ["a loop of more than 10000 turns"]


def test_two_runs_switch_at_the_same_call_whatever_the_clock_says(name, monkeypatch):
    room = sys.modules["torchlike._runtime.first_calls.jit"]
    x = rows(300, 300)
    for clock in (iter(range(10**9)), iter(range(0, 10**12, 10**6))):
        monkeypatch.setattr(room, "perf_counter", clock.__next__)
        form = first_calls.jit(lambda x: jnp.exp(x) @ x, name=name)
        for _ in range(60):
            form(x)
    first, second = record_of(name).compiled_after
    assert first == second > 1


def test_results_have_the_aval_and_the_tree_of_compiled_ones():
    def function(x, scale):
        return {"a": x * scale, "b": (x.sum(), jnp.int32(3)), "c": None}, scale

    form = first_calls.jit(function)
    by_numpy = form(rows(2, 3), 2.0)
    compiled = jax.jit(function)(rows(2, 3), 2.0)
    assert jax.tree.structure(by_numpy) == jax.tree.structure(compiled)
    for a, b in zip(jax.tree.leaves(by_numpy), jax.tree.leaves(compiled), strict=True):
        assert type(a) is type(b)
        assert (a.aval, a.weak_type, a._committed) == (b.aval, b.weak_type, b._committed)
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("number", [True, 3, 2.5, 1 + 2j])
def test_numbers_are_weakly_typed(number):
    x = jnp.arange(3, dtype=jnp.int16)
    found = first_calls.jit(lambda x, n: x + n)(x, number)
    expected = jax.jit(lambda x, n: x + n)(x, number)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_an_operand_given_back_has_memory_of_its_own():
    mine = np.arange(100.0)
    kept = first_calls.jit(lambda x: x)(mine)
    mine[0] = 7
    assert kept[0] == 0


def test_numpy_operands_are_not_written():
    mine = np.zeros(4, np.float32)
    first_calls.jit(lambda x: x.at[1].set(3.0))(mine)
    assert not mine.any()
    assert mine.flags.writeable


def test_donated_operands_are_left_alone_by_numpy(name):
    form = first_calls.jit(lambda x: x + 1, name=name, donate_argnums=0)
    x = rows(4)
    form(x)
    assert record_of(name).calls == 1
    assert not x.is_deleted()


def test_within_a_trace_it_is_jax_jit(name):
    form = first_calls.jit(lambda x: jnp.sin(x), name=name)
    assert jax.grad(lambda x: form(x).sum())(rows(3)).shape == (3,)
    assert jax.vmap(form)(rows(2, 3)).shape == (2, 3)
    assert record_of(name).calls == 0


def test_errors_of_shapes_are_the_same():
    form = first_calls.jit(lambda x, y: x @ y)
    with pytest.raises(TypeError) as by_numpy:
        form(rows(2, 3), rows(2, 3))
    with pytest.raises(TypeError) as compiled:
        jax.jit(lambda x, y: x @ y)(rows(2, 3), rows(2, 3))
    assert str(by_numpy.value) == str(compiled.value)


def test_an_error_of_a_rule_is_logged_and_the_form_compiled(name, monkeypatch, caplog):
    from torchlike._runtime.first_calls.rules import RULES

    def broken(eqn):
        def function(*arrays):
            raise ValueError("of NumPy's own")

        return function

    monkeypatch.setitem(RULES, "sinh", broken)
    monkeypatch.setattr(settings, "strict", False)
    form = first_calls.jit(jnp.sinh, name=name)
    assert form(jnp.zeros(3, jnp.float32)).sum() == 0
    assert "of NumPy's own" in caplog.text
    assert record_of(name).compiled == 1


def test_a_rule_that_does_not_know_its_parameters_is_logged(name, monkeypatch, caplog):
    from torchlike._runtime.first_calls.rules import RULES

    monkeypatch.setitem(RULES, "cosh", lambda eqn: eqn.params["of another version"])
    monkeypatch.setattr(settings, "strict", False)
    form = first_calls.jit(jnp.cosh, name=name)
    assert form(jnp.zeros(3, jnp.float32)).sum() == 3
    assert "of another version" in caplog.text
    assert record_of(name).compiled == 1


@pytest.mark.exhaustive
def test_arrays_on_another_device_are_compiled():
    code = """
import jax, numpy as np
from torchlike._runtime import first_calls
from torchlike._runtime.first_calls.statistics import record_of
form = first_calls.jit(lambda x: x + 1, name="form")
found = form(jax.device_put(np.ones(3), jax.devices()[1]))
assert found.devices() == {jax.devices()[1]}
assert (found == 2).all() and record_of("form").calls == 0
assert form(np.ones(3)).devices() == {jax.devices()[0]} and record_of("form").calls == 1
"""
    env = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_lower_and_trace_are_jaxs():
    form = first_calls.jit(lambda x: x + 1)
    assert "add" in form.lower(rows(3)).as_text()
    assert form.trace(rows(3)).jaxpr.out_avals[0].shape == (3,)


def test_operations_of_tensors_begin_with_numpy():
    before = record_of("AddBackward0").calls
    torch.ones(3, 17, 2) + torch.ones(17, 1)
    assert record_of("AddBackward0").calls == before + 1
