"""Each alias of optax as an optimizer gives what a loop written with optax gives."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from optax_cases import BY_THEMSELVES, CASES, made

import torchlike as torch
from torchlike.compiler import set_first_calls

pytestmark = pytest.mark.filterwarnings("ignore:`optimistic_adam` is deprecated")

SHAPES = {"body.weight": (4, 3), "body.bias": (4,), "head.weight": (2, 4), "head.bias": (2,)}
STEPS = 6
_rng = np.random.default_rng(0)
START = {k: _rng.standard_normal(s).astype(np.float32) for k, s in SHAPES.items()}
GRADIENTS = [
    {k: _rng.standard_normal(s).astype(np.float32) for k, s in SHAPES.items()} for _ in range(STEPS)
]
VALUES = [float(v) for v in np.linspace(2, 1, STEPS)]
#: Takes no further arguments, not even by **extra_args.
ALONE = {"sam"}
#: Spread over the table.
QUICK = ("noisy_sgd", "contrib.prodigy", "multi_transform")


@pytest.fixture(scope="module")
def by_hand():
    """What optax's own loop gives, by name."""
    known = {}

    def run(name):
        if name not in known:
            transformation = optax.with_extra_args_support(made(name))
            params = jax.tree.map(jnp.asarray, START)
            state = transformation.init(params)

            @jax.jit
            def step(gradients, state, params, value):
                more = {} if name in ALONE else {"value": value}
                updates, state = transformation.update(gradients, state, params, **more)
                return optax.apply_updates(params, updates), state

            for gradients, value in zip(GRADIENTS, VALUES, strict=True):
                params, state = step(gradients, state, params, value)
            known[name] = params, state
        return known[name]

    return run


def by_optimizer(name, make, way):
    params = {k: torch.nn.Parameter(torch.from_numpy(v.copy())) for k, v in START.items()}
    optimizer = make(params.items())

    def step(gradients, value):
        for p, g in zip(params.values(), gradients, strict=True):
            p.grad = g
        optimizer.step(**({} if name in ALONE else {"value": value}))

    if way == "jit":
        step = torch.jit(step)
    with set_first_calls("compiled" if way == "compiled" else "numpy"):
        for gradients, value in zip(GRADIENTS, VALUES, strict=True):
            step([torch.from_numpy(g.copy()) for g in gradients.values()], torch.tensor(value))
    return params, optimizer


def check(name, way, make, by_hand):
    params, optimizer = by_optimizer(name, make, way)
    expected, state = by_hand(name)
    for k, p in params.items():
        # A sum rounded in another order: 1e-7 beside numbers around 1.
        np.testing.assert_allclose(p.detach(), expected[k], rtol=1e-6, atol=3e-7, err_msg=k)
    assert len(optimizer.state["group 0"]) == len(jax.tree.leaves(state))


@pytest.mark.sampled(every=6)
@pytest.mark.parametrize("name", QUICK)
@pytest.mark.parametrize("way", ["numpy", "jit"])
def test_a_sample_is_as_by_hand(name, way, by_hand):
    function, more = CASES[name]
    check(name, way, lambda p: torch.optim.Optax(p, function, **more), by_hand)


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", ["numpy", "compiled", "jit"])
def test_by_a_function_and_hyperparameters(name, way, by_hand):
    function, more = CASES[name]
    check(name, way, lambda p: torch.optim.Optax(p, function, **more), by_hand)


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", ["numpy", "jit"])
def test_by_a_transformation(name, way, by_hand):
    check(name, way, lambda p: torch.optim.Optax(p, made(name)), by_hand)


def test_all_aliases_are_in_the_table():
    def aliases(module, of):
        return {
            name
            for name, f in vars(module).items()
            if inspect.isfunction(f)
            and f.__module__.startswith(of)
            and "learning_rate" in inspect.signature(f).parameters
            and name[0] != "_"
            and not name.startswith("scale_by")
        }

    known = {name.removeprefix("contrib.") for name in CASES} | BY_THEMSELVES | {"polyak_sgd"}
    assert aliases(optax, "optax._src.alias") - known == set()
    assert aliases(optax.contrib, "optax.contrib") - known == set()
