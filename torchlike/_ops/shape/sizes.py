"""Results of a given size or memory order: nonzero_static and empty_permuted."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input, Int, ints
from torchlike._ops.creation.filled import empty_strided
from torchlike.tensor import Tensor


@op("nonzero_static_op", namespaces=(), method=False, differentiable=False)
def nonzero_static_op(input: Input, size: Int, fill_value: Int):
    """Return the indices where ``input`` is not zero, cut or filled to ``size`` rows."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    if not input.size or not input.ndim:
        return jnp.full((size, input.ndim), fill_value, np.int64)
    found = jnp.nonzero(input, size=size, fill_value=fill_value)
    return jnp.stack(found, 1).astype(np.int64) if size else jnp.zeros((0, input.ndim), np.int64)


@composite()
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Any = None) -> Tensor:
    """Return the indices of ``size`` elements that are not zero, one a row, the rest
    ``fill_value``.

    Unlike ``nonzero`` the result's shape does not depend on values, so it works under a jit.
    RuntimeError for a negative size.
    """
    return nonzero_static_op(input, size, fill_value, out=out)


@composite(method=False)
def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: Any = False,
    pin_memory: Any = False,
) -> Tensor:
    """Return a tensor whose dimensions lie in memory in the order ``physical_layout``, slowest
    first.

    RuntimeError unless that is a permutation of the dimensions.
    """
    shape, order = ints(size), ints(physical_layout)
    if len(order) != len(shape):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    strides, step = [0] * len(shape), 1
    seen: set[int] = set()
    for d in reversed(order):
        if not 0 <= d < len(shape):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got "
                f"{d} at index {order.index(d)}).  NB: negative dims not currently supported; file "
                "an issue if you want it."
            )
        if d in seen:
            raise RuntimeError("Duplicate dim not allowed")
        seen.add(d)
        strides[d] = step
        step *= max(shape[d], 1)
    return empty_strided(
        shape, strides, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )
