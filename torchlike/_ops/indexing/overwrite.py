"""Writing at index arrays, with PyTorch's gradient where an index occurs twice."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

#: A NumPy-style index: arrays, and full slices for dimensions taken whole.
Index = tuple[Any, ...]


def overwrite(x: Any, index: Index, values: Any) -> jax.Array:
    """Return ``x`` with ``values`` (broadcast) at ``index``; later writes win, out of range is
    dropped.

    The gradient is PyTorch's: what was overwritten gets zero, and every value gets the gradient of
    the place it was written to, even one overwritten by a later duplicate. JAX's own rule finds the
    winner of each duplicate with two more scatters, which would also make the common case slower.
    """
    layout = tuple(not isinstance(i, slice) for i in index)

    def whole(arrays: Any) -> Index:
        rest = iter(arrays)
        return tuple(next(rest) if used else slice(None) for used in layout)

    @jax.custom_jvp
    def put(x: Any, values: Any, *arrays: Any) -> jax.Array:
        return x.at[whole(arrays)].set(values, mode="drop")

    @put.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, ...]:
        x, values, *arrays = primals
        dx, dvalues, *_ = tangents
        at = whole(arrays)
        written = jnp.zeros(x.shape, bool).at[at].set(True, mode="drop")
        change = jnp.zeros_like(x).at[at].add(dvalues, mode="drop")
        return put(x, values, *arrays), jnp.where(written, 0, dx) + change

    return put(x, values.astype(x.dtype), *(i for i in index if not isinstance(i, slice)))


def accumulate(x: Any, index: Index, values: Any) -> jax.Array:
    """Return ``x`` with ``values`` added at ``index``; out of range is dropped. Bools add by
    "or"."""
    place = x.at[index]
    return (place.max if x.dtype == np.bool_ else place.add)(values, mode="drop")


def along(index: Any, dim: int) -> Index:
    """Return the index that makes ``x[along(index, dim)]`` a gather: ``index`` along ``dim``, and
    each position itself along the others."""
    return tuple(
        index if d == dim else np.arange(n).reshape((-1,) + (1,) * (index.ndim - d - 1))
        for d, n in enumerate(index.shape)
    )


def on_axis(index: Any, dim: int) -> Index:
    """Return the index that selects positions ``index`` of one dimension."""
    return (slice(None),) * dim + (index,)
