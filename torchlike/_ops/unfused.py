"""A computation that XLA does once, whatever reads its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._runtime import targets


def unfused(
    function: Callable[..., Any], *operands: Any, otherwise: Callable[..., Any] | None = None
) -> Any:
    """Return ``function(*operands)``, arrays, computed in loops of its own, which XLA does not fuse
    with others.

    XLA's fusion on the CPU takes what is computed element by element into each loop that reads it,
    however long it is, and computes it there again. Nothing is taken out of the branches of a
    conditional, so this is one of them; which one is a constant behind a barrier. (A barrier by
    itself is gone by the time that XLA fuses, but not by the time that it simplifies conditionals.)

    ``otherwise`` is the branch not taken, by default one that gives zeros. Where it gives operands,
    the results can be computed in their memory. Programs for other targets
    get the function as it is.
    """
    if not targets.is_xla_cpu():
        return function(*operands)
    avals = jax.eval_shape(function, *operands)

    def never(*given: Any) -> jax.Array:
        return jax.tree.map(lambda aval: jnp.zeros(aval.shape, aval.dtype), avals)

    return lax.cond(lax.optimization_barrier(np.True_), function, otherwise or never, *operands)


def settled(x: jax.Array) -> jax.Array:
    """Return ``x``, which is compared with an extremum of its own, behind an optimization barrier
    in programs for accelerators.

    XLA computes it again in each loop that reads it, and a GPU's loops round differently: then no
    element equals the largest, and the gradient, shared among those that do, is NaN.
    """
    return lax.optimization_barrier(x) if targets.is_accelerator() else x
