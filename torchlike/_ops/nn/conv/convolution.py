"""Convolutions, forward and transposed, in the lowering that XLA's CPU backend runs best.

Measured (two x86-64 cores, float32, forward / backward in ms):

- 512 channels on a 2x2 output, batch 4: XLA's convolution 86 / 55; im2col + matmul 0.7 / 1.4;
- 256 channels on 4x4: 0.79 / 1.69; im2col 0.52 / 0.85. From 8x8 on the convolution wins;
- 1x1 kernels, 64 -> 128 channels on 16x16: 0.29 / 1.32; as a matmul 0.42 / 0.78;
- whole training step (2 convolutions, 2 pools, batch 32, 28x28): 6.7 ms in channels-first order,
  5.5 with every convolution and pool in channels-last order between transposes, which XLA cancels
  between neighbours; written channels-last by hand 5.4. Alone, an op takes as long either way;
- 4 groups of 16 channels on 28x28, batch 8: 5.7 / 391; one convolution for each group 1.5 / 7;
- 64 groups of one channel on 28x28, batch 8: 8.6 / 18; as a sum of shifted images 0.7 / 3.5;
- volumes, by a convolution of planes (`_by_planes`): see there.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from torchlike._ops.nn.conv.convolution_gradient import ConvolutionGeometry, channels_last
from torchlike._ops.nn.conv.shifted_images import convolve_each
from torchlike._ops.nn.pool.windows import fitting, windows
from torchlike._runtime import targets

#: Outputs of at most this many positions go through im2col (4x4: see above).
_TINY_OUTPUT = 16
#: Depthwise kernels of at most this many taps are sums of shifted images (7x7).
_FEW_TAPS = 49


def _as_matmul(x: Any, weight: Any) -> jax.Array:
    """Compute a 1x1 convolution of stride 1 without padding: one product for each image."""
    flat = x.reshape(*x.shape[:2], -1)
    y = jnp.einsum("oc,ncp->nop", weight.reshape(weight.shape[:2]), flat)
    return y.reshape(x.shape[0], weight.shape[0], *x.shape[2:])


def patches(
    x: Any, kernel: tuple[int, ...], out: tuple[int, ...], stride: Any, dilation: Any
) -> jax.Array:
    """Return the patches of padded ``x`` (N, C, …) as (N, C, prod(kernel), *out)."""
    found = [
        x[(slice(None), slice(None), *window)]
        for _, window in windows(kernel, out, stride, dilation)
    ]
    return jnp.stack(found, 2)


def _as_im2col(x: Any, weight: Any, out: Any, stride: Any, pads: Any, dilation: Any) -> jax.Array:
    padded = jnp.pad(x, [(0, 0), (0, 0), *pads])
    columns = patches(padded, weight.shape[2:], out, stride, dilation)
    taps = math.prod(weight.shape[1:])
    columns = columns.reshape(x.shape[0], taps, math.prod(out))
    y = jnp.einsum("ok,nkp->nop", weight.reshape(weight.shape[0], taps), columns)
    return y.reshape(x.shape[0], weight.shape[0], *out)


def _channels_last(x: Any, weight: Any, stride: Any, pads: Any, dilation: Any) -> jax.Array:
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
    if any(sum(p) > r for p, r in zip(pads, reach, strict=True)):
        # Where the output is larger than the input, XLA's weight gradient takes 100 times as long
        # unless the padding is done beforehand.
        x = jnp.pad(x, [(0, 0), (0, 0), *pads])
        pads = [(0, 0)] * len(pads)
    geometry = ConvolutionGeometry(tuple(stride), tuple(map(tuple, pads)), tuple(dilation))
    kernel = jnp.transpose(weight, (*range(2, weight.ndim), 1, 0))
    return jnp.moveaxis(channels_last(jnp.moveaxis(x, 1, -1), kernel, geometry), -1, 1)


def _by_planes(x: Any, weight: Any, stride: Any, pads: Any, dilation: Any) -> jax.Array:
    """Compute a convolution of volumes as one of their planes, whose channels are those of all
    planes that a tap of the kernel's depth sees.

    XLA's CPU backend has a good convolution of images and none of volumes. Processor time in ms,
    kernel 3, forward / with both gradients, by XLA and so: 4 -> 4 channels on 12³, batch 2, 4.4 /
    11.9 and 0.6 / 1.3; 16 -> 16 on 24³ 22.6 / 90 and 4.4 / 17; 3 -> 16 on 32³ 46 / 117 and 4.4 /
    11; 64 -> 64 on 8³, batch 2, 8.4 / 39 and 3.5 / 10.
    """
    x = jnp.pad(x, [(0, 0), (0, 0), pads[0], (0, 0), (0, 0)])
    (depth,) = fitting(x.shape[2:3], weight.shape[2:3], stride[:1], dilation[:1])
    seen = [
        x[:, :, window]
        for _, (window,) in windows(weight.shape[2:3], (depth,), stride[:1], dilation[:1])
    ]
    planes = jnp.moveaxis(jnp.concatenate(seen, 1), 2, 1)
    kernel = jnp.moveaxis(weight, 2, 1)
    y = convolution(
        planes.reshape(-1, *planes.shape[2:]),
        kernel.reshape(weight.shape[0], -1, *weight.shape[3:]),
        stride[1:],
        pads[1:],
        dilation[1:],
    )
    return jnp.moveaxis(y.reshape(x.shape[0], depth, *y.shape[1:]), 1, 2)


def _by_groups(convolve: Any, x: Any, weight: Any, groups: int) -> jax.Array:
    """Compute one convolution for each group of channels."""
    parts = zip(jnp.split(x, groups, 1), jnp.split(weight, groups, 0), strict=True)
    return jnp.concatenate([convolve(xs, ws) for xs, ws in parts], 1)


@targets.convolving
def convolution(
    x: Any, weight: Any, stride: Any, pads: Any, dilation: Any, groups: int = 1
) -> jax.Array:
    """Compute the cross-correlation of x (N, C, …) with weight (O, C / groups, …), without
    checks."""
    kernel = weight.shape[2:]
    padded = (size + sum(p) for size, p in zip(x.shape[2:], pads, strict=True))
    out = fitting(padded, kernel, stride, dilation)

    def im2col(x: Any, weight: Any) -> jax.Array:
        return _as_im2col(x, weight, out, stride, pads, dilation)

    def whole(x: Any, weight: Any) -> jax.Array:
        if len(kernel) == 3:
            return _by_planes(x, weight, stride, pads, dilation)
        return _channels_last(x, weight, stride, pads, dilation)

    if not jnp.issubdtype(x.dtype, jnp.inexact) or 0 in (x.size, weight.size):
        # Integers and empty tensors, which XLA's CPU convolution does not take.
        return _by_groups(im2col, x, weight, groups)
    on_cpu = targets.is_xla_cpu()
    if groups == 1:
        pointwise = math.prod(kernel) == 1 and not any(map(sum, pads))
        if pointwise and all(s == 1 for s in stride):
            return _as_matmul(x, weight)
        if on_cpu and math.prod(out) <= _TINY_OUTPUT:
            return im2col(x, weight)
        if on_cpu:
            return whole(x, weight)
    elif on_cpu:
        if weight.shape[1] == 1 and math.prod(kernel) <= _FEW_TAPS:
            return convolve_each(x, weight, out, stride, pads, dilation)
        return _by_groups(whole, x, weight, groups)
    return lax.conv_general_dilated(
        x,
        weight,
        stride,
        pads,
        rhs_dilation=dilation,
        feature_group_count=groups,
        dimension_numbers=lax.conv_dimension_numbers(x.shape, weight.shape, _layout(x.ndim - 2)),
    )


def _layout(n: int) -> tuple[str, str, str]:
    spatial = "DHW"[3 - n :]
    return f"NC{spatial}", f"OI{spatial}", f"NC{spatial}"


# -- transposed ------------------------------------------------------------------------------------


@targets.convolving
def transposed(
    x: Any, weight: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: int
) -> jax.Array:
    """Compute the gradient of ``convolution`` with respect to its input, as forward convolutions.

    weight: (C, O / groups, …). Measured, 64 -> 32 channels, 4x4 kernel, stride 2 on 14x14, batch 8:
    XLA's convolution over an input with holes 1.0 / 69 ms; by phases see ``_by_phases``.
    """
    n = x.ndim - 2
    if any(s > 1 for s in stride):
        if all(d == 1 for d in dilation):
            return _by_phases(x, weight, stride, padding, output_padding, groups)
        x = lax.pad(
            x, jnp.zeros((), x.dtype), [(0, 0, 0), (0, 0, 0), *((0, 0, s - 1) for s in stride)]
        )
    kernel = weight.shape[2:]
    # What of the full result is not wanted is either not computed or cut off.
    wanted = [
        (d * (k - 1) - p, d * (k - 1) - p + extra)
        for d, k, p, extra in zip(dilation, kernel, padding, output_padding, strict=True)
    ]
    pads = [(max(low, 0), max(high, 0)) for low, high in wanted]
    turned = _swapped(jnp.flip(weight, range(2, n + 2)), groups)
    y = convolution(x, turned, (1,) * n, pads, dilation, groups)
    cuts = [(min(low, 0), min(high, 0), 0) for low, high in wanted]
    return lax.pad(y, jnp.zeros((), y.dtype), [(0, 0, 0), (0, 0, 0), *cuts])


def _swapped(weight: Any, groups: int) -> jax.Array:
    """Return the weight (C, O / groups, …) of a transposed convolution as (O, C / groups, …)."""
    channels, per_group, *kernel = weight.shape
    grouped = weight.reshape(groups, channels // groups, per_group, *kernel)
    return jnp.swapaxes(grouped, 1, 2).reshape(groups * per_group, channels // groups, *kernel)


def _by_phases(
    x: Any, weight: Any, stride: Any, padding: Any, output_padding: Any, groups: int
) -> jax.Array:
    """Compute a stride of s as s convolutions, one for each remainder of the output position by s.

    In one dimension, output q * s + r is the sum over j of ``x[q - j] * weight[j * s + r]``: an
    ordinary convolution of stride 1 for each r. They are computed as one with more channels, which
    are then laid side by side (Shi et al. 2016, arXiv:1609.07009).
    """
    n, sizes, kernel = x.ndim - 2, x.shape[2:], weight.shape[2:]
    taps = [-(-k // s) for k, s in zip(kernel, stride, strict=True)]
    # (C, O / groups, taps, stride, taps, stride, …), then the strides beside the channels.
    filled = jnp.pad(
        weight,
        [(0, 0), (0, 0), *((0, t * s - k) for t, s, k in zip(taps, stride, kernel, strict=True))],
    )
    split = filled.reshape(
        *weight.shape[:2], *(v for pair in zip(taps, stride, strict=True) for v in pair)
    )
    phases = [2 * d + 3 for d in range(n)]
    split = split.transpose(0, 1, *phases, *(2 * d + 2 for d in range(n)))
    per_group = weight.shape[1] * math.prod(stride)
    split = jnp.flip(split.reshape(weight.shape[0], per_group, *taps), range(2, n + 2))

    out = [
        (size - 1) * s - 2 * p + k + extra
        for size, s, p, k, extra in zip(sizes, stride, padding, kernel, output_padding, strict=True)
    ]
    low = [max(t - 1 - p // s, 0) for t, p, s in zip(taps, padding, stride, strict=True)]
    high = [
        max((p + o - 1) // s - (size - 1), 0)
        for p, o, s, size in zip(padding, out, stride, sizes, strict=True)
    ]
    y = convolution(
        x, _swapped(split, groups), (1,) * n, list(zip(low, high, strict=True)), (1,) * n, groups
    )
    # (N, O, stride…, positions…) -> (N, O, positions, stride, …) side by side.
    channels = weight.shape[1] * groups
    positions = y.shape[2:]
    y = y.reshape(x.shape[0], channels, *stride, *positions)
    y = y.transpose(0, 1, *(v for d in range(n) for v in (2 + n + d, 2 + d)))
    y = y.reshape(x.shape[0], channels, *(q * s for q, s in zip(positions, stride, strict=True)))
    cuts = []
    for t, lo, s, p, o, whole in zip(taps, low, stride, padding, out, y.shape[2:], strict=True):
        first = p - (t - 1 - lo) * s
        cuts.append((-first, first + o - whole, 0))
    return lax.pad(y, jnp.zeros((), y.dtype), [(0, 0, 0), (0, 0, 0), *cuts])
