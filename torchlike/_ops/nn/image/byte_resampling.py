"""Resampling images of bytes as PyTorch's kernel does it: in whole numbers, the width first.

Weights are rounded to 16 bits with as many digits as fit, and each dimension's result to bytes.
In floats a tenth of the pixels would be off by one.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def _filter(x: Any, cubic: bool, antialias: bool) -> np.ndarray:
    x = np.abs(x)
    if not cubic:
        return np.maximum(1 - x, 0)
    a = -0.5 if antialias else -0.75
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _table(
    size: int, out: int, factor: float | None, align_corners: bool, cubic: bool, antialias: bool
) -> tuple[Any, Any]:
    """Return the places from which each output reads, and its weights: (out, taps) each."""
    if align_corners:
        scale = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        scale = 1 / factor if factor else size / out
    stretch = scale if antialias and scale >= 1 else 1.0
    support = (2.0 if cubic else 1.0) * stretch
    # Without a wider filter, pixels are points where corners are aligned, and areas elsewhere.
    shift = 0.5 if align_corners and not antialias else 0.0
    centre = scale * (np.arange(out) + 0.5 - shift)
    first = np.floor(centre - support + 0.5 + shift).astype(np.int64)
    last = np.trunc(centre + support + 0.5 + shift).astype(np.int64)
    at = first[:, None] + np.arange(math.ceil(support) * 2 + 1)
    weights = _filter((at - centre[:, None] + 0.5 - shift) / stretch, cubic, antialias)
    inside = at < last[:, None]
    if antialias:
        inside &= (at >= 0) & (at < size)  # what lies outside has no share
    weights = np.where(inside, weights, 0)
    # The share of what lies outside goes to the border before anything is rounded.
    shares = np.zeros((out, size))
    np.add.at(shares, (np.arange(out)[:, None], np.clip(at, 0, size - 1)), weights)
    shares /= shares.sum(1, keepdims=True)
    places = np.maximum(first, 0)[:, None] + np.arange(at.shape[1])
    reached = np.minimum(places, size - 1)
    return reached, np.where(places < size, np.take_along_axis(shares, reached, 1), 0)


def _fixed(weights: Any) -> tuple[Any, int]:
    """Return the weights as whole numbers, and how many binary digits they have."""
    largest, digits = weights.max(), 0
    while digits < 22 and 0.5 + largest * (1 << (digits + 1)) < 1 << 15:
        digits += 1
    scaled = weights * (1 << digits)
    return np.trunc(scaled + np.where(weights < 0, -0.5, 0.5)).astype(np.int32), digits


def resampled_bytes(
    x: Any, size: Any, factors: Any, align_corners: bool, cubic: bool, antialias: bool
) -> jax.Array:
    """Resample (N, C, H, W) of uint8 to another size; a dimension that keeps its own is left
    alone."""
    for axis in (3, 2):
        if size[axis - 2] == x.shape[axis]:
            continue
        places, weights = _table(
            x.shape[axis], size[axis - 2], factors[axis - 2], align_corners, cubic, antialias
        )
        whole, digits = _fixed(weights)
        shape = [1] * 4
        shape[axis] = -1
        total: Any = 1 << (digits - 1)
        for k in range(places.shape[1]):
            taken = jnp.take(x, places[:, k], axis).astype(np.int32)
            total = total + taken * whole[:, k].reshape(shape)
        x = jnp.clip(total >> digits, 0, 255).astype(np.uint8)
    return x
