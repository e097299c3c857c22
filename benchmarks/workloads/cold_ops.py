"""Forty operations and modules on sizes that were not seen before, for `benchmarks/cold.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def in_torch(torch: Any) -> dict[str, Callable[[int], Callable[[], Any]]]:
    """Return name -> ``make(n)``, which prepares inputs of size n and gives the call that is
    timed."""
    F = torch.nn.functional

    def of(function: Callable[..., Any], *shape: Any, grad: bool = False) -> Any:
        """Return a maker of calls of ``function`` on a tensor whose shape has n where it says
        "n"."""

        def make(n: int) -> Callable[[], Any]:
            x = torch.rand(*(n if s == "n" else s for s in shape)).requires_grad_(grad)
            if grad:
                return lambda: function(x).sum().backward()
            return lambda: function(x)

        return make

    layer_norm, linear = torch.nn.LayerNorm(16), torch.nn.Linear(16, 32)
    embedding, lstm_cell = torch.nn.Embedding(50, 16), torch.nn.LSTMCell(16, 16)
    conv, batch_norm = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(3)
    gru, attention = torch.nn.GRU(16, 16), torch.nn.MultiheadAttention(16, 2, batch_first=True)
    index, ids = torch.tensor([2, 0, 1]), torch.tensor([3, 1, 4])

    def cross_entropy(n: int) -> Callable[[], Any]:
        x, y = torch.rand(n, 10, requires_grad=True), torch.zeros(n, dtype=torch.int64)
        return lambda: F.cross_entropy(x, y).backward()

    return {
        "x + x": of(lambda x: x + x, "n", 16),
        "x * 2": of(lambda x: x * 2, "n", 16),
        "x - row": of(lambda x: x - x[0], "n", 16),
        "exp": of(torch.exp, "n", 16),
        "sqrt": of(torch.sqrt, "n", 16),
        "tanh": of(torch.tanh, "n", 16),
        "sigmoid": of(torch.sigmoid, "n", 16),
        "relu": of(torch.relu, "n", 16),
        "gelu": of(F.gelu, "n", 16),
        "clamp": of(lambda x: x.clamp(0.2, 0.8), "n", 16),
        "where": of(lambda x: torch.where(x > 0.5, x, -x), "n", 16),
        "compare": of(lambda x: x > 0.5, "n", 16),
        "sum": of(lambda x: x.sum(0), "n", 16),
        "mean": of(lambda x: x.mean(-1), "n", 16),
        "max": of(lambda x: x.max(0), "n", 16),
        "argmax": of(lambda x: x.argmax(-1), "n", 16),
        "var": of(lambda x: x.var(0), "n", 16),
        "cumsum": of(lambda x: x.cumsum(0), "n", 16),
        "sort": of(lambda x: x.sort(0), "n", 16),
        "topk": of(lambda x: x.topk(3), 4, "n"),
        "softmax": of(lambda x: torch.softmax(x, -1), 8, "n"),
        "log_softmax": of(lambda x: torch.log_softmax(x, -1), 8, "n"),
        "matmul": of(lambda x: x @ x.t(), "n", 16),
        "bmm": of(lambda x: torch.bmm(x, x), 4, "n", "n"),
        "transpose, copied": of(lambda x: x.t().contiguous(), "n", 16),
        "x.view + 1": of(lambda x: x.view(-1) + 1, "n", 16),
        "cat": of(lambda x: torch.cat([x, x]), "n", 16),
        "stack": of(lambda x: torch.stack([x, x]), "n", 16),
        "x[index]": of(lambda x: x[index], "n", 16),
        "x[mask]": of(lambda x: x[x > 0.5], "n", 16),
        "tril": of(torch.tril, "n", "n"),
        "linear": of(linear, "n", 16),
        "layer_norm": of(layer_norm, "n", 16),
        "batch_norm": of(batch_norm, 2, 3, "n", "n"),
        "conv2d": of(conv, 2, 3, "n", "n"),
        "max_pool2d": of(lambda x: F.max_pool2d(x, 2), 2, 3, "n", "n"),
        "embedding": lambda n: lambda: embedding(ids.repeat(n)),
        "LSTMCell": of(lambda x: lstm_cell(x), "n", 16),
        "GRU": of(lambda x: gru(x)[0], "n", 2, 16),
        "attention": of(lambda x: attention(x, x, x)[0], 2, "n", 16),
        "linear, both ways": of(linear, "n", 16, grad=True),
        "gelu, both ways": of(F.gelu, "n", 16, grad=True),
        "cross_entropy, both ways": cross_entropy,
    }


def in_jax(jax: Any) -> dict[str, Callable[[int], Callable[[], Any]]]:
    """Return the same operations, as a JAX user would write them: ``jax.numpy`` eagerly, layers in
    ``jax.jit``."""
    jnp, nn = jax.numpy, jax.nn
    random = jax.random.key(0)

    def of(function: Callable[..., Any], *shape: Any) -> Any:
        def make(n: int) -> Callable[[], Any]:
            x = jax.random.uniform(random, [n if s == "n" else s for s in shape])
            jax.block_until_ready(x)
            return lambda: jax.block_until_ready(function(x))

        return make

    def norm(x: Any, over: Any) -> Any:
        mean, var = x.mean(over, keepdims=True), x.var(over, keepdims=True)
        return (x - mean) / jnp.sqrt(var + 1e-5)

    weight, kernel = jnp.ones((16, 32)), jnp.ones((8, 3, 3, 3))
    table, gates, square = jnp.ones((50, 16)), jnp.ones((32, 64)), jnp.ones((16, 48))
    index, ids = jnp.array([2, 0, 1]), jnp.array([3, 1, 4])

    def lstm_cell(x: Any) -> Any:
        i, f, g, o = jnp.split(jnp.concatenate([x, x], -1) @ gates, 4, -1)
        c = nn.sigmoid(f) * x + nn.sigmoid(i) * jnp.tanh(g)
        return nn.sigmoid(o) * jnp.tanh(c), c

    def gru(x: Any) -> Any:
        def step(h: Any, row: Any) -> Any:
            (r, z, n), (s, u, m) = jnp.split(row @ square, 3, -1), jnp.split(h @ square, 3, -1)
            r, z = nn.sigmoid(r + s), nn.sigmoid(z + u)
            h = (1 - z) * jnp.tanh(n + r * m) + z * h
            return h, h

        return jax.lax.scan(step, jnp.zeros(x.shape[1:]), x)[1]

    def attention(x: Any) -> Any:
        q, k, v = (part.reshape(*x.shape[:2], 2, 8) for part in jnp.split(x @ square, 3, -1))
        return jax.nn.dot_product_attention(q, k, v).reshape(x.shape) @ weight

    def convolve(x: Any) -> Any:
        return jax.lax.conv(x, kernel, (1, 1), "SAME")

    def pool(x: Any) -> Any:
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def loss(x: Any) -> Any:
        return -nn.log_softmax(x)[:, 0].mean()

    jit = jax.jit
    return {
        "x + x": of(lambda x: x + x, "n", 16),
        "x * 2": of(lambda x: x * 2, "n", 16),
        "x - row": of(lambda x: x - x[0], "n", 16),
        "exp": of(jnp.exp, "n", 16),
        "sqrt": of(jnp.sqrt, "n", 16),
        "tanh": of(jnp.tanh, "n", 16),
        "sigmoid": of(nn.sigmoid, "n", 16),
        "relu": of(nn.relu, "n", 16),
        "gelu": of(jit(lambda x: nn.gelu(x, approximate=False)), "n", 16),
        "clamp": of(lambda x: jnp.clip(x, 0.2, 0.8), "n", 16),
        "where": of(lambda x: jnp.where(x > 0.5, x, -x), "n", 16),
        "compare": of(lambda x: x > 0.5, "n", 16),
        "sum": of(lambda x: x.sum(0), "n", 16),
        "mean": of(lambda x: x.mean(-1), "n", 16),
        "max": of(lambda x: (x.max(0), x.argmax(0)), "n", 16),
        "argmax": of(lambda x: x.argmax(-1), "n", 16),
        "var": of(lambda x: x.var(0, ddof=1), "n", 16),
        "cumsum": of(lambda x: x.cumsum(0), "n", 16),
        "sort": of(lambda x: (jnp.sort(x, 0), jnp.argsort(x, 0)), "n", 16),
        "topk": of(lambda x: jax.lax.top_k(x, 3), 4, "n"),
        "softmax": of(nn.softmax, 8, "n"),
        "log_softmax": of(nn.log_softmax, 8, "n"),
        "matmul": of(lambda x: x @ x.T, "n", 16),
        "bmm": of(lambda x: x @ x, 4, "n", "n"),
        "transpose, copied": of(lambda x: x.T, "n", 16),
        "x.view + 1": of(lambda x: x.reshape(-1) + 1, "n", 16),
        "cat": of(lambda x: jnp.concatenate([x, x]), "n", 16),
        "stack": of(lambda x: jnp.stack([x, x]), "n", 16),
        "x[index]": of(lambda x: x[index], "n", 16),
        "x[mask]": of(lambda x: x[x > 0.5], "n", 16),
        "tril": of(jnp.tril, "n", "n"),
        "linear": of(jit(lambda x: x @ weight + 1), "n", 16),
        "layer_norm": of(jit(lambda x: norm(x, -1)), "n", 16),
        "batch_norm": of(jit(lambda x: norm(x, (0, 2, 3))), 2, 3, "n", "n"),
        "conv2d": of(jit(convolve), 2, 3, "n", "n"),
        "max_pool2d": of(jit(pool), 2, 3, "n", "n"),
        "embedding": lambda n: lambda: jax.block_until_ready(table[jnp.tile(ids, n)]),
        "LSTMCell": of(jit(lstm_cell), "n", 16),
        "GRU": of(jit(gru), "n", 2, 16),
        "attention": of(jit(attention), 2, "n", 16),
        "linear, both ways": of(jit(jax.grad(lambda x: (x @ weight).sum())), "n", 16),
        "gelu, both ways": of(
            jit(jax.grad(lambda x: nn.gelu(x, approximate=False).sum())), "n", 16
        ),
        "cross_entropy, both ways": of(jit(jax.grad(loss)), "n", 10),
    }
