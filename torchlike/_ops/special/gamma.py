"""The gamma function's relatives, right for negative arguments too, with derivatives to any order.

JAX's digamma and lgamma have derivatives for positive arguments only, and its zeta has no values
below 0.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np
from jax.custom_derivatives import SymbolicZero

from torchlike._runtime import targets


@jax.custom_jvp
def lgamma(x: Any) -> jax.Array:
    """Return ``log(|gamma(x)|)``, of float32 computed in float64 on the CPU: XLA's own is 5e-7 at
    1, where it is 0, and a third too much at 2.00001 (a million: 40 ms, 68 this way)."""
    if x.dtype == np.float32 and targets.is_xla_cpu():
        return special.gammaln(x.astype(np.float64)).astype(np.float32)
    return special.gammaln(x)


@lgamma.defjvp
def _lgamma_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (dx,) = primals, tangents
    return lgamma(x), digamma(x) * dx


@jax.custom_jvp
def digamma(x: Any) -> jax.Array:
    """Return the derivative of ``lgamma``; minus infinity at 0, NaN at the negative integers."""
    return jnp.where(x == 0, jnp.copysign(jnp.inf, -x), special.digamma(x)).astype(x.dtype)


@digamma.defjvp
def _digamma_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (dx,) = primals, tangents
    return digamma(x), polygamma(1, x) * dx


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def polygamma(n: int, x: Any) -> jax.Array:
    """Return the ``n``-th derivative of digamma."""
    if n == 0:
        return digamma(x)
    if n == 1:
        return _trigamma(x)
    sign = 1 if n % 2 else -1
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    return (
        sign * math.exp(math.lgamma(n + 1)) * zeta(jnp.asarray(n + 1.0, wide.dtype), wide)
    ).astype(x.dtype)


@polygamma.defjvp
def _polygamma_jvp(n: int, primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (dx,) = primals, tangents
    return polygamma(n, x), polygamma(n + 1, x) * dx


def _trigamma(x: Any) -> jax.Array:
    """Return the trigamma function, by reflection below 1/2: trigamma(1 - x) + trigamma(x) = (pi /
    sin(pi x)) ** 2."""
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    mirrored = wide < 0.5
    positive = jnp.where(mirrored, 1 - wide, wide)
    value = special.zeta(jnp.asarray(2.0, wide.dtype), positive)
    value = jnp.where(positive > 1e9, 1 / positive, value)  # to all digits; zeta's square is inf
    sine = jnp.pi / jnp.sin(jnp.pi * wide)
    return jnp.where(mirrored, sine * sine - value, value).astype(x.dtype)


def _hurwitz(x: Any, q: Any) -> jax.Array:
    """Return the zeta function of positive q; for large x its first term alone, because JAX's is
    NaN there."""
    return jnp.where((x > 200) & (q < x / 50), jnp.power(q, -x), special.zeta(x, q))


@jax.custom_jvp
def zeta(x: Any, q: Any) -> jax.Array:
    """Return the Hurwitz zeta function: the sum of (q + k) ** -x over k = 0, 1, …

    As Cephes: infinite at poles, NaN for x < 1, and below q = 0 for all but integers x, where the
    sum over the negative q + k is one over positive numbers, too, up to a sign.
    """
    x, q = jnp.broadcast_arrays(x, q)
    below = (q <= 0) & jnp.isfinite(q)
    # The terms on both sides of 0, by how far the first is from it; the distance to the integer
    # above is exact. The two that are nearly equal and opposite are added first.
    nearest, least = _hurwitz(x, jnp.where(below, q - jnp.floor(q), q)), jnp.ceil(q) - q
    sign = jnp.where(x % 2 == 1, -1, 1).astype(q.dtype)
    negative = sign * _hurwitz(x, jnp.where(below, least, 1))
    beyond = sign * _hurwitz(x, jnp.where(below, 1 - q, 1))
    value = jnp.where(below, (nearest + negative) - beyond, nearest)
    value = jnp.where(below & (x != jnp.floor(x)), jnp.nan, value)
    value = jnp.where((q <= 0) & (q == jnp.floor(q)), jnp.inf, value)
    value = jnp.where(x == 1, jnp.inf, value)
    return jnp.where(x < 1, jnp.nan, value)


def _zeta_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x, q), (dx, dq) = primals, tangents
    if not isinstance(dx, SymbolicZero):  # it has no closed form
        raise NotImplementedError("the derivative for 'zeta' is not implemented.")
    return zeta(x, q), -x * zeta(x + 1, q) * dq


zeta.defjvp(_zeta_jvp, symbolic_zeros=True)
