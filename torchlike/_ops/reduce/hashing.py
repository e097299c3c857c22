"""A hash of a tensor's elements."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Dims, Input
from torchlike._ops.outputs import write_out
from torchlike.tensor import Tensor


@op("hash_tensor_op", namespaces=(), method=False, differentiable=False)
def hash_tensor_op(input: Input, dim: Dims = None, keepdim: Bool = False):
    """Return the exclusive or of the elements' bits."""
    if dtypes.kind_of(input.dtype) == "f":
        bits = lax.bitcast_convert_type(input.astype(np.float64), np.uint64)
    else:
        bits = input.astype(np.uint64)
    over = (dim,) if isinstance(dim, int) else (dim or tuple(range(input.ndim)))
    axes = tuple(errors.wrap_dim(d, input.ndim) for d in over) if input.ndim else ()
    if len(set(axes)) != len(axes):
        raise RuntimeError("dim appears multiple times in the list of dims")
    found = lax.reduce(bits, np.uint64(0), lax.bitwise_xor, axes)
    return jnp.expand_dims(found, axes) if keepdim else found


@composite()
def hash_tensor(
    input: Tensor, dim: Any = (), *, keepdim: Any = False, mode: int = 0, out: Any = None
) -> Tensor:
    """Return a uint64 hash: the exclusive or of all elements, floats by the bits of their float64
    value.

    RuntimeError for another mode than 0 and for repeated dimensions.
    """
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    return write_out(out, hash_tensor_op(input, dim, keepdim))
