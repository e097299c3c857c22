"""The channels-last convolution of XLA's CPU backend, and its derivatives.

Few taps are a sum of shifted images (`shifted_images`). Where YNNPACK computes the rest (see
`xla_flags`), the weight gradient is computed in parts of the batch: it lays out the columns of one
product over all positions of all images, and beyond a few megabytes they fall out of the cache.
Measured for 3x3 kernels, float32, in ms, the whole batch / the best of parts:

- 32 images of 14x14, 32 -> 64 channels: 2.25 / 1.51 (4 or 8 images each); 64 images 4.5 / 3.0;
- 32 images of 32x32, 64 -> 64: 37 / 18 (2 images), 25 (8 images); 16 of 28x28, 32 -> 32: 1.8 / 1.4;
- 32 images of 7x7, 128 -> 128: 3.1 / 3.2 (16 images), 3.5 (8): a product needs positions.

With Eigen's convolution the whole batch is faster: 64 -> 64 channels on 32x32, batch 16, 9.9 and
22 ms (YNNPACK in parts 12.2), 16 -> 32 on 16x16x16, batch 8, 28 and 58.

Dead ends: `lax.map` over the parts (87 ms instead of 2.25: in a loop XLA's convolution is the naive
one); a product for each tap of the kernel (2.55), im2col by hand (2.1).
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero

from torchlike._ops.nn.conv import shifted_images
from torchlike._runtime import xla_flags

#: Bytes of columns at once, positions that a part must have, and parts at most (each compiles).
_COLUMNS = 1 << 20
_POSITIONS = 768
_PARTS = 16


class ConvolutionGeometry(NamedTuple):
    """What of a convolution is no array."""

    stride: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]


def _convolve(x: Any, weight: Any, geometry: ConvolutionGeometry) -> jax.Array:
    n = x.ndim - 2
    spatial = tuple(range(1, n + 1))
    dims = lax.ConvDimensionNumbers(
        (0, n + 1, *spatial), (n + 1, n, *range(n)), (0, n + 1, *spatial)
    )
    return lax.conv_general_dilated(
        x,
        weight,
        geometry.stride,
        geometry.pads,
        rhs_dilation=geometry.dilation,
        dimension_numbers=dims,
    )


def images_at_once(images: int, positions: int, column: int) -> int:
    """Return how many images a part of the weight gradient has: a divisor of ``images``.

    ``positions`` of the output in an image, ``column`` bytes of input that each depends on.
    """
    fewest = max(-(-_POSITIONS // max(positions, 1)), -(-images // _PARTS), 1)
    possible = [n for n in range(fewest, images + 1) if images % n == 0] or [images]
    cached = [n for n in possible if n * positions * column <= _COLUMNS]
    return cached[-1] if cached else possible[0]


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def channels_last(x: Any, weight: Any, geometry: ConvolutionGeometry) -> jax.Array:
    """Return the convolution of x (N, …, C) with weight (…, C, O): (N, …, O)."""
    if shifted_images.pays(weight):
        return shifted_images.convolve(x, weight, *geometry)
    return _convolve(x, weight, geometry)


def _jvp(geometry: ConvolutionGeometry, primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x, weight), (dx, dweight) = primals, tangents
    out = channels_last(x, weight, geometry)
    parts = []
    if not isinstance(dx, SymbolicZero):
        parts.append(_convolve(dx, weight, geometry))
    if not isinstance(dweight, SymbolicZero):
        n = len(x)
        if x.ndim == 4 and not xla_flags.convolves_by_eigen():
            column = math.prod(weight.shape[:-1]) * x.dtype.itemsize
            n = images_at_once(n, math.prod(out.shape[1:-1]), column)
        pieces = [_convolve(x[i : i + n], dweight, geometry) for i in range(0, len(x), n)]
        parts.append(pieces[0] if len(pieces) == 1 else jnp.concatenate(pieces))
    return out, sum(parts[1:], parts[0])


channels_last.defjvp(_jvp, symbolic_zeros=True)
