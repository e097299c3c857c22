"""Histograms: of numbers, and of points in several dimensions."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import casts, dtypes
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import (
    Bool,
    Input,
    Inputs,
    Int,
    OptInput,
    Scalar,
    require_tensor,
)
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.creation.from_data import tensor as make_tensor
from torchlike._ops.elementwise.division import divide
from torchlike._ops.outputs import write_out
from torchlike._ops.reduce.extrema import reduced_extremum
from torchlike._ops.reduce.reduction import _named as named
from torchlike._ops.value_checks import is_traced, refuse_where, values_of
from torchlike.tensor import Tensor

# -- of numbers, by arithmetic ---------------------------------------------------------------------


def _ends(values: Any) -> tuple[Any, Any]:
    """Return the smallest and the largest of a dimension's data; 0 and 1 where there are none."""
    values = values_of(values).astype(np.float64)
    if not values.size:
        return np.float64(0), np.float64(1)
    return _extrema(values) if is_traced() else (values.min(), values.max())


def _extrema(x: Any) -> tuple[Any, Any]:
    return reduced_extremum(x, None, False), reduced_extremum(x, None, True)


def _is_no_range(low: Any, high: Any) -> Any:
    return ~((abs(low) < np.inf) & (abs(high) < np.inf))


def _check_histc(input: Any, bins: int, low: Any, high: Any) -> None:
    given = low, high
    low, high = (values_of(x).astype(np.float64) for x in given)
    refuse_where(low > high, RuntimeError, "torch.histc: max must be larger than min")
    if not is_traced() and low != high:
        for x in given:
            casts.check_fits(x, input.dtype)
    if dtypes.kind_of(input.dtype) != "f":
        return  # of which the op itself speaks
    if is_traced():
        # A number beyond the dtype's range is infinite. Of equal ones nothing depends.
        same, (least, most) = low == high, _ends(input)
        low, high = (x.astype(input.dtype).astype(np.float64) for x in (low, high))
        low, high = jnp.where(same, least, low), jnp.where(same, most, high)
    elif low == high and input.size:
        low, high = _ends(input)
    words = "torch.histc: range of [{0:g}, {1:g}] is not finite"
    refuse_where(_is_no_range(low, high), RuntimeError, words, low, high)


def _limits(x: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the range of a histogram: that of the data when low == high, widened when that is
    empty."""
    low, high = jnp.asarray(low).astype(x.dtype), jnp.asarray(high).astype(x.dtype)
    if x.size:
        same = low == high
        least, most = _extrema(x)
        low, high = jnp.where(same, least, low), jnp.where(same, most, high)
    return jnp.where(low == high, low - 1, low), jnp.where(low == high, high + 1, high)


def _rounds_to(dtype: Any) -> Any:
    """Return a function that rounds to a 16-bit dtype, where XLA would keep more bits between
    operations."""
    if dtype.itemsize > 2:
        return lambda x: x
    info = jnp.finfo(dtype)
    return lambda x: lax.reduce_precision(x, info.nexp, info.nmant)


@op(differentiable=False, check=_check_histc)
def histc(input: Input, bins: Int = 100, min: Scalar = 0, max: Scalar = 0):
    """Count how many elements fall into each of ``bins`` equal intervals from ``min`` to ``max``
    (of the data when they are equal); the last includes its end, what is outside does not count."""
    if dtypes.kind_of(input.dtype) != "f":
        raise NotImplementedError(
            f"\"histogram_cpu\" not implemented for '{scalar_type_of(input)}'"
        )
    _check_bins(bins, 0)
    x = input.reshape(-1)
    low, high = _limits(x, min, max)
    inside = (x >= low) & (x <= high)
    # PyTorch's order of operations, of which each rounds to the dtype: it decides at the edges.
    rounded = _rounds_to(x.dtype)
    slot = jnp.floor(rounded(rounded(rounded(x - low) * bins) / rounded(high - low)))
    slot = jnp.clip(jnp.where(inside, slot, 0).astype(np.int64), 0, bins - 1)
    return jnp.zeros((bins,), x.dtype).at[slot].add(inside.astype(x.dtype))


# -- of points, by edges ---------------------------------------------------------------------------


def _check_bins(bins: int, dim: int) -> None:
    if bins <= 0:
        raise RuntimeError(
            f"torch.histogram(): bins must be > 0, but got {bins} for dimension {dim}"
        )


def _check_range(input: Any, dim: int, bins: int, range: Any) -> None:
    if range is None:
        low, high = _ends(values_of(input)[..., dim])
    else:
        ends = values_of(range).astype(np.float64)
        low, high = ends[2 * dim], ends[2 * dim + 1]
    words = f"torch.histogramdd: dimension {dim}'s range [{{0:g}}, {{1:g}}] is not finite"
    refuse_where(_is_no_range(low, high), RuntimeError, words, low, high)
    refuse_where(
        low > high,
        RuntimeError,
        "torch.histogramdd: min should not exceed max, but got min {0:g} max {1:g} for "
        f"dimension {dim}",
        low,
        high,
    )


def _evenly(low: Any, high: Any, bins: int) -> jax.Array:
    """Return the edges of equal intervals, each counted from the nearer end and rounded once, as
    `sequences.linspace` has them: an element on an edge belongs to the interval above."""
    dtype = low.dtype
    by = divide(high - low, jnp.asarray(bins, dtype))
    wide = np.dtype(np.float64)
    low, high, by = low.astype(wide), high.astype(wide), by.astype(wide)
    i = jnp.arange(bins + 1, dtype=wide)
    below = i < (bins + 1) // 2
    return jnp.where(below, low + by * i, high - by * (bins - i)).astype(dtype)


@op("bin_edges", namespaces=(), method=False, differentiable=False, check=_check_range)
def bin_edges(input: Input, dim: Int, bins: Int, range: OptInput):
    """Return ``bins + 1`` equally spaced edges over the data of a dimension, or over a range."""
    x = input.reshape(-1, input.shape[-1])[:, dim]
    if range is not None:
        low, high = range[2 * dim], range[2 * dim + 1]
    elif x.size:
        low, high = _extrema(x)
    else:
        low, high = jnp.zeros((), x.dtype), jnp.ones((), x.dtype)
    flat = low == high
    low, high = jnp.where(flat, low - 0.5, low), jnp.where(flat, high + 0.5, high)
    return _evenly(low, high, bins)


@op("histogramdd_op", namespaces=(), method=False, differentiable=False)
def histogramdd_op(input: Input, edges: Inputs, weight: OptInput, density: Bool):
    """Count how many points (or what weight of them) each box holds."""
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


_HISTOGRAM = named("histogram", "hist bin_edges")
_HISTOGRAMDD = named("histogramdd", "hist bin_edges")


def _check(input: Tensor, weight: Tensor | None, range: Any) -> int:
    if input.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(
            f"\"histogramdd\" not implemented for '{scalar_type_of(input._value_now())}'"
        )
    if input.dim() < 2:
        raise RuntimeError(
            "torch.histogramdd: input tensor should have at least 2 dimensions, but got "
            f"{input.dim()}"
        )
    n = input.shape[-1]
    if weight is not None:
        if weight.dtype is not input.dtype:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
                f"should have the same dtype, but got input({dtypes.c_name(input.dtype)}), and "
                f"weight({dtypes.c_name(weight.dtype)})"
            )
        if weight.shape != input.shape[:-1]:
            raise RuntimeError(
                "torch.histogramdd: if weight tensor is provided it should have the same shape as "
                "the input tensor excluding its innermost dimension, but got input with shape "
                f"{list(input.shape)} and weight with shape {list(weight.shape)}"
            )
    if range is not None and len(range) != 2 * n:
        raise RuntimeError(
            f"torch.histogramdd: for a {n}-dimensional histogram range should have {2 * n} "
            f"elements, but got {len(range)}"
        )
    return n


def _check_edges(edges: Tensor, input: Tensor, dim: int) -> None:
    name = "torch.histogramdd: "
    if edges.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}input tensor and bins tensors should have the same dtype, but got input with "
            f"dtype {dtypes.c_name(input.dtype)} and bins for dimension {dim} with dtype "
            f"{dtypes.c_name(edges.dtype)}"
        )
    if edges.dim() != 1:
        raise RuntimeError(
            f"{name}bins tensor should have one dimension, but got {edges.dim()} dimensions in "
            f"the bins tensor for dimension {dim}"
        )
    if edges.numel() == 0:
        raise RuntimeError(
            f"{name}bins tensor should have at least 1 element, but got 0 elements in the bins "
            f"tensor for dimension {dim}"
        )
    _check_bins(edges.numel() - 1, dim)


def _widened(range: Any) -> list[float]:
    """Return a range (two numbers a dimension) with ends that are apart, before they round to a
    dtype."""
    limits: list[float] = []
    for low, high in zip(range[::2], range[1::2], strict=True):
        limits += (low - 0.5, high + 0.5) if low == high else (low, high)
    return limits


def _boxes(input: Tensor, bins: Any, range: Any, weight: Any, density: Any) -> tuple[Any, ...]:
    """Return the histogram of points (..., N) and its edges; ``bins`` is one for all dimensions, or
    one for each."""
    n = _check(input, weight, range)
    limits = None if range is None else make_tensor(_widened(range), dtype=input.dtype)
    if isinstance(bins, int):
        bins = [bins] * n
    if len(bins) != n:
        kind = "sequences of bin edges" if isinstance(bins[0], Tensor) else "bin counts"
        raise RuntimeError(
            f"torch.histogramdd: expected {n} {kind} for a {n}-dimensional histogram but got "
            f"{len(bins)}"
        )
    edges = []
    for d, wanted in enumerate(bins):
        if isinstance(wanted, Tensor):
            _check_edges(wanted, input, d)
            edges.append(wanted)
        else:
            _check_bins(wanted, d)
            edges.append(bin_edges(input, d, wanted, limits))
    if not edges:  # points of no dimension are in no box
        return make_tensor(math.nan if density else 0, dtype=input.dtype), ()
    return histogramdd_op(input, edges, weight, bool(density)), tuple(edges)


@composite()
def histogram(
    input: Tensor,
    bins: Any = 100,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: Any = False,
    out: Any = None,
) -> Any:
    """Return the counts (or summed weights, or a density) in ``bins`` equal intervals or between
    given edges, and the edges: a named pair.

    RuntimeError for edges and weights of another dtype than the input's, weights that are not one
    for each element, a range that is not finite or falls; NotImplementedError for other dtypes
    than float32 and float64.
    """
    require_tensor(input, "histogram")
    if range is not None and isinstance(bins, Tensor):
        raise TypeError(
            "histogram() received an invalid combination of arguments: edges given as a tensor "
            "leave no range to give"
        )
    points = input.reshape(-1, 1)
    if weight is not None:
        weight = weight.reshape(-1)
    hist, (edges,) = _boxes(
        points, [bins] if isinstance(bins, Tensor) else bins, range, weight, density
    )
    return write_out(out, _HISTOGRAM(hist, edges))


@composite(method=False)
def histogramdd(
    input: Tensor,
    bins: Any,
    *,
    range: Any = None,
    weight: Tensor | None = None,
    density: Any = False,
    out: Any = None,
) -> Any:
    """Return a histogram of points (..., N): an N-dimensional tensor, and N tensors of edges.

    bins: tensors of edges, or how many equal bins each dimension (or every one) has between the
    ends of ``range`` (two numbers a dimension), else of the data. ``weight`` (...) counts instead
    of 1; ``density`` makes the integral 1.

    RuntimeError for shapes and dtypes that do not fit, a range that is not finite or falls;
    NotImplementedError for other dtypes than float32 and float64.
    """
    return write_out(out, _HISTOGRAMDD(*_boxes(input, bins, range, weight, density)))
