"""Histograms of points in several dimensions."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike.dispatch.registry import composite, op
from torchlike.dispatch.schema import Bool, Input, Inputs, Int, OptInput
from torchlike.ops.creation import tensor as make_tensor
from torchlike.ops.gathering import type_name
from torchlike.ops.outputs import given
from torchlike.ops.reduction import _named as named
from torchlike.tensor import Tensor


@op("bin_edges", namespaces=(), method=False, differentiable=False)
def bin_edges(input: Input, dim: Int, bins: Int, range: OptInput):
    """``bins + 1`` equally spaced edges over the data of a dimension, or over a range."""
    x = input.reshape(-1, input.shape[-1])[:, dim]
    if range is not None:
        low, high = range[2 * dim], range[2 * dim + 1]
    elif x.size:
        low, high = jnp.min(x), jnp.max(x)
    else:
        low, high = jnp.zeros((), x.dtype), jnp.ones((), x.dtype)
    flat = low == high
    low, high = jnp.where(flat, low - 0.5, low), jnp.where(flat, high + 0.5, high)
    return jnp.linspace(low, high, bins + 1, dtype=x.dtype)


@op("histogramdd_op", namespaces=(), method=False, differentiable=False)
def histogramdd_op(input: Input, edges: Inputs, weight: OptInput, density: Bool):
    """How many points (or what weight of them) each box holds."""
    points = input.reshape(-1, input.shape[-1])
    counts = tuple(e.size - 1 for e in edges)
    inside = jnp.ones(points.shape[0], bool)
    place = jnp.zeros(points.shape[0], np.int64)
    for d, e in enumerate(edges):
        x = points[:, d]
        inside &= (x >= e[0]) & (x <= e[-1])
        slot = jnp.clip(jnp.searchsorted(e, x, side="right") - 1, 0, counts[d] - 1)
        place = place * counts[d] + slot
    added = jnp.ones(points.shape[0], input.dtype) if weight is None else weight.reshape(-1)
    added = jnp.where(inside, added, 0).astype(input.dtype)
    total = jnp.zeros(math.prod(counts), input.dtype).at[place].add(added).reshape(counts)
    if density:
        total = total / jnp.sum(total)
        for d, e in enumerate(edges):
            total = total / jnp.diff(e).reshape(-1, *(1,) * (len(counts) - d - 1))
    return total


_HISTOGRAMDD = named("histogramdd", "hist bin_edges")


def _check(input: Tensor, weight: Tensor | None, range: Any) -> int:
    if input.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(
            f"\"histogramdd\" not implemented for '{type_name(input._read())}'"
        )
    if input.dim() < 2:
        raise RuntimeError(
            "torch.histogramdd: input tensor should have at least 2 dimensions, but got "
            f"{input.dim()}"
        )
    n = input.shape[-1]
    if weight is not None:
        if weight.dtype is not input.dtype:
            raise RuntimeError("torch.histogramdd: if weight tensor is provided, input tensor and "
                               "weight tensor should have the same dtype")  # fmt: skip
        if weight.shape != input.shape[:-1]:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as "
                "the input tensor excluding its innermost dimension"
            )
    if range is not None and len(range) != 2 * n:
        raise RuntimeError(
            f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} "
            f"elements, but got {len(range)}"
        )
    return n


@composite(method=False)
def histogramdd(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None,
    density: Any = False, out: Any = None,
) -> Any:  # fmt: skip
    """A histogram of points (..., N): an N-dimensional tensor, and N tensors of edges.

    bins: tensors of edges, or how many equal bins each dimension (or every one) has between the
    ends of ``range`` (two numbers a dimension), else of the data. ``weight`` (...) counts instead
    of 1; ``density`` makes the integral 1.

    RuntimeError for shapes that do not fit; NotImplementedError for other dtypes than float32 and
    float64.
    """
    n = _check(input, weight, range)
    limits = None if range is None else make_tensor(list(range), dtype=input.dtype)
    if isinstance(bins, int):
        bins = [bins] * n
    if len(bins) != n:
        raise RuntimeError(
            f"torch.histogramdd: expected {n} {'sequences of bin edges' if isinstance(bins[0], Tensor) else 'bin counts'} "  # noqa: E501
            f"for a {n}-dimensional histogram but got {len(bins)}"
        )
    edges = []
    for d, count in enumerate(bins):
        if not isinstance(count, Tensor):
            if count <= 0:
                raise RuntimeError(
                    f"torch.histogram(): bins must be > 0, but got {count} for dimension {d}"
                )
            count = bin_edges(input, d, count, limits)
        edges.append(count)
    found = histogramdd_op(input, edges, weight, bool(density))
    return given(out, _HISTOGRAMDD(found, tuple(edges)))
