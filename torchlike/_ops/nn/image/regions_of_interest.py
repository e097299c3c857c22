"""Boxes in images: which of them remain, and what lies in them. For ``torchvision``, see
library/vision.py."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from torchlike._core.dispatch.registry import op
from torchlike._core.dispatch.schema import Input, Static
from torchlike.tensor import Tensor


@op("nms_kept", namespaces=(), method=False, differentiable=False)
def nms_kept(dets: Input, order: Input, iou_threshold: Static):
    """Return for each box, in the order of their scores, whether none before it that is kept
    overlaps it by more than the threshold. dets: (n, 4) as x1, y1, x2, y2; order: (n,) of ints."""
    boxes = dets[order]
    x1, y1, x2, y2 = boxes.T
    areas = (x2 - x1) * (y2 - y1)
    places = jnp.arange(boxes.shape[0])
    if not boxes.shape[0]:
        return jnp.ones(0, bool)

    def one(i: Any, kept: Any) -> jax.Array:
        width = jnp.minimum(x2, x2[i]) - jnp.maximum(x1, x1[i])
        height = jnp.minimum(y2, y2[i]) - jnp.maximum(y1, y1[i])
        shared = jnp.maximum(width, 0) * jnp.maximum(height, 0)
        overlaps = shared / (areas + areas[i] - shared) > iou_threshold
        return kept & ~(kept[i] & overlaps & (places > i))

    return jax.lax.fori_loop(0, boxes.shape[0], one, jnp.ones(boxes.shape[0], bool))


@op("roi_align_op", namespaces=(), method=False, grad_name="RoiAlignBackward")
def roi_align_op(
    input: Input,
    rois: Input,
    spatial_scale: Static,
    size: Static,
    most: Static,
    ratio: Static,
    aligned: Static,
):
    """Return the means of bilinear samples in ``size`` bins of each box.

    input: (n, c, h, w); rois: (k, 5) as image, x1, y1, x2, y2. ``ratio`` samples a bin and
    direction, or where it is not positive as many as the bin has pixels, at most ``most``.
    """
    images = rois[:, 0].astype(jnp.int32)
    offset = 0.5 if aligned else 0.0
    x1, y1, x2, y2 = (rois[:, 1:] * spatial_scale - offset).T

    def samples(start: Any, end: Any, bins: int, length: int, most: int) -> tuple[Any, ...]:
        """Return the positions between pixels (k, bins, most), their weight, and which of them
        count."""
        extent = end - start if aligned else jnp.maximum(end - start, 1)
        step = extent / bins
        n = jnp.ceil(step) if ratio <= 0 else jnp.full_like(step, ratio)
        grid = jnp.arange(most, dtype=start.dtype)
        inside = grid < n[:, None]
        within = (
            jnp.arange(bins, dtype=start.dtype)[None, :, None] * step[:, None, None]
            + ((grid + 0.5) * (step / jnp.maximum(n, 1))[:, None])[:, None]
        )
        at = start[:, None, None] + within
        inside = inside[:, None] & (at >= -1) & (at <= length)
        return jnp.maximum(at, 0), inside, n

    def weights(at: Any, inside: Any, length: int) -> jax.Array:
        """Return the weight of each pixel in each bin's sum: (k, bins, length)."""
        low = jnp.minimum(jnp.floor(at), length - 1)
        part = jnp.where(low >= length - 1, 0, at - low)
        pixel = jnp.arange(length, dtype=at.dtype)
        of = jnp.where(pixel == low[..., None], 1 - part[..., None], 0)
        of = of + jnp.where(pixel == low[..., None] + 1, part[..., None], 0)
        return jnp.sum(jnp.where(inside[..., None], of, 0), 2)

    height, width = input.shape[2:]
    at_y, in_y, n_y = samples(y1, y2, size[0], height, most[0])
    at_x, in_x, n_x = samples(x1, x2, size[1], width, most[1])
    count = jnp.maximum(n_y * n_x, 1)
    return jnp.einsum(
        "kchw,kyh,kxw->kcyx", input[images], weights(at_y, in_y, height), weights(at_x, in_x, width)
    ) / count[:, None, None, None].astype(input.dtype)


def most_samples(rois: Tensor, scale: float, size: tuple[int, int], ratio: int) -> tuple[int, int]:
    """Return how many samples the largest box needs in a bin, down and across: this depends on the
    values of the boxes."""
    if ratio > 0:
        return ratio, ratio
    if not len(rois):
        return 1, 1
    _, x1, y1, x2, y2 = rois.detach().float().unbind(1)
    extents = ((y2 - y1).max().item() * scale, (x2 - x1).max().item() * scale)
    down, across = (math.ceil(max(e, 1) / n + 1e-3) for e, n in zip(extents, size, strict=True))
    return down, across
