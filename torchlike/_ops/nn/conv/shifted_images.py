"""Convolutions of few taps as sums of shifted images, which XLA makes one loop of.

A tap is one place of the kernel in one channel. XLA's own convolutions lay out a column for each
position of the output, which does not pay where there is little to multiply it with. Measured
(float32, two threads, µs; the faster of XLA's two convolutions and a sum of shifted images):

- kernels of 3x3, 1 channel on 28x28, batch 16: to 8 channels 343 and 69, to 32 134 and 89, to 128
  410 and 247;
- of 5x5, to 1 channel 623 and 33, to 8 619 and 83, to 32 225 and 180, to 64 344 and 428;
- 3 channels on 32x32, batch 16, 3x3: to 8 597 and 131, to 32 677 and 329, to 64 465 and 573.

Weight gradients of such convolutions are XLA's: as a product with the shifted images stacked they
took between a half and four times as long.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from torchlike._ops.nn.pool.windows import fitting, windows
from torchlike._ops.unfused import unfused

#: Taps times channels of the output, at most, and taps (each is compiled).
_PRODUCTS = 1152
_TAPS = 80


def pays(weight: Any) -> bool:
    """Return whether a convolution with weight (…, C, O) is faster as a sum; not in half precision,
    where a sum of many terms would be rounded at each."""
    taps = math.prod(weight.shape[:-1])
    return (
        weight.dtype in (jnp.float32, jnp.float64)
        and taps <= _TAPS
        and taps * weight.shape[-1] <= _PRODUCTS
    )


def convolve(x: Any, weight: Any, stride: Any, pads: Any, dilation: Any) -> jax.Array:
    """Return the convolution of x (N, …, C) with weight (…, C, O): (N, …, O).

    It is computed once, whatever reads it: XLA would fuse the sum into each loop that does, and a
    second convolution behind it reads each element once for each tap. On 4x8x64x64, 8 channels,
    3x3, two of them one behind the other take 29 ms fused and 1.3 so. The sum is put into PyTorch's
    order of dimensions in the same loop, which by itself takes as long as the sum of a small image.
    """
    padded = jnp.pad(x, [(0, 0), *pads, (0, 0)])
    kernel = weight.shape[:-2]
    out = fitting(padded.shape[1:-1], kernel, stride, dilation)

    def channels_first(padded: Any, weight: Any) -> Any:
        terms = [
            padded[(slice(None), *window, slice(c, c + 1))] * weight[(*offset, c)]
            for offset, window in windows(kernel, out, stride, dilation)
            for c in range(x.shape[-1])
        ]
        return jnp.moveaxis(sum(terms[1:], terms[0]), -1, 1)

    return jnp.moveaxis(unfused(channels_first, padded, weight), 1, -1)


def convolve_each(
    x: Any, weight: Any, out: Any, stride: Any, pads: Any, dilation: Any
) -> jax.Array:
    """Convolve with a group for each channel: x (N, C, …) with weight (C * multiple, 1, …), in
    channels-last order in between."""
    multiple = weight.shape[0] // x.shape[1]
    padded = jnp.pad(jnp.moveaxis(x, 1, -1), [(0, 0), *pads, (0, 0)])
    if multiple > 1:
        padded = jnp.repeat(padded, multiple, -1)
    total: Any = 0
    for offset, window in windows(weight.shape[2:], out, stride, dilation):
        total = total + padded[(slice(None), *window)] * weight[(slice(None), 0, *offset)]
    return jnp.moveaxis(total, -1, 1)
