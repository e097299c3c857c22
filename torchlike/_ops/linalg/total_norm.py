"""The norm of many tensors together."""

from __future__ import annotations

import jax.numpy as jnp

from torchlike._core.dispatch.registry import op
from torchlike._core.dispatch.schema import Inputs, Number
from torchlike._ops.promotion import result_dtype
from torchlike._ops.reduce.reduction import norm_op


@op("total_norm", namespaces=(), method=False, grad_name="LinalgVectorNormBackward0")
def total_norm(tensors: Inputs, p: Number = 2.0):
    """Return the p-norm of the tensors' p-norms: as if they were one vector."""
    norm = norm_op.spec.fn
    each = [norm(x, p, None, False, None) for x in tensors]
    dtype = result_dtype(*each).numpy
    return norm(jnp.stack([x.astype(dtype) for x in each]), p, None, False, None)
