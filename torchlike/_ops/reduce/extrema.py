"""The largest or smallest element along a dimension, and where it is.

XLA's CPU backend computes ``argmax`` of floats one element at a time. Here the extremum is found
first, which is vectorised, then the first place that holds it. Measured in ms, two x86-64 cores,
argmax / this: float32 2048x2048 along rows 9.0 / 0.94, along columns 12.8 / 1.15, 4 million numbers
17.9 / 0.97, 32x1000 0.18 / 0.04; float64 2048x2048 9.1 / 1.6. Along the last dimension of integers
argmax is the faster one: 3.1 / 4.7.

The gradient is a selection rather than a scatter: it goes to the one place that was found.

XLA's CPU backend (jaxlib 0.10.2 and 0.12.0) hands a reduction of some thousand numbers to YNNPACK,
whose maximum and minimum leave NaN out: `jax.jit(jnp.max)` of 64 x 64 numbers of which one is NaN
gives a number, by which a step that has diverged looks sound. So `reduced_extremum` asks for NaN
as well: of a million numbers that takes 1.0 ms for 0.4, of small arrays no longer. Without YNNPACK
(``--xla_cpu_experimental_ynn_fusion_type=-reduce``) they take 1.4 to 2.6, and sums twice as long,
too. Where what is computed of the numbers carries NaN on (a softmax) `jax.numpy.max` will do: a
check in JAX's own rule for the primitive made softmax 1.3 to 1.6 times as long.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes
from torchlike._ops.unfused import settled
from torchlike._runtime import targets


def reduced_extremum(x: Any, over: Any, largest: bool, keepdims: bool = False) -> jax.Array:
    """Return the largest or smallest element over axes (None: all of them); NaN where there is
    one."""
    found = (jnp.max if largest else jnp.min)(x, over, keepdims=keepdims)
    if not targets.is_xla_cpu() or dtypes.kind_of(x.dtype) != "f":
        return found
    is_nan = jnp.any(x != x, over, keepdims=keepdims)
    return found * jnp.where(is_nan, jnp.nan, 1).astype(x.dtype)  # the gradient is NaN, too


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def extremum(x: Any, axis: int, largest: bool) -> tuple[Any, Any]:
    """Return (values, int64 indices of the first of equal ones) along ``axis``, which stays as 1.

    A NaN counts as the extremum. ``x`` is real, and has elements along ``axis``, a non-negative
    number.
    """
    if x.dtype == np.bool_:
        value, index = extremum(x.astype(np.uint8), axis, largest)
        return value.astype(np.bool_), index
    value = reduced_extremum(x, axis, largest, keepdims=True)
    floats = dtypes.kind_of(x.dtype) == "f"
    if not targets.is_xla_cpu() or not (floats or axis != x.ndim - 1):
        search = jnp.argmax if largest else jnp.argmin
        return value, search(x, axis, keepdims=True).astype(np.int64)
    found = x == value
    if floats:
        found |= x != x
    last = np.int32(x.shape[axis] - 1)
    first = jnp.min(jnp.where(found, _places(x, axis), last), axis, keepdims=True)
    # Changes nothing; but a reduction with a second use is not fused into the comparison, where XLA
    # computes it one element at a time (9 instead of 0.9 ms where only the indices are wanted).
    first = jnp.where(value == 0, jnp.minimum(first, last), first)
    return value, first.astype(np.int64)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def extremum_of_all(x: Any, largest: bool) -> jax.Array:
    """Return the largest or smallest element; NaN where there is one. The gradient is shared evenly
    by the elements equal to it, NaNs among themselves."""
    return reduced_extremum(x, None, largest)


@extremum_of_all.defjvp
def _extremum_of_all_jvp(largest: bool, primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (dx,) = (settled(primals[0]),), tangents
    found = extremum_of_all(x, largest)
    chosen = (x == found) | ((x != x) & (found != found))
    total = jnp.sum(jnp.where(chosen, dx, jnp.zeros((), dx.dtype)))
    return found, total / jnp.sum(chosen, dtype=x.dtype)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def extreme_size(x: Any, over: tuple[int, ...], largest: bool) -> jax.Array:
    """Return the extremum over axes, which stay as 1. The gradient is shared evenly by the elements
    equal to it; there is none where it is NaN."""
    return reduced_extremum(x, over, largest, keepdims=True)


@extreme_size.defjvp
def _extreme_size_jvp(
    over: tuple[int, ...], largest: bool, primals: Any, tangents: Any
) -> tuple[Any, ...]:
    (x,), (dx,) = (settled(primals[0]),), tangents
    found = extreme_size(x, over, largest)
    chosen = x == found
    total = jnp.sum(jnp.where(chosen, dx, jnp.zeros((), dx.dtype)), over, keepdims=True)
    count = jnp.sum(chosen, over, keepdims=True, dtype=x.dtype)
    return found, total / jnp.maximum(count, 1)


def _places(x: Any, axis: int) -> jax.Array:
    return lax.broadcasted_iota(np.int32, x.shape, axis)


@extremum.defjvp
def _extremum_jvp(axis: int, largest: bool, primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (dx,) = primals, tangents
    values, index = extremum(x, axis, largest)
    chosen = jnp.where(_places(x, axis) == index, dx, jnp.zeros((), dx.dtype))
    tangent = jnp.sum(chosen, axis, keepdims=True)
    return (values, index), (tangent, np.zeros(index.shape, jax.dtypes.float0))
