"""Running sums, products and extrema: on XLA's CPU backend by blocks, element by element.

JAX folds in log(n) passes over the whole array. Here all blocks of an axis are folded at once, one
element after the other, and what the blocks before come to is folded into each. Processor time of
JAX's passes and so, in µs, for 256 × 256 along the last axis: sum 690 and 280, product 620 and 400,
maximum 1,095 and 153, log-sum-exp 26,600 and 470.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._ops.loops import scan
from torchlike._runtime import targets
from torchlike._runtime.jax_private.jaxprs import seems_symbolic

#: Elements that are folded one after the other, and rows at least beside which that pays.
_BLOCK, _ROWS = 128, 16
#: Elements of the largest array whose last axis is brought to the front for that.
_TRANSPOSED = 1 << 18


def by_rows(shape: tuple[Any, ...], axis: int) -> bool:
    """Return whether a fold along an axis takes less time in a loop over its rows than in passes
    over the whole array."""
    if not targets.is_xla_cpu() or any(map(seems_symbolic, shape)):
        return False
    n, size, inner = shape[axis], math.prod(shape), math.prod(shape[axis:][1:])
    blocks = -(-n // _BLOCK)
    # Along the last axis of large arrays XLA's transpositions take longer than its passes: a sum of
    # (1024, 1024) 6,500 µs and 23,000, along the first axis 16,000 and 2,100.
    return n >= 2 and size // n * blocks >= _ROWS and (inner >= _ROWS or size <= _TRANSPOSED)


def folded(fold: Callable[[Any, Any], Any], terms: Any, axis: int, start: Any) -> Any:
    """Return the running ``fold(so far, term)`` of ``terms`` (arrays of one shape, in a tree) along
    an axis.

    ``fold`` is associative; ``start``, a number for each array, is what it begins with.
    """
    shape = jax.tree.leaves(terms)[0].shape
    if not by_rows(shape, axis):
        return lax.associative_scan(fold, terms, axis=axis)
    n = shape[axis]
    blocks = -(-n // _BLOCK)
    rows = jax.tree.map(lambda x: _blocked(jnp.moveaxis(x, axis, 0), blocks), terms)

    def step(so_far: Any, term: Any) -> tuple[Any, Any]:
        return (fold(so_far, term),) * 2

    begin = jax.tree.map(lambda x, first: jnp.full_like(x[0], first), rows, start)
    totals, found = scan(step, begin, rows)
    if blocks > 1:
        before = folded(fold, jax.tree.map(lambda x: x[:-1], totals), 0, start)
        before = jax.tree.map(_behind, before, start)
        found = fold(before, found)
        found = jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1).reshape(-1, *x.shape[2:])[:n], found)
    return jax.tree.map(lambda x: jnp.moveaxis(x, 0, axis), found)


def _blocked(x: Any, blocks: int) -> jax.Array:
    """Return rows as (rows of a block, blocks, …); what fills up the last block is never folded
    into another."""
    if blocks == 1:
        return x
    x = jnp.pad(x, [(0, blocks * _BLOCK - len(x)), *((0, 0) for _ in x.shape[1:])])
    return jnp.swapaxes(x.reshape(blocks, _BLOCK, *x.shape[1:]), 0, 1)


def _behind(x: Any, first: Any) -> jax.Array:
    return jnp.pad(x, [(1, 0), *((0, 0) for _ in x.shape[1:])], constant_values=first)


def running_sum(x: Any, axis: int) -> jax.Array:
    """Return the running sum along an axis."""
    return folded(operator.add, x, axis, 0) if by_rows(x.shape, axis) else jnp.cumsum(x, axis)


def running_product(x: Any, axis: int) -> jax.Array:
    """Return the running product along an axis, on the CPU multiplied in double precision as by
    PyTorch: what goes out of range on the way may come back, and infinity times 0 is NaN."""
    wide = {"float32": np.float64, "complex64": np.complex128}.get(x.dtype.name)
    if not targets.is_cpu():
        wide = None
    terms = x if wide is None else x.astype(wide)
    if by_rows(x.shape, axis):
        found = folded(operator.mul, terms, axis, 1)
    else:
        found = jnp.cumprod(terms, axis)
    return found.astype(x.dtype)


def recurrence(kept: Any, added: Any, axis: int) -> jax.Array:
    """Return the rows ``y[i] = kept[i] * y[i - 1] + added[i]`` along an axis, from 0."""

    def both(first: Any, second: Any) -> tuple[Any, Any]:
        return first[0] * second[0], first[1] * second[0] + second[1]

    return folded(both, (kept, added), axis, (1, 0))[1]
