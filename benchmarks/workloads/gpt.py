"""A four-layer GPT with AdamW: matrix products, attention and a wide optimizer update."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workloads.contract import JaxTraining, Problem, TorchTraining, load_weights, uniform
from benchmarks.workloads.models import gpt

LAYERS, HEADS, WIDTH = 4, 4, 128
BATCH, CONTEXT, VOCABULARY = 8, 128, 128
LEARNING_RATE, WEIGHT_DECAY = 3e-4, 0.1
TITLE = f"GPT {LAYERS} layers, width {WIDTH}, {HEADS} heads, {BATCH}×{CONTEXT} tokens, AdamW"


def problem(seed: int = 0, layers: int = LAYERS) -> Problem:
    rng = np.random.default_rng(seed)
    weights = {
        "tokens.weight": 0.02 * rng.standard_normal((VOCABULARY, WIDTH), dtype=np.float32),
        "positions.weight": 0.02 * rng.standard_normal((CONTEXT, WIDTH), dtype=np.float32),
        "norm.weight": np.ones(WIDTH, np.float32),
        "norm.bias": np.zeros(WIDTH, np.float32),
        "head.weight": uniform(rng, (VOCABULARY, WIDTH), WIDTH),
    }
    linears = {
        "qkv": (3 * WIDTH, WIDTH),
        "out": (WIDTH, WIDTH),
        "up": (4 * WIDTH, WIDTH),
        "down": (WIDTH, 4 * WIDTH),
    }
    for i in range(layers):
        for name in ("norm1", "norm2"):
            weights[f"blocks.{i}.{name}.weight"] = np.ones(WIDTH, np.float32)
            weights[f"blocks.{i}.{name}.bias"] = np.zeros(WIDTH, np.float32)
        for name, shape in linears.items():
            weights[f"blocks.{i}.{name}.weight"] = uniform(rng, shape, shape[1])
            weights[f"blocks.{i}.{name}.bias"] = uniform(rng, shape[:1], shape[1])
    text = rng.integers(0, VOCABULARY, (BATCH, CONTEXT + 1))
    return Problem(x=text[:, :-1].copy(), y=text[:, 1:].copy(), weights=weights)


def _depth(problem: Problem) -> int:
    return sum(name.endswith(".qkv.bias") for name in problem.weights)


def in_torch(torch: Any, problem: Problem) -> TorchTraining:
    F = torch.nn.functional
    sizes = VOCABULARY, CONTEXT, WIDTH, _depth(problem), HEADS
    model = gpt(torch, *sizes, tied=False, gelu="none")
    load_weights(torch, model, problem.weights)
    return TorchTraining(
        model=model,
        optimizer=torch.optim.AdamW(
            model.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY
        ),
        loss=lambda x, y: F.cross_entropy(model(x).view(-1, VOCABULARY), y.view(-1)),
        x=torch.tensor(problem.x),
        y=torch.tensor(problem.y),
    )


def in_jax(problem: Problem) -> JaxTraining:
    import jax
    import jax.numpy as jnp
    import optax

    from benchmarks.workloads.jax_layers import (
        causal_attention,
        cross_entropy,
        gelu,
        layer_norm,
        linear,
        training,
    )

    def attend(p: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        b, t, c = x.shape
        parts = jnp.split(linear(x, p["qkv"], p["qkv_b"]), 3, axis=-1)
        q, k, v = (a.reshape(b, t, HEADS, c // HEADS).swapaxes(1, 2) for a in parts)
        a = causal_attention(q, k, v)
        return linear(a.swapaxes(1, 2).reshape(b, t, c), p["out"], p["out_b"])

    def block(p: dict[str, jax.Array], x: jax.Array) -> jax.Array:
        x = x + attend(p, layer_norm(x, p["norm1"], p["norm1_b"]))
        hidden = linear(layer_norm(x, p["norm2"], p["norm2_b"]), p["up"], p["up_b"])
        return x + linear(gelu(hidden), p["down"], p["down_b"])

    def loss(params: dict[str, Any], x: jax.Array, y: jax.Array) -> jax.Array:
        h = params["tokens"][x] + params["positions"][: x.shape[1]]
        for p in params["blocks"]:
            h = block(p, h)
        h = layer_norm(h, params["norm"], params["norm_b"])
        return cross_entropy(linear(h, params["head"]), y)

    def array(name: str) -> jax.Array:
        a = problem.weights[name]
        is_linear = a.ndim == 2 and not name.startswith(("tokens", "positions"))
        return jnp.asarray(a.T if is_linear else a)

    def layer(i: int) -> dict[str, jax.Array]:
        p = {}
        for name in ("norm1", "qkv", "out", "norm2", "up", "down"):
            p[name] = array(f"blocks.{i}.{name}.weight")
            p[f"{name}_b"] = array(f"blocks.{i}.{name}.bias")
        return p

    params = {
        "tokens": array("tokens.weight"),
        "positions": array("positions.weight"),
        "blocks": [layer(i) for i in range(_depth(problem))],
        "norm": array("norm.weight"),
        "norm_b": array("norm.bias"),
        "head": array("head.weight"),
    }
    optimizer = optax.adamw(LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    return training(loss, params, optimizer, problem.x, problem.y)


def in_nnx(problem: Problem) -> JaxTraining:
    import jax.numpy as jnp
    import optax
    from flax import nnx

    from benchmarks.workloads.jax_layers import cross_entropy
    from benchmarks.workloads.nnx_layers import fill, training

    rngs = nnx.Rngs(0)

    class Block(nnx.Module):
        def __init__(self) -> None:
            self.norm1 = nnx.LayerNorm(WIDTH, epsilon=1e-5, rngs=rngs)
            self.qkv = nnx.Linear(WIDTH, 3 * WIDTH, rngs=rngs)
            self.out = nnx.Linear(WIDTH, WIDTH, rngs=rngs)
            self.norm2 = nnx.LayerNorm(WIDTH, epsilon=1e-5, rngs=rngs)
            self.up = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs)
            self.down = nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            b, t, c = x.shape
            parts = jnp.split(self.qkv(self.norm1(x)), 3, axis=-1)
            q, k, v = (a.reshape(b, t, HEADS, c // HEADS) for a in parts)
            mask = nnx.make_causal_mask(jnp.ones((b, t)))
            a = nnx.dot_product_attention(q, k, v, mask=mask)
            x = x + self.out(a.reshape(b, t, c))
            return x + self.down(nnx.gelu(self.up(self.norm2(x)), approximate=False))

    class GPT(nnx.Module):
        def __init__(self) -> None:
            self.tokens = nnx.Embed(VOCABULARY, WIDTH, rngs=rngs)
            self.positions = nnx.Embed(CONTEXT, WIDTH, rngs=rngs)
            self.blocks = nnx.List([Block() for _ in range(_depth(problem))])
            self.norm = nnx.LayerNorm(WIDTH, epsilon=1e-5, rngs=rngs)
            self.head = nnx.Linear(WIDTH, VOCABULARY, use_bias=False, rngs=rngs)

        def __call__(self, x: Any) -> Any:
            x = self.tokens(x) + self.positions(jnp.arange(x.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    model = fill(GPT(), problem.weights)
    optimizer = optax.adamw(LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    return training(model, lambda m, x, y: cross_entropy(m(x), y), optimizer, problem.x, problem.y)
