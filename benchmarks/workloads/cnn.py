"""A small convolutional net with SGD and momentum: convolution and pooling lowerings show."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.workloads.contract import (
    JaxTraining,
    Problem,
    TorchTraining,
    load_weights,
    uniform,
)

TITLE = "CNN conv 32-64 (3×3), pool, linear 128-10, 28×28, batch 32, SGD with momentum"
BATCH, SIDE, CLASSES = 32, 28, 10
CHANNELS = (1, 32, 64)
POOLED = SIDE // 4
HIDDEN = 128
LEARNING_RATE, MOMENTUM = 0.01, 0.9


def problem(seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    weights = {}
    for i, (fan, out) in enumerate(pairwise(CHANNELS), start=1):
        weights[f"conv{i}.weight"] = uniform(rng, (out, fan, 3, 3), fan * 9)
        weights[f"conv{i}.bias"] = uniform(rng, (out,), fan * 9)
    flat = CHANNELS[-1] * POOLED * POOLED
    for i, (fan, out) in enumerate(((flat, HIDDEN), (HIDDEN, CLASSES)), start=1):
        weights[f"fc{i}.weight"] = uniform(rng, (out, fan), fan)
        weights[f"fc{i}.bias"] = uniform(rng, (out,), fan)
    return Problem(
        x=rng.standard_normal((BATCH, 1, SIDE, SIDE), dtype=np.float32),
        y=rng.integers(0, CLASSES, BATCH),
        weights=weights,
    )


def in_torch(torch: Any, problem: Problem) -> TorchTraining:
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(CHANNELS[0], CHANNELS[1], 3, padding=1)
            self.conv2 = nn.Conv2d(CHANNELS[1], CHANNELS[2], 3, padding=1)
            self.fc1 = nn.Linear(CHANNELS[2] * POOLED * POOLED, HIDDEN)
            self.fc2 = nn.Linear(HIDDEN, CLASSES)

        def forward(self, x: Any) -> Any:
            x = F.max_pool2d(F.relu(self.conv1(x)), 2)
            x = F.max_pool2d(F.relu(self.conv2(x)), 2)
            return self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))

    model = Net()
    load_weights(torch, model, problem.weights)
    return TorchTraining(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM),
        loss=lambda x, y: F.cross_entropy(model(x), y),
        x=torch.tensor(problem.x),
        y=torch.tensor(problem.y),
    )


def in_jax(problem: Problem) -> JaxTraining:
    import jax
    import jax.numpy as jnp
    import optax

    from benchmarks.workloads.jax_layers import (
        convolution_in_parts,
        cross_entropy,
        max_pool_2x2,
        training,
    )

    def conv(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
        return convolution_in_parts(x, weight, 4) + bias

    def loss(params: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
        x = max_pool_2x2(jax.nn.relu(conv(x, params["conv1"], params["conv1_b"])))
        x = max_pool_2x2(jax.nn.relu(conv(x, params["conv2"], params["conv2_b"])))
        x = jax.nn.relu(x.reshape(x.shape[0], -1) @ params["fc1"] + params["fc1_b"])
        return cross_entropy(x @ params["fc2"] + params["fc2_b"], y)

    weights = problem.weights
    # fc1 reads the image channels-last here, so its columns are put in that order once.
    fc1 = weights["fc1.weight"].reshape(HIDDEN, CHANNELS[2], POOLED, POOLED)
    params = {
        "conv1": jnp.asarray(weights["conv1.weight"].transpose(2, 3, 1, 0)),
        "conv2": jnp.asarray(weights["conv2.weight"].transpose(2, 3, 1, 0)),
        "fc1": jnp.asarray(fc1.transpose(2, 3, 1, 0).reshape(-1, HIDDEN)),
        "fc2": jnp.asarray(weights["fc2.weight"].T),
    }
    for layer in ("conv1", "conv2", "fc1", "fc2"):
        params[f"{layer}_b"] = jnp.asarray(weights[f"{layer}.bias"])
    optimizer = optax.sgd(LEARNING_RATE, momentum=MOMENTUM)
    return training(loss, params, optimizer, problem.x.transpose(0, 2, 3, 1).copy(), problem.y)


def in_nnx(problem: Problem) -> JaxTraining:
    import optax
    from flax import nnx

    from benchmarks.workloads.jax_layers import cross_entropy
    from benchmarks.workloads.nnx_layers import fill, training

    rngs = nnx.Rngs(0)

    class Net(nnx.Module):
        def __init__(self) -> None:
            self.conv1 = nnx.Conv(CHANNELS[0], CHANNELS[1], (3, 3), rngs=rngs)
            self.conv2 = nnx.Conv(CHANNELS[1], CHANNELS[2], (3, 3), rngs=rngs)
            self.fc1 = nnx.Linear(CHANNELS[2] * POOLED * POOLED, HIDDEN, rngs=rngs)
            self.fc2 = nnx.Linear(HIDDEN, CLASSES, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            x = nnx.max_pool(nnx.relu(self.conv1(x)), (2, 2), strides=(2, 2))
            x = nnx.max_pool(nnx.relu(self.conv2(x)), (2, 2), strides=(2, 2))
            return self.fc2(nnx.relu(self.fc1(x.reshape(x.shape[0], -1))))

    weights = dict(problem.weights)
    fc1 = weights["fc1.weight"].reshape(HIDDEN, CHANNELS[2], POOLED, POOLED)
    weights["fc1.weight"] = fc1.transpose(0, 2, 3, 1).reshape(HIDDEN, -1)
    model = fill(Net(), weights)
    optimizer = optax.sgd(LEARNING_RATE, momentum=MOMENTUM)
    x = problem.x.transpose(0, 2, 3, 1).copy()
    return training(model, lambda m, x, y: cross_entropy(m(x), y), optimizer, x, problem.y)
