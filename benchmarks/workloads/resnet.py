"""ResNet-18 (He et al. 2015, arXiv:1512.03385) with SGD and momentum, on images small enough for a
CPU: convolutions from 32×32 down to 2×2, strided ones, batch norm with running statistics."""

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

BATCH, SIDE, CLASSES = 8, 64, 10
#: Channels and stride of each stage's first block; a stage has two blocks.
STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))
LEARNING_RATE, MOMENTUM, EPS, KEEP = 0.01, 0.9, 1e-5, 0.9
TITLE = f"ResNet-18, {SIDE}×{SIDE}, batch {BATCH}, SGD with momentum"


def _convolutions() -> dict[str, tuple[int, int, int, int]]:
    """Return name -> shape (out, in, k, k) of each convolution; the batch norm after it is named
    alike."""
    found = {"stem": (64, 3, 7, 7)}
    width = 64
    for s, (channels, stride) in enumerate(STAGES):
        for b in range(2):
            name = f"stages.{s}.{b}"
            found[f"{name}.conv1"] = (channels, width, 3, 3)
            found[f"{name}.conv2"] = (channels, channels, 3, 3)
            if stride != 1 and b == 0:
                found[f"{name}.shortcut"] = (channels, width, 1, 1)
            width = channels
    return found


def problem(seed: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    weights: dict[str, np.ndarray] = {}
    for name, shape in _convolutions().items():
        weights[f"{name}.0.weight"] = uniform(rng, shape, int(np.prod(shape[1:])))
        weights[f"{name}.1.weight"] = np.ones(shape[0], np.float32)
        weights[f"{name}.1.bias"] = np.zeros(shape[0], np.float32)
        weights[f"{name}.1.running_mean"] = np.zeros(shape[0], np.float32)
        weights[f"{name}.1.running_var"] = np.ones(shape[0], np.float32)
        weights[f"{name}.1.num_batches_tracked"] = np.zeros((), np.int64)
    weights["head.weight"] = uniform(rng, (CLASSES, 512), 512)
    weights["head.bias"] = uniform(rng, (CLASSES,), 512)
    return Problem(
        x=rng.standard_normal((BATCH, 3, SIDE, SIDE), dtype=np.float32),
        y=rng.integers(0, CLASSES, BATCH),
        weights=weights,
    )


def in_torch(torch: Any, problem: Problem) -> TorchTraining:
    nn, F = torch.nn, torch.nn.functional

    def conv(inputs: int, outputs: int, kernel: int, stride: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
            nn.BatchNorm2d(outputs),
        )

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = conv(inputs, outputs, 3, stride)
            self.conv2 = conv(outputs, outputs, 3, 1)
            self.shortcut = conv(inputs, outputs, 1, stride) if stride != 1 else nn.Identity()

        def forward(self, x: Any) -> Any:
            return F.relu(self.conv2(F.relu(self.conv1(x))) + self.shortcut(x))

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = conv(3, 64, 7, 2)
            stages, width = [], 64
            for channels, stride in STAGES:
                stages.append(
                    nn.Sequential(Block(width, channels, stride), Block(channels, channels, 1))
                )
                width = channels
            self.stages = nn.Sequential(*stages)
            self.head = nn.Linear(512, CLASSES)

        def forward(self, x: Any) -> Any:
            x = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
            return self.head(self.stages(x).mean((2, 3)))

    model = ResNet()
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
        convolution,
        cross_entropy,
        max_pool_3x3,
    )

    Params = dict[str, jax.Array]

    def normalised(p: Params, stats: Params, new: Params, name: str, x: jax.Array) -> jax.Array:
        mean = x.mean((0, 1, 2))
        variance = jnp.square(x).mean((0, 1, 2)) - jnp.square(mean)
        n = x.size // x.shape[-1]
        old_mean, old_var = stats[f"{name}.mean"], stats[f"{name}.var"]
        new[f"{name}.mean"] = KEEP * old_mean + (1 - KEEP) * mean
        new[f"{name}.var"] = KEEP * old_var + (1 - KEEP) * variance * (n / (n - 1))
        scale = p[f"{name}.scale"] * jax.lax.rsqrt(variance + EPS)
        return x * scale + (p[f"{name}.bias"] - mean * scale)

    def loss(p: Params, stats: Params, x: jax.Array, y: jax.Array) -> tuple[jax.Array, Params]:
        new: Params = {}

        def layer(name: str, x: jax.Array, stride: int) -> jax.Array:
            return normalised(p, stats, new, name, convolution(x, p[f"{name}.kernel"], stride))

        x = max_pool_3x3(jax.nn.relu(layer("stem", x, 2)))
        for s, (_, first) in enumerate(STAGES):
            for b, stride in enumerate((first, 1)):
                name = f"stages.{s}.{b}"
                y1 = jax.nn.relu(layer(f"{name}.conv1", x, stride))
                shortcut = layer(f"{name}.shortcut", x, stride) if stride != 1 else x
                x = jax.nn.relu(layer(f"{name}.conv2", y1, 1) + shortcut)
        return cross_entropy(x.mean((1, 2)) @ p["head"] + p["head_b"], y), new

    weights = problem.weights
    params: Params = {
        "head": jnp.asarray(weights["head.weight"].T),
        "head_b": jnp.asarray(weights["head.bias"]),
    }
    stats: Params = {}
    for name in _convolutions():
        params[f"{name}.kernel"] = jnp.asarray(weights[f"{name}.0.weight"].transpose(2, 3, 1, 0))
        params[f"{name}.scale"] = jnp.asarray(weights[f"{name}.1.weight"])
        params[f"{name}.bias"] = jnp.asarray(weights[f"{name}.1.bias"])
        stats[f"{name}.mean"] = jnp.asarray(weights[f"{name}.1.running_mean"])
        stats[f"{name}.var"] = jnp.asarray(weights[f"{name}.1.running_var"])
    optimizer = optax.sgd(LEARNING_RATE, momentum=MOMENTUM)

    def step(state: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> tuple[Any, Any, jax.Array]:
        params, stats = state
        (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, x, y)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return (optax.apply_updates(params, updates), stats), opt_state, value

    return JaxTraining(
        step=jax.jit(step, donate_argnums=(0, 1)),
        params=(params, stats),
        opt_state=optimizer.init(params),
        x=jnp.asarray(problem.x.transpose(0, 2, 3, 1).copy()),
        y=jnp.asarray(problem.y, jnp.int32),
    )


def in_nnx(problem: Problem) -> JaxTraining:
    import optax
    from flax import nnx

    from benchmarks.workloads.jax_layers import cross_entropy
    from benchmarks.workloads.nnx_layers import fill, training

    rngs = nnx.Rngs(0)

    def conv(inputs: int, outputs: int, kernel: int, stride: int) -> Any:
        pads = [(kernel // 2, kernel // 2)] * 2
        return nnx.Sequential(
            nnx.Conv(
                inputs,
                outputs,
                (kernel, kernel),
                strides=stride,
                padding=pads,
                use_bias=False,
                rngs=rngs,
            ),
            nnx.BatchNorm(outputs, momentum=KEEP, epsilon=EPS, rngs=rngs),
        )

    class Block(nnx.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            self.conv1 = conv(inputs, outputs, 3, stride)
            self.conv2 = conv(outputs, outputs, 3, 1)
            self.shortcut = conv(inputs, outputs, 1, stride) if stride != 1 else None

        def __call__(self, x: Any) -> Any:
            short = x if self.shortcut is None else self.shortcut(x)
            return nnx.relu(self.conv2(nnx.relu(self.conv1(x))) + short)

    class ResNet(nnx.Module):
        def __init__(self) -> None:
            self.stem = conv(3, 64, 7, 2)
            blocks, width = [], 64
            for channels, stride in STAGES:
                blocks += [Block(width, channels, stride), Block(channels, channels, 1)]
                width = channels
            self.blocks = nnx.List(blocks)
            self.head = nnx.Linear(512, CLASSES, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            pads = ((1, 1), (1, 1))
            x = nnx.max_pool(nnx.relu(self.stem(x)), (3, 3), strides=(2, 2), padding=pads)
            for block in self.blocks:
                x = block(x)
            return self.head(x.mean((1, 2)))

    weights = {}
    for name, array in problem.weights.items():
        if name.endswith(("num_batches_tracked", "running_mean", "running_var")):
            continue  # 0 and 1, as they begin
        path = name.split(".")
        if path[0] == "stages":
            path[:3] = ["blocks", str(2 * int(path[1]) + int(path[2]))]
        if path[0] != "head":
            path.insert(-2, "layers")
        weights[".".join(path)] = array
    model = fill(ResNet(), weights)
    optimizer = optax.sgd(LEARNING_RATE, momentum=MOMENTUM)
    x = problem.x.transpose(0, 2, 3, 1).copy()
    return training(model, lambda m, x, y: cross_entropy(m(x), y), optimizer, x, problem.y)
