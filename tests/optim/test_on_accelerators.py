"""Updates in programs for accelerators: computed in float32, and as exact as on the CPU.

Needs no plugin: a program is lowered for a TPU, and the program for a TPU is run by XLA's CPU."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike._runtime import targets
from torchlike.optim import sgd, sparse_adam
from torchlike.optim.fused import updated
from torchlike.optim.rectification import averaged_over

#: What makes an optimizer compute more than its defaults do.
OPTIMIZERS = {
    "SGD": {"momentum": 0.9, "weight_decay": 0.01, "nesterov": True},
    "Adam": {"weight_decay": 0.01, "amsgrad": True},
    "AdamW": {"betas": (0.9, 0.99)},
    "Adamax": {"weight_decay": 0.01},
    "NAdam": {"weight_decay": 0.01, "decoupled_weight_decay": True, "betas": (0.99, 0.999)},
    "RAdam": {"weight_decay": 0.01, "decoupled_weight_decay": True},
    "Adagrad": {"lr_decay": 0.01, "weight_decay": 0.01},
    "Adadelta": {"weight_decay": 0.01},
    "RMSprop": {"momentum": 0.9, "centered": True},
    "Rprop": {},
    "ASGD": {"t0": 3, "lambd": 0.01},
    "Adafactor": {"weight_decay": 0.01},
    "Muon": {},
}
RATES = {"lr": 0.01}


def pieces(name, dtype=torch.float32):
    """The rule of an optimizer's group, a parameter, its states and its hyperparameters."""
    p = torch.nn.Parameter(torch.linspace(-1, 1, 12, dtype=dtype).reshape(3, 4))
    optimizer = getattr(torch.optim, name)([p], lr=0.01, **OPTIMIZERS[name])
    (group,) = optimizer.param_groups
    if name == "SGD":
        rule = functools.partial(sgd._rule, 0.0, False, True, False, True)
        live = [group[k] for k in ("lr", "weight_decay", "momentum")]
        return rule, p, [torch.zeros_like(p)], live
    rule = functools.partial(type(optimizer)._rule, optimizer._settings(group))
    names = optimizer._state_names(p, group)
    states = [optimizer._first(name, p, group) for name in names]
    live = [group[k] if isinstance(k, str) else group[k[0]][k[1]] for k in type(optimizer)._live]
    return rule, p, states, live


def step_of(rule, n_states, n=1):
    return lambda owned, gradients, live: updated(rule, owned, gradients, live, n, n_states)


def float64_operations(text):
    """The StableHLO operations that take or give float64, by name."""
    return set(re.findall(r"= stablehlo\.(\w+) .*f64", text))


@pytest.mark.parametrize("platform", ["tpu", pytest.param("cuda", marks=pytest.mark.full)])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_nothing_is_computed_in_float64(name, platform):
    rule, p, states, live = pieces(name)
    owned = [x._read() for x in (p, p, *states, *states)]
    avals = jax.eval_shape(lambda *a: a, owned, owned[:2], [np.float64(x) for x in live])
    with targets.platform(platform):
        traced = jax.jit(step_of(rule, len(states), 2)).trace(*avals)
        text = traced.lower(lowering_platforms=(platform,)).as_text()
    # Hyperparameters arrive so. One minus a decay is as exact as it is only there, and is one
    # number for all parameters.
    assert float64_operations(text) <= {"convert", "subtract", "constant"}
    assert not re.search(r"tensor<[^>]*xf64>", text)


def test_nothing_of_a_sparse_update_is_computed_in_float64():
    p, values = jnp.zeros((5, 4), jnp.float32), jnp.ones((2, 4), jnp.float32)
    live = [np.float64(x) for x in (1, 1e-3, 0.9, 0.999)]
    given = [p, p, p, jnp.zeros((1, 2), int), values, *live]
    with targets.platform("tpu"):
        traced = sparse_adam._updated.trace(*given, eps=1e-8, maximize=False)
        text = traced.lower(lowering_platforms=("tpu",)).as_text()
    assert float64_operations(text) <= {"convert", "subtract", "constant"}


@pytest.mark.sampled(every=5)
@pytest.mark.parametrize(
    "dtype", [torch.float32, pytest.param(torch.float64, marks=pytest.mark.full)]
)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_the_cpu(name, dtype):
    """Twelve steps: RAdam begins to adapt at the sixth, ASGD to average at the third."""
    rule, p, states, live = pieces(name, dtype)
    live = tuple(np.float64(x) for x in live)
    generator = np.random.default_rng(0)
    gradients = [jnp.asarray(generator.normal(size=p.shape), p.dtype.numpy) for _ in range(12)]

    def run(platform):
        owned = [jnp.asarray(x._read()) for x in (p, *states)]
        with targets.platform(platform):
            step = jax.jit(step_of(rule, len(states)))
            for g in gradients:
                owned = step(owned, (g,), live)
        return owned

    for here, there in zip(run("cpu"), run("tpu"), strict=True):
        assert there.dtype == here.dtype
        # What steps add up to loses digits where they cancel.
        rtol = 1e-5 if dtype == torch.float32 else 1e-12
        np.testing.assert_allclose(there, here, rtol=rtol, atol=rtol * float(jnp.abs(here).max()))


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("decay", [0.3, 0.9, 0.99, 0.999, 0.99999])
def test_how_many_steps_are_averaged(decay):
    steps = [*range(1, 40), 100, 999, 1000, 1001, 10_000, 1_000_000]
    with targets.platform("tpu"):
        p = jnp.zeros((), jnp.float32)
        decay_, step = np.float64(decay), np.asarray(steps, np.float32)
        second = -np.expm1(step.astype(float) * np.log1p(decay - 1)).astype(np.float32)
        longest, found = averaged_over(p, decay_, step, second.astype(np.float32))
    assert found.dtype == jnp.float32
    exact = [2 / (1 - decay) - 1 - 2 * t * decay**t / (1 - decay**t) for t in steps]
    np.testing.assert_allclose(longest, 2 / (1 - decay) - 1, rtol=1e-6)
    np.testing.assert_allclose(found, exact, rtol=3e-6)
