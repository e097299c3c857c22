"""``x @ weight.T``, the product of every linear layer, with a weight gradient in the right order.

The gradient of weight (M, N) over K rows is ``g.T @ x``. XLA's CPU backend computes such a product
of tall matrices best with the small side first, even though the result is then transposed.
Measured in ms, two x86-64 cores, float32, as (M, N) / as (N, M) and transposed:

- K 2048: 512x64 2.1 / 0.9; 512x128 2.6 / 1.6; 1024x256 9.4 / 5.4; 256x256 1.6 / 1.6;
- K 256: 512x128 0.36 / 0.24; 1024x256 1.1 / 2.0, where the transposition outweighs the product.

With one row (``vmap`` over examples) the gradient is an outer product. XLA makes it a pointwise
operation and fuses that with what made the sides, which is then computed M or N times over: 64 of
128x9216, where the longer side is a max-pooled relu, 327 ms; as the product of two rows, of which
one is zeros, 130; with the sides given 121. An `optimization_barrier` is gone before XLA fuses.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero

from torchlike._runtime import targets

#: Outer products of at least this many elements stay products.
_LARGE = 1 << 16


def _small_side_first(rows: int, weight: Any) -> bool:
    if not isinstance(rows, int):  # of an exported program, which takes any number
        return False
    big, small = weight.shape
    return big >= 2 * small and rows >= 4 * small and targets.is_xla_cpu()


def product_of_tangent(x: Any, dweight: Any, wide: Any = None) -> jax.Array:
    """Return ``x @ dweight.T``, whose transposition in ``dweight`` has the small side first."""
    if _small_side_first(x.shape[0], dweight):
        # The barrier keeps XLA from merging the transposition back into the product.
        dweight = lax.optimization_barrier(dweight.T)
    else:
        dweight = dweight.T
    if x.shape[0] == 1 and dweight.size >= _LARGE and targets.is_xla_cpu():
        x = jnp.concatenate([x, jnp.zeros_like(x)])
        return jnp.matmul(x, dweight, preferred_element_type=wide)[:1]
    return jnp.matmul(x, dweight, preferred_element_type=wide)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def times_transposed(x: Any, weight: Any, wide: Any = None) -> jax.Array:
    """Return ``x @ weight.T`` in the dtype ``wide`` (None: that of x). x: (K, N), in programs for
    other than the CPU (…, N); weight: (M, N)."""
    return jnp.matmul(x, weight.T, preferred_element_type=wide)


def _times_transposed_jvp(wide: Any, primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x, weight), (dx, dweight) = primals, tangents
    own = wide if targets.is_cpu() else None
    parts = []
    if not isinstance(dx, SymbolicZero):
        parts.append(jnp.matmul(dx, weight.T, preferred_element_type=own))
    if not isinstance(dweight, SymbolicZero):
        parts.append(product_of_tangent(x, dweight, own))
    out = times_transposed(x, weight, wide)
    return out, sum(parts[1:], parts[0]).astype(out.dtype)


times_transposed.defjvp(_times_transposed_jvp, symbolic_zeros=True)


def accumulated(x: Any, y: Any, wide: Any) -> jax.Array:
    """Return ``x @ y`` in the dtype ``wide``, that of the sums of a product of 16 bits (None: that
    of x).

    In programs for accelerators the gradients are products of 16 bits too, as PyTorch's are: by the
    rule for ``preferred_element_type`` one side would be float32, which takes several passes.
    """
    if wide is None or targets.is_cpu():
        return jnp.matmul(x, y, preferred_element_type=wide)
    return _accumulated(x, y, np.dtype(wide).name)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _accumulated(x: Any, y: Any, wide: str) -> jax.Array:
    return jnp.matmul(x, y, preferred_element_type=wide)


@_accumulated.defjvp
def _accumulated_jvp(wide: str, primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x, y), (dx, dy) = primals, tangents
    moved = jnp.matmul(dx, y) + jnp.matmul(x, dy)
    return _accumulated(x, y, wide), moved.astype(wide)
