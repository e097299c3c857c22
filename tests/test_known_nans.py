"""Exponentials of NaNs that the compiler knows are NaN, and other programs stay as they were."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.interpreters import mlir

import torchlike as tl
from torchlike._runtime import known_nans

NAN, INF = float("nan"), float("inf")


def guards(function, *args):
    """How many guards a program gets (where JAX is one that needs them)."""
    closed = jax.make_jaxpr(function)(*args)
    return str(known_nans.guarded(closed)).count(" ne ") - str(closed).count(" ne ")


KNOWN = {
    "product": lambda x, flag: x * NAN,
    "sum": lambda x, flag: x + NAN,
    "array": lambda x, flag: x + np.array([NAN, 1.0], np.float32)[[0] * 7],
    "chosen": lambda x, flag: jnp.where(flag, NAN, x),
    "infinities": lambda x, flag: jnp.where(flag, INF, x) - INF,
    "infinity times zero": lambda x, flag: jnp.where(flag, 0.0, x) * INF,
    "root": lambda x, flag: jnp.sqrt(jnp.where(flag, -1.0, x)),
    "mean of nothing": lambda x, flag: x + jnp.zeros(0).mean(),
    "maximum": lambda x, flag: jnp.maximum(x, NAN),
    "padded": lambda x, flag: jnp.pad(x, (0, 1), constant_values=NAN)[jnp.arange(7) * 0 + 7],
    "loop": lambda x, flag: jax.lax.fori_loop(0, 1, lambda i, v: v + NAN, x),
    "scanned": lambda x, flag: jax.lax.scan(lambda c, _: (c + NAN, c), x, None, length=1)[0],
    "carried": lambda x, flag: (
        jax.lax.fori_loop(0, 3, lambda i, c: (c[1], c[2], c[0]), (x, x * 2, jnp.full_like(x, NAN)))[
            0
        ]
        * NAN
    ),
    "branch": lambda x, flag: jax.lax.cond(flag, lambda: x * NAN, lambda: x),
}


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", KNOWN)
def test_exponential_of_a_known_nan_is_nan(name):
    x, flag = np.ones(7, np.float32), np.bool_(True)

    def program(x, flag):
        made = KNOWN[name](x, flag)
        return jnp.exp(made), jnp.sinh(made), jnp.cosh(made), jnp.exp2(made)

    assert guards(program, x, flag) == 4
    for result in jax.jit(program)(x, flag):
        np.testing.assert_array_equal(result, np.full(7, NAN, np.float32))


def test_exponential_within_a_loop_a_branch_and_a_function_that_is_called():
    def program(x, flag):
        y = x * NAN
        return (
            jax.lax.fori_loop(0, 2, lambda i, v: jnp.exp(y + v), x),
            jax.lax.scan(lambda c, row: (c, jnp.exp(row + c * NAN)), x, jnp.ones((2, 7)))[1],
            jax.lax.cond(flag, lambda: jnp.exp(y), lambda: x),
            jax.jit(jnp.exp)(y),
            jax.lax.while_loop(
                lambda c: ~(jnp.exp(c * NAN) > 0).any() & (c[0] < 2),
                lambda c: jnp.exp(c * NAN) * 0 + c + 1,
                x,
            ),
            jax.checkpoint(jnp.exp)(y),
        )

    x, flag = np.ones(7, np.float32), np.bool_(True)
    assert guards(program, x, flag) == 7
    for result in jax.jit(program)(x, flag):
        assert np.isnan(result).all()


UNKNOWN = {
    "softmax": lambda x, m: jax.nn.softmax(x * 0.5, -1),
    "masked": lambda x, m: jax.nn.softmax(jnp.where(m, x, -INF), -1),
    "added mask": lambda x, m: jax.nn.log_softmax(x + jnp.where(m, 0.0, -INF), -1),
    "causal": lambda x, m: jax.nn.softmax(x + jnp.triu(jnp.full((4, 4), -INF), 1), -1),
    "sum of masked": lambda x, m: jax.nn.logsumexp(jnp.where(m, x, -INF), -1),
    "exponential": lambda x, m: jnp.exp(x) + jnp.exp(-x * x / 2) + jax.nn.sigmoid(x),
    "NaN elsewhere": lambda x, m: (jnp.where(m, x, NAN), jnp.exp(x)),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_program_without_known_nans_is_untouched(name):
    """A guard keeps XLA from its fast kernels for sums of exponentials."""
    x, mask = np.ones((4, 4), np.float32), np.ones((4, 4), bool)
    closed = jax.make_jaxpr(UNKNOWN[name])(x, mask)
    assert known_nans.guarded(closed) is closed


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_exponentials_of_every_dtype(dtype):
    x = jnp.ones(7, getattr(jnp, dtype))
    for function in (jnp.exp, jnp.exp2, jnp.expm1, jnp.sinh, jnp.cosh, jax.nn.sigmoid):
        assert np.isnan(np.asarray(jax.jit(lambda x, f=function: f(x * NAN))(x), float)).all()


def test_backward_of_a_jitted_function():
    x = tl.ones(7, requires_grad=True)

    @tl.jit
    def step():
        x.grad = None
        y = (x * NAN).exp()
        y.sum().backward()
        return y.detach()

    assert step().isnan().all()
    assert x.grad.isnan().all()


def test_static_argument(compiled_at_once):
    """A number that is compiled into an eager op."""
    assert tl.nn.functional.elu(tl.full((7,), -1.0), alpha=NAN).isnan().all()
    assert tl.nn.functional.softplus(tl.ones(7), beta=NAN).isnan().all()


def test_guards_stand():
    assert isinstance(mlir.lower_jaxpr_to_module, known_nans.Guarding)


def test_missing_name_of_jax_is_told(monkeypatch, caplog):
    monkeypatch.delattr(mlir, "lower_jaxpr_to_module")
    with caplog.at_level("WARNING"):
        known_nans.watch_for()
    assert "no jax._src.interpreters.mlir.lower_jaxpr_to_module" in caplog.text
