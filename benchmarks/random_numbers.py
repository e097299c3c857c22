"""PyTorch's random numbers of CUDA, as accelerators draw them, beside jax.random: compiled, on this
machine's default device.

    python -m benchmarks.random_numbers [--rounds 15] [--elements 1048576]

In turns; milliseconds, the least and the median of the rounds. A draw of neither leaves the device.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike.random.cuda import layout, philox, samplers

FLOAT, LONG = np.dtype(np.float32), np.dtype(np.int64)


def cases(n: int) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Return what is timed, by its name: ours, and that of JAX."""
    grid = layout.grid(n)
    key, theirs = jnp.asarray(philox.key_of(0, 0)), jax.random.key(0)
    zero, one, half = (jnp.float32(x) for x in (0, 1, 0.5))
    span, low = jnp.uint64(1000), jnp.int64(0)
    uniform = jax.jit(samplers.uniform(grid, FLOAT))
    normal = jax.jit(samplers.normal(grid, FLOAT))
    integers = jax.jit(samplers.integers(grid, LONG))
    mask = jax.jit(samplers.dropout_mask(grid, 4))
    coins = jax.jit(lambda k: jax.random.bernoulli(k, jnp.float32(0.5), (n,)))
    return {
        "uniform": (
            lambda: uniform(key, zero, one),
            lambda: jax.random.uniform(theirs, (n,), FLOAT),
        ),
        "normal": (lambda: normal(key, zero, one), lambda: jax.random.normal(theirs, (n,), FLOAT)),
        "integers": (
            lambda: integers(key, span, low),
            lambda: jax.random.randint(theirs, (n,), 0, 1000, dtype=jnp.int64),
        ),
        "dropout's mask": (lambda: mask(key, half), lambda: coins(theirs)),
    }


def milliseconds(function: Callable[[], Any]) -> float:
    """Measure one call, its result waited for."""
    start = time.perf_counter()
    jax.block_until_ready(function())
    return 1e3 * (time.perf_counter() - start)


def main(argv: Sequence[str] | None = None) -> None:
    """Print a line a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--elements", type=int, default=1 << 20)
    options = parser.parse_args(argv)
    for name, pair in cases(options.elements).items():
        for function in pair:
            function()
        rounds = [[milliseconds(f) for f in pair] for _ in range(options.rounds)]
        ours, theirs = zip(*rounds, strict=True)
        print(
            f"{name:<16} torchlike {min(ours):7.2f} {median(ours):7.2f}   "
            f"jax.random {min(theirs):7.2f} {median(theirs):7.2f}   "
            f"÷ {min(ours) / min(theirs):.2f} {median(ours) / median(theirs):.2f}"
        )


if __name__ == "__main__":
    main()
