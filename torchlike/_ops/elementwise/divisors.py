"""The greatest common divisor and the least common multiple of integers.

Of the smallest integer of a dtype there is no absolute value, and JAX's loop, which waits for a
remainder that is not less than 0, never ends. Here the remainders are C's, which shrink in any
case; what has no place in the dtype comes out as in PyTorch, negative.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


def gcd(x: Any, y: Any) -> jax.Array:
    """Return the greatest common divisor elementwise."""

    def step(pair: Any) -> tuple[Any, ...]:
        divisor, left = pair
        found = divisor == 0
        return (
            jnp.where(found, divisor, lax.rem(left, jnp.where(found, 1, divisor))),
            jnp.where(found, left, divisor),
        )

    x, y = jnp.broadcast_arrays(jnp.abs(x), jnp.abs(y))
    return lax.while_loop(lambda pair: jnp.any(pair[0] != 0), step, (x, y))[1]


def lcm(x: Any, y: Any) -> jax.Array:
    """Return the least common multiple elementwise, 0 beside a 0."""
    common = gcd(x, y)
    none = common == 0
    part = lax.div(x, jnp.where(none, 1, common))
    if x.dtype.itemsize < 4:  # C multiplies in its int: the bits are cut last
        part, y = part.astype(np.int32), y.astype(np.int32)
    return jnp.where(none, 0, jnp.abs(part * y).astype(x.dtype))
