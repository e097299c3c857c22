"""Distances within one set of points."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input, Number
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.elementwise import subgradients
from torchlike._ops.reduce.extrema import reduced_extremum
from torchlike._ops.reduce.reduction import vector_norm as norm_of_vectors
from torchlike.tensor import Tensor


def lengths(differences: Any, p: float, passes_over_nan: bool = False) -> jax.Array:
    """Return norms along the last axis. Of the largest ones that tie, each has the whole gradient.

    NaN makes a norm and its gradients NaN. ``passes_over_nan``: the largest is that of the others,
    as in ``cdist``.
    """
    if not differences.shape[-1]:
        return jnp.sum(differences, -1)
    if p == np.inf:
        return _largest(differences, passes_over_nan)
    if p == 0:
        x = lax.stop_gradient(differences)
        return jnp.sum(jnp.where(jnp.isnan(x), x, x != 0), -1)
    if p == 1:
        return _sum_of_sizes(differences)
    return norm_of_vectors(differences, p, (differences.ndim - 1,), False)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _largest(x: Any, passes_over_nan: bool) -> jax.Array:
    size = jnp.abs(x)
    return reduced_extremum(jnp.where(jnp.isnan(x), 0, size) if passes_over_nan else size, -1, True)


@_largest.defjvp
def _largest_jvp(passes_over_nan: bool, primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    found = _largest(x, passes_over_nan)
    below = jnp.abs(x) - found[..., None]  # NaN for an infinity that is the largest, as in PyTorch
    slopes = jnp.where(below == 0, subgradients.sign(x), jnp.where(jnp.isnan(below), below, 0))
    return found, jnp.sum(slopes * t, -1)


@jax.custom_jvp
def _sum_of_sizes(x: Any) -> jax.Array:
    return jnp.sum(jnp.abs(x), -1)


@_sum_of_sizes.defjvp
def _sum_of_sizes_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    slopes = jnp.where(jnp.isnan(x), x, subgradients.sign(x))
    return _sum_of_sizes(x), jnp.sum(slopes * t, -1)


@op(
    "pdist_op",
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="PdistBackward0",
    autocast={"cuda": "float32"},
)
def pdist_op(input: Input, p: Number):
    """Return the distances of all pairs of rows, row by row of the upper triangle."""
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if input.dtype not in (np.float32, np.float64):
        raise RuntimeError(
            f"pdist only supports floating-point dtypes, got: {scalar_type_of(input)}"
            if dtypes.kind_of(input.dtype) != "f"
            else f"\"pdist\" not implemented for '{scalar_type_of(input)}'"
        )
    if not p.value >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = np.triu_indices(input.shape[0], 1)
    if not first.size or not input.shape[1]:
        return input.sum() * 0 + np.zeros(first.size, input.dtype)
    return lengths(input[first] - input[second], p.value)


@composite(namespaces=("", "nn.functional"), method=False, one_object=True)
def pdist(input: Tensor, p: Any = 2.0) -> Tensor:
    """Return the p-norm distance of every pair of rows: (N, M) to (N (N - 1) / 2,).

    RuntimeError for a negative p and for other than 2 dimensions.
    """
    return pdist_op(input, float(p))
