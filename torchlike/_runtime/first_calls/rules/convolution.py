"""Convolutions, as products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from torchlike._runtime.first_calls.rules.products import matmul
from torchlike._runtime.first_calls.rules.registry import Equation, NoNumpyRule, rule, working
from torchlike._runtime.first_calls.rules.shapes import padded_places


@rule("conv_general_dilated")
def _conv_general_dilated(eqn: Equation) -> Callable[..., Any]:
    """Multiply columns of the image, one for each position of the output, by the kernel
    (im2col)."""
    params = eqn.params
    layout = params["dimension_numbers"]
    dtype = np.dtype(eqn.dtype)
    wide = working(dtype)
    image, kernel = eqn.operands
    if 0 in image.shape or 0 in kernel.shape or 0 in eqn.shape:
        zeros = np.zeros(eqn.shape, dtype)
        return lambda x, w: zeros
    if params["batch_group_count"] > 1 and params["feature_group_count"] > 1:
        raise NoNumpyRule("groups of the batch and of the channels at once")
    spread = _spreader(eqn)
    groups, of_batch = params["feature_group_count"], params["batch_group_count"]
    strides, dilation = params["window_strides"], params["rhs_dilation"]
    positions = tuple(eqn.shape[d] for d in layout.out_spec[2:])
    taps = tuple(kernel.shape[d] for d in layout.rhs_spec[2:])
    back = tuple(int(d) for d in np.argsort(layout.out_spec))

    def columns(x: Any, groups: int) -> np.ndarray:
        """Rearrange (N, groups * C, …) into (groups, N * positions, C * taps)."""
        n, channels = x.shape[:2]
        each = channels // groups
        over_image, over_channels, *inner = x.strides
        moved = [s * by for s, by in zip(inner, strides, strict=True)]
        within = [s * by for s, by in zip(inner, dilation, strict=True)]
        windows = as_strided(
            x,
            (groups, n, *positions, each, *taps),
            (over_channels * each, over_image, *moved, over_channels, *within),
            writeable=False,
        )
        return windows.reshape(groups, n * math.prod(positions), each * math.prod(taps))

    def convolve(x: Any, w: Any) -> np.ndarray:
        x = spread(x.astype(wide, copy=False).transpose(layout.lhs_spec))
        w = w.astype(wide, copy=False).transpose(layout.rhs_spec)
        out_channels = w.shape[0]
        if of_batch > 1:  # a part of the batch for each part of the output's channels
            parts = x.reshape(of_batch, -1, *x.shape[1:])
            cols = np.concatenate([columns(part, 1) for part in parts])
            n, split = parts.shape[1], of_batch
        else:
            cols, n, split = columns(x, groups), x.shape[0], groups
        kernels = w.reshape(split, out_channels // split, -1)
        y = matmul(cols, kernels.transpose(0, 2, 1))  # (split, N * positions, O / split)
        y = y.reshape(split, n, *positions, out_channels // split)
        y = np.moveaxis(y, -1, 1).reshape(out_channels, n, *positions)
        return y.swapaxes(0, 1).transpose(back).astype(dtype, copy=False)

    return convolve


def _spreader(eqn: Equation) -> Callable[[Any], Any]:
    """Return the function that pads (N, C, …), cut off where the padding is negative, and puts
    zeros between the elements."""
    layout, pads = eqn.params["dimension_numbers"], eqn.params["padding"]
    steps = eqn.params["lhs_dilation"]
    if all(step == 1 for step in steps) and not any(map(any, pads)):
        return lambda x: x
    sizes = [eqn.operands[0].shape[d] for d in layout.lhs_spec[2:]]
    widths = [
        (size - 1) * step + 1 + low + high
        for size, step, (low, high) in zip(sizes, steps, pads, strict=True)
    ]
    places = [
        padded_places(size, width, step, low)
        for size, width, step, (low, _) in zip(sizes, widths, steps, pads, strict=True)
    ]
    both = (slice(None), slice(None))
    source, target = (*both, *(s for s, _ in places)), (*both, *(t for _, t in places))

    def spread(x: Any) -> np.ndarray:
        out = np.zeros((*x.shape[:2], *widths), x.dtype)
        out[target] = x[source]
        return out

    return spread
