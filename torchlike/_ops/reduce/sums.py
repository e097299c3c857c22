"""Sums whose rounding errors do not grow with their length, as PyTorch's do not.

XLA adds floats up in parts, but complex arrays of several dimensions number by number: the sum of
(64, 32, 16, 16) complex64 was off by 1.7e-3.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def added(x: Any, over: Any = None, *, keepdims: bool = False) -> jax.Array:
    """Sum over axes as ``jnp.sum``, complex numbers by their parts."""
    if x.dtype.kind != "c":
        return jnp.sum(x, over, keepdims=keepdims)
    return lax.complex(
        jnp.sum(lax.real(x), over, keepdims=keepdims), jnp.sum(lax.imag(x), over, keepdims=keepdims)
    )
