"""A two-layer perceptron with Adam: many small ops, so dispatch shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.contract import (
    JaxTraining,
    Problem,
    TorchTraining,
    load_weights,
    uniform,
)

TITLE = "MLP 784-256-10, batch 64, Adam"
BATCH, INPUTS, HIDDEN, CLASSES = 64, 784, 256, 10
LEARNING_RATE = 1e-3


def problem(seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    return Problem(
        x=rng.standard_normal((BATCH, INPUTS), dtype=np.float32),
        y=rng.integers(0, CLASSES, BATCH),
        weights={
            "0.weight": uniform(rng, (HIDDEN, INPUTS), INPUTS),
            "0.bias": uniform(rng, (HIDDEN,), INPUTS),
            "2.weight": uniform(rng, (CLASSES, HIDDEN), HIDDEN),
            "2.bias": uniform(rng, (CLASSES,), HIDDEN),
        },
    )


def in_torch(torch: Any, problem: Problem) -> TorchTraining:
    nn = torch.nn
    model = nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES))
    load_weights(torch, model, problem.weights)
    return TorchTraining(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=LEARNING_RATE),
        loss=lambda x, y: nn.functional.cross_entropy(model(x), y),
        x=torch.tensor(problem.x),
        y=torch.tensor(problem.y),
    )


def in_jax(problem: Problem) -> JaxTraining:
    import jax
    import jax.numpy as jnp
    import optax

    from benchmarks.workloads.jax_layers import cross_entropy, training

    def loss(params: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
        hidden = jax.nn.relu(x @ params["w1"] + params["b1"])
        return cross_entropy(hidden @ params["w2"] + params["b2"], y)

    weights = problem.weights
    params = {
        "w1": jnp.asarray(weights["0.weight"].T),
        "b1": jnp.asarray(weights["0.bias"]),
        "w2": jnp.asarray(weights["2.weight"].T),
        "b2": jnp.asarray(weights["2.bias"]),
    }
    return training(loss, params, optax.adam(LEARNING_RATE), problem.x, problem.y)


def in_nnx(problem: Problem) -> JaxTraining:
    import optax
    from flax import nnx

    from benchmarks.workloads.jax_layers import cross_entropy
    from benchmarks.workloads.nnx_layers import fill, training

    rngs = nnx.Rngs(0)
    model = nnx.Sequential(
        nnx.Linear(INPUTS, HIDDEN, rngs=rngs), nnx.relu, nnx.Linear(HIDDEN, CLASSES, rngs=rngs)
    )
    fill(model, {f"layers.{name}": array for name, array in problem.weights.items()})
    optimizer = optax.adam(LEARNING_RATE)
    return training(model, lambda m, x, y: cross_entropy(m(x), y), optimizer, problem.x, problem.y)
