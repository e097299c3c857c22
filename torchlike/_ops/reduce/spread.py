"""The variance with room for its squares: the deviations are squared and summed in float64.

PyTorch computes in float64 as well. In float32 the deviation of 1e20, 2e20, 3e20 is infinite, and
that of 1e-25, 2e-25, 3e-25 is 0.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes
from torchlike._ops.elementwise.division import divide


def variance(
    x: Any, over: tuple[int, ...], correction: Any, *, keepdims: bool = False
) -> jax.Array:
    """Return the variance over axes, ``correction`` degrees of freedom taken off, in float64."""
    count = math.prod(x.shape[d] for d in over)
    parts = (x.real, x.imag) if dtypes.kind_of(x.dtype) == "c" else (x,)
    squares = [jnp.square(_deviation(part, over, count)) for part in parts]
    total = jnp.sum(sum(squares[1:], squares[0]), over, keepdims=keepdims)
    return divide(total, jnp.asarray(max(count - correction, 0), total.dtype))


def _deviation(x: Any, over: tuple[int, ...], count: int) -> jax.Array:
    """Return ``x`` minus its mean, in float64.

    Of float32 it is taken in float32, from the mean in two parts: XLA would write an array in
    float64 that two loops read, which takes five times as long.
    """
    mean = jnp.sum(x, over, keepdims=True, dtype=np.float64) / count
    if x.dtype == np.float64:
        return x - mean
    high = mean.astype(x.dtype)
    low = lax.stop_gradient(jnp.where(jnp.isfinite(high), mean - high, 0)).astype(x.dtype)
    return ((x - high) - low).astype(np.float64)
