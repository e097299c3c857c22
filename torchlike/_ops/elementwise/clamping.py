"""``clamp`` and its gradients: PyTorch 2.14 shares those of an input that equals a bound."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from torchlike._core import dtypes
from torchlike._ops.elementwise import subgradients
from torchlike._runtime.reference import follows


def limited(x: Any, low: Any, high: Any) -> jax.Array:
    """Return ``x`` within bounds, of which either may be None; NaN where one of them is.

    where() rather than minimum(): of two zeros the input's stays.
    """
    is_float = dtypes.kind_of(x.dtype) == "f"
    if low is not None:
        x = jnp.where(x < low, low, x)
        x = jnp.where(jnp.isnan(low), low, x) if is_float else x
    if high is not None:
        x = jnp.where(x > high, high, x)
        x = jnp.where(jnp.isnan(high), high, x) if is_float else x
    return x


def _whole_to_input(x: Any, low: Any, high: Any) -> tuple[Any, ...]:
    """Return where a gradient goes to the input and to each bound: an input that equals a bound
    gets all of it, and nobody gets one of NaN."""
    inside, below, above, crossed = _places(x, low, high)
    if low is None or high is None:
        return inside, below, above
    return inside, below & (low < high), above | crossed


def _shared(x: Any, low: Any, high: Any) -> tuple[Any, ...]:
    """Return weights by which an input and a bound that it equals get half each. Equal bounds, and
    those of which one is NaN, share with nobody."""
    _, below, above, crossed = _places(x, low, high)
    ordered = low <= high
    at_low, at_high = (low < high) & (x == low), (low < high) & (x == high)
    return (
        jnp.where(below | above, 0, jnp.where(at_low | at_high, 0.5, 1)),
        jnp.where(below & ordered, 1, jnp.where(at_low, 0.5, 0)),
        jnp.where((above & ordered) | crossed, 1, jnp.where(at_high, 0.5, 0)),
    )


def _places(x: Any, low: Any, high: Any) -> tuple[Any, ...]:
    """Return whether ``x`` is between the bounds (ends included), below, above, and whether the
    bounds are in the wrong order."""
    none = jnp.zeros((), bool)
    below, above = none if low is None else x < low, none if high is None else x > high
    inside = ~jnp.isnan(x)
    for bound, beyond in ((low, below), (high, above)):
        inside = inside if bound is None else inside & ~beyond & ~jnp.isnan(bound)
    return inside, below, above, none if low is None or high is None else low > high


def _with_gradients(weights: Any) -> Any:
    """Return `limited` for floats, whose gradients go where ``weights`` say."""
    clamp = jax.custom_jvp(limited)

    @clamp.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, ...]:
        parts = [
            jnp.where(w == 0, 0, jnp.asarray(w, t.dtype) * t)
            for w, p, t in zip(weights(*primals), primals, tangents, strict=True)
            if p is not None
        ]
        return clamp(*primals), sum(parts[1:], parts[0])

    return clamp


_clamp = _with_gradients(_whole_to_input)
_clamp_sharing = _with_gradients(_shared)


def _clamp_between_numbers(x: Any, low: Any, high: Any) -> jax.Array:
    """Return `limited`, with a gradient for what lies between the bounds, ends excluded."""
    inside = jnp.ones(x.shape, bool) if low is None else x > low
    inside = inside if high is None else inside & (x < high)
    return jnp.where(inside, x, lax.stop_gradient(limited(x, low, high)))


def clamp(x: Any, low: Any, high: Any, are_numbers: bool) -> jax.Array:
    """Return floating ``x`` within bounds of its dtype, of which one may be None, with the
    gradients of the release that is followed."""
    if not follows("clamp shares ties"):
        return _clamp(x, low, high)
    if are_numbers:
        return _clamp_between_numbers(x, low, high)
    if high is None:
        return subgradients.maximum(x, low)
    return subgradients.minimum(x, high) if low is None else _clamp_sharing(x, low, high)
