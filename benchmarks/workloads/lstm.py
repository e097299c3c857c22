"""An LSTM classifier with Adam: a long chain of small matrix products."""

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

BATCH, STEPS, INPUTS, HIDDEN, CLASSES = 32, 64, 64, 128, 10
LEARNING_RATE = 1e-3
TITLE = f"LSTM {INPUTS}-{HIDDEN}, {STEPS} steps, batch {BATCH}, Adam"


def problem(seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    return Problem(
        x=rng.standard_normal((BATCH, STEPS, INPUTS), dtype=np.float32),
        y=rng.integers(0, CLASSES, BATCH),
        weights={
            "lstm.weight_ih_l0": uniform(rng, (4 * HIDDEN, INPUTS), HIDDEN),
            "lstm.weight_hh_l0": uniform(rng, (4 * HIDDEN, HIDDEN), HIDDEN),
            "lstm.bias_ih_l0": uniform(rng, (4 * HIDDEN,), HIDDEN),
            "lstm.bias_hh_l0": uniform(rng, (4 * HIDDEN,), HIDDEN),
            "head.weight": uniform(rng, (CLASSES, HIDDEN), HIDDEN),
            "head.bias": uniform(rng, (CLASSES,), HIDDEN),
        },
    )


def in_torch(torch: Any, problem: Problem) -> TorchTraining:
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(INPUTS, HIDDEN, batch_first=True)
            self.head = nn.Linear(HIDDEN, CLASSES)

        def forward(self, x: Any) -> Any:
            outputs, _ = self.lstm(x)
            return self.head(outputs[:, -1])

    model = Net()
    load_weights(torch, model, problem.weights)
    return TorchTraining(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=LEARNING_RATE),
        loss=lambda x, y: F.cross_entropy(model(x), y),
        x=torch.tensor(problem.x),
        y=torch.tensor(problem.y),
    )


def in_jax(problem: Problem) -> JaxTraining:
    import jax
    import jax.numpy as jnp
    import optax

    from benchmarks.workloads.jax_layers import cross_entropy, linear, training
    from benchmarks.workloads.jax_lstm import lstm

    def loss(params: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
        bias = params["b_ih"] + params["b_hh"]
        projected = linear(x.swapaxes(0, 1), params["w_ih"], bias)
        last = lstm(projected, params["w_hh"])[-1]
        return cross_entropy(linear(last, params["head"], params["head_b"]), y)

    weights = problem.weights
    params = {
        "w_ih": jnp.asarray(weights["lstm.weight_ih_l0"].T),
        "w_hh": jnp.asarray(weights["lstm.weight_hh_l0"].T),
        "b_ih": jnp.asarray(weights["lstm.bias_ih_l0"]),
        "b_hh": jnp.asarray(weights["lstm.bias_hh_l0"]),
        "head": jnp.asarray(weights["head.weight"].T),
        "head_b": jnp.asarray(weights["head.bias"]),
    }
    return training(loss, params, optax.adam(LEARNING_RATE), problem.x, problem.y)


def in_nnx(problem: Problem) -> JaxTraining:
    import optax
    from flax import nnx

    from benchmarks.workloads.jax_layers import cross_entropy
    from benchmarks.workloads.nnx_layers import fill, training

    rngs = nnx.Rngs(0)

    class Net(nnx.Module):
        def __init__(self) -> None:
            self.rnn = nnx.RNN(nnx.OptimizedLSTMCell(INPUTS, HIDDEN, rngs=rngs))
            self.head = nnx.Linear(HIDDEN, CLASSES, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            return self.head(self.rnn(x)[:, -1])

    weights = problem.weights
    model = fill(
        Net(),
        {
            "rnn.cell.dense_i.weight": weights["lstm.weight_ih_l0"],
            "rnn.cell.dense_h.weight": weights["lstm.weight_hh_l0"],
            "rnn.cell.dense_h.bias": weights["lstm.bias_ih_l0"] + weights["lstm.bias_hh_l0"],
            "head.weight": weights["head.weight"],
            "head.bias": weights["head.bias"],
        },
    )
    optimizer = optax.adam(LEARNING_RATE)
    return training(model, lambda m, x, y: cross_entropy(m(x), y), optimizer, problem.x, problem.y)
