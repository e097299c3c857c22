"""Division that is division: the quotient rounded once, as IEEE 754 says and PyTorch gives.

XLA turns ``x / y`` into ``x * (1 / y)`` where ``y`` is a constant or was broadcast. That is off by
one unit in the last place in one of seven quotients: the mean of 41 ones is 0.99999994, and 5.125 /
5.125 truncates to 0.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero

from torchlike._core import dtypes
from torchlike._ops.elementwise.complex_quotients import quotient
from torchlike._ops.reduce.sums import added


def divide(x: Any, y: Any) -> jax.Array:
    """Return ``x / y`` of two arrays of one dtype, which broadcast."""
    kind = dtypes.kind_of(x.dtype)
    if kind == "c":
        return quotient(*jnp.broadcast_arrays(x, y))
    if kind != "f":
        return jnp.divide(x, y)
    return _divide(*jnp.broadcast_arrays(x, y))


@jax.custom_jvp
def _divide(x: Any, y: Any) -> jax.Array:
    # What depends on x is no broadcast of anything. Where x is NaN, so is the quotient.
    return lax.div(x, lax.select(x != x, x, y))


def _divide_jvp(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    """Compute the tangent as that of ``lax.div``: a division of tangents has to be linear, so XLA
    may have its way.

    That to the divisor has no square in it, which overflows beyond 1.8e19. (XLA would make one of a
    quotient that is divided.)
    """
    (x, y), (dx, dy) = primals, tangents
    parts = []
    if not isinstance(dx, SymbolicZero):
        parts.append(jax.jvp(lambda x: lax.div(x, y), (x,), (dx,))[1])
    if not isinstance(dy, SymbolicZero):
        parts.append(-_divide(x, y) * lax.div(dy, y))
    return _divide(x, y), sum(parts[1:], parts[0])


# Without symbolic zeros the gradient of what is constant would be 0 times an infinity.
_divide.defjvp(_divide_jvp, symbolic_zeros=True)


def mean(x: Any, over: Any = None, *, keepdims: bool = False) -> jax.Array:
    """Return the mean over axes: ``jnp.mean`` by a division, floats of 16 bits summed in
    float32."""
    axes = tuple(range(x.ndim)) if over is None else over if isinstance(over, tuple) else (over,)
    count = math.prod(x.shape[d] for d in axes)
    wide = np.dtype(np.float32) if dtypes.is_half(x.dtype) else x.dtype
    total = added(x.astype(wide), axes, keepdims=keepdims)
    return divide(total, jnp.asarray(count, wide)).astype(x.dtype)
