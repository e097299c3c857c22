"""Sums whose rounding errors do not grow with their length, as PyTorch's do not.

XLA adds floats up in parts, but complex arrays of several dimensions number by number: the sum of
(64, 32, 16, 16) complex64 was off by 1.7e-3.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._ops.loops import scan
from torchlike._runtime import targets
from torchlike._runtime.jax_private.jaxprs import seems_symbolic

#: Elements that are added one after the other, and rows at least beside which that pays.
_BLOCK, _ROWS = 128, 16
#: Elements of the largest array whose last axis is brought to the front for that.
_TRANSPOSED = 1 << 18


def added(x: Any, over: Any = None, *, keepdims: bool = False) -> jax.Array:
    """Sum over axes as ``jnp.sum``, complex numbers by their parts."""
    if x.dtype.kind != "c":
        return jnp.sum(x, over, keepdims=keepdims)
    return lax.complex(
        jnp.sum(lax.real(x), over, keepdims=keepdims), jnp.sum(lax.imag(x), over, keepdims=keepdims)
    )


def running(x: Any, axis: int) -> jax.Array:
    """Return the running sum along an axis.

    ``jnp.cumsum`` adds in log(n) passes over the whole array on XLA's CPU backend. Here all blocks
    of an axis are added up at once, element by element, and the sum of the blocks before is added
    to each. Processor time of `jnp.cumsum` and so, in µs: (256, 256) 690 and 280, (8, 8, 1024) 560
    and 290, (4096, 16) 430 and 140, (1, 100000) 1900 and 790; along the first axis of (1024, 1024)
    16,000 and 2,100. Along the last axis of large arrays XLA's transpositions take longer than its
    passes, (1024, 1024) 6,500 and 23,000: there it is `jnp.cumsum`.
    """
    if not targets.is_xla_cpu() or any(map(seems_symbolic, x.shape)):
        return jnp.cumsum(x, axis)
    n = x.shape[axis]
    blocks = -(-n // _BLOCK)
    size, inner = math.prod(x.shape), math.prod(x.shape[axis:][1:])
    if size // max(n, 1) * blocks < _ROWS or n < 2 or (inner < _ROWS and size > _TRANSPOSED):
        return jnp.cumsum(x, axis)
    terms = jnp.moveaxis(x, axis, 0)
    if blocks > 1:
        terms = jnp.pad(terms, [(0, blocks * _BLOCK - n), *((0, 0) for _ in terms.shape[1:])])
        terms = jnp.swapaxes(terms.reshape(blocks, _BLOCK, *terms.shape[1:]), 0, 1)

    def add(total: Any, term: Any) -> tuple[Any, Any]:
        return (total + term,) * 2

    sums, found = scan(add, jnp.zeros_like(terms[0]), terms)
    if blocks > 1:
        before = running(sums[:-1], 0)
        found += jnp.pad(before, [(1, 0), *((0, 0) for _ in before.shape[1:])])
        found = jnp.swapaxes(found, 0, 1).reshape(-1, *found.shape[2:])[:n]
    return jnp.moveaxis(found, 0, axis)


def running_product(x: Any, axis: int) -> jax.Array:
    """Return the running product along an axis, on the CPU multiplied in double precision as by
    PyTorch: what goes out of range on the way may come back, and infinity times 0 is NaN."""
    wide = {"float32": np.float64, "complex64": np.complex128}.get(x.dtype.name)
    if wide is None or not targets.is_cpu():
        return jnp.cumprod(x, axis)
    return jnp.cumprod(x.astype(wide), axis).astype(x.dtype)
