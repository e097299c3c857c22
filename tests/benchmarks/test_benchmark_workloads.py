"""Each workload computes the same thing in PyTorch's API and in hand-written JAX."""

import functools
import math

import numpy as np
import pytest

from benchmarks import build, frameworks
from benchmarks.workloads import TRAINING, contract
from benchmarks.workloads.micro import MICRO

STEPS = 5
#: Float32 sums in another order, amplified by Adam's division by a small root: 1e-5 after 5 steps.
RTOL = 3e-5


def libraries():
    return [
        pytest.param("torch", marks=pytest.mark.parity),
        pytest.param("torch.compile", marks=[pytest.mark.parity, pytest.mark.full]),
        "torchlike",
        "torchlike.jit",
    ]


def runner(label, workload):
    framework = frameworks.parse(label)
    if framework.library == "torch":
        pytest.importorskip("torch")
    module = {"torch": "torch", "torchlike": "torchlike", "jax": "jax"}[framework.library]
    return build.runner(framework, pytest.importorskip(module), workload)


def losses(label, workload):
    made = runner(label, workload)
    assert made.value is not None
    found = [made.value(made.step()) for _ in range(STEPS)]
    made.finish()
    return found


@pytest.fixture
def two_layers(monkeypatch):
    """Of the GPT: more repeat the second, and each is compiled."""
    gpt = TRAINING["gpt"]
    monkeypatch.setattr(gpt, "problem", functools.partial(gpt.problem, layers=2))


@pytest.mark.sampled(every=6)
@pytest.mark.usefixtures("two_layers")
@pytest.mark.parametrize("workload", TRAINING)
@pytest.mark.parametrize("label", libraries())
def test_losses_follow_hand_written_jax(label, workload):
    expected = losses("jax", workload)
    assert all(math.isfinite(value) for value in expected)
    assert expected == sorted(expected, reverse=True), "the same batch again: it must be learnt"
    np.testing.assert_allclose(losses(label, workload), expected, rtol=RTOL)


@pytest.mark.sampled(every=15)
@pytest.mark.parametrize("workload", [name for name in MICRO if "100" not in name])
@pytest.mark.parametrize("label", libraries())
def test_micro_case_gives_the_result_of_jax(label, workload):
    case = MICRO[workload]
    if label not in case.frameworks:
        pytest.skip(f"{workload} is not measured in {label}")
    reference = runner("jnp" if "jnp" in case.frameworks else "jax", workload)
    mine = runner(label, workload)
    for _ in range(3):
        expected, result = reference.step(), mine.step()
    np.testing.assert_allclose(np.asarray(result), np.asarray(expected), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("workload", TRAINING)
def test_problem_is_the_same_each_time_and_float32(workload):
    first, second = (TRAINING[workload].problem() for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    assert first.weights.keys() == second.weights.keys()
    for name, array in first.weights.items():
        assert array.dtype == np.float32, name
        np.testing.assert_array_equal(array, second.weights[name])


def test_uniform_stays_within_its_bound():
    values = contract.uniform(np.random.default_rng(0), (1000,), fan_in=25)
    assert np.abs(values).max() <= 0.2
    assert np.abs(values).max() > 0.19


@pytest.mark.exhaustive
def test_causal_attention_matches_autodiff_of_the_plain_formula():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    from benchmarks.workloads.jax_layers import causal_attention

    rng = np.random.default_rng(1)
    q, k, v, grad = (jnp.asarray(rng.standard_normal((2, 3, 7, 4)), jnp.float32) for _ in range(4))

    def plain(q, k, v):
        scores = jnp.where(np.tril(np.ones((7, 7), bool)), q @ k.swapaxes(2, 3) / 2.0, -jnp.inf)
        return jax.nn.softmax(scores) @ v

    expected, expected_vjp = jax.vjp(plain, q, k, v)
    result, vjp = jax.vjp(causal_attention, q, k, v)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    for mine, theirs in zip(vjp(grad), expected_vjp(grad), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=2e-6)


@pytest.mark.exhaustive
def test_lstm_matches_autodiff_of_the_plain_recurrence():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy
    from benchmarks.workloads.jax_lstm import lstm

    rng = np.random.default_rng(2)
    projected = jnp.asarray(rng.standard_normal((5, 3, 16)), jnp.float32)
    weight = jnp.asarray(rng.standard_normal((4, 16)), jnp.float32)
    grad = jnp.asarray(rng.standard_normal((5, 3, 4)), jnp.float32)

    def plain(projected, weight):
        h = c = jnp.zeros((3, 4), jnp.float32)
        outputs = []
        for z in projected:
            i, f, g, o = jnp.split(z + h @ weight, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            outputs.append(h)
        return jnp.stack(outputs)

    expected, expected_vjp = jax.vjp(plain, projected, weight)
    result, vjp = jax.vjp(lstm, projected, weight)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    for mine, theirs in zip(vjp(grad), expected_vjp(grad), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-5, atol=2e-6)
