"""Over how many steps RAdam's second moment averages (Liu et al. 2020, section 5.1)."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from torchlike.optim.rules import numbers


def averaged_over(p: Any, decay: Any, step: Any, second: Any) -> tuple[Any, jax.Array]:
    """Return the length, in the paper's terms, over which the moment is averaged: in the limit, and
    at a step, among the `numbers` of ``p``. ``second`` is the moment's correction, ``1 - decay **
    step``.

    That at a step is the difference of two numbers which early steps make nearly equal:
    ``2 / (1 - decay) - 1 - 2 * step * decay ** step / (1 - decay ** step)``. Float64 has bits for
    it. In float32 the same is computed without that difference while ``decay ** step > 1 / e``.
    """
    (count,) = numbers(p, step)
    if count.dtype == jnp.float64:
        longest = 2 / (1 - decay) - 1
        return longest, longest - 2 * count * (1 - second) / second
    (taken,) = numbers(p, 1 - decay)
    longest = 2 / taken - 1
    power = count * jnp.log1p(-taken)
    beyond = _exponential_beyond_line(power) - count * _logarithm_beyond_line(taken)
    early = 2 * count - 1 - 2 * beyond / (taken * second)
    late = longest - 2 * count * jnp.exp(power) / second
    return longest, jnp.where(power > -1, early, late)


def _exponential_beyond_line(x: jax.Array) -> jax.Array:
    """Return ``exp(x) - 1 - x`` for x in [-1, 0], by its series."""
    total = jnp.zeros_like(x)
    for k in range(12, 1, -1):
        total = total * x + 1 / math.factorial(k)
    return total * x * x


def _logarithm_beyond_line(x: jax.Array) -> jax.Array:
    """Return ``-log(1 - x) - x`` for x in (0, 1]. With z = x / (2 - x), -log(1 - x) is 2 * (z +
    z**3 / 3 + z**5 / 5 + …), and 2 * z - x is x * z."""
    z = x / (2 - x)
    total = jnp.zeros_like(x)
    for k in range(17, 1, -2):
        total = total * z * z + 1 / k
    series = x * z + 2 * total * z * z * z
    return jnp.where(x < 0.5, series, -jnp.log1p(-x) - x)
