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
from jax import lax
from jax.custom_derivatives import SymbolicZero

#: zeta(k) - 1 for k = 2, 3, …
_ZETA_LESS_ONE = (
    0.644934066848, 0.20205690316, 0.0823232337111, 0.0369277551434, 0.0173430619844,
    0.00834927738192, 0.00407735619794, 0.00200839282608, 0.000994575127818, 0.000494188604119,
    0.000246086553308,
)  # fmt: skip
#: lgamma(2 + w) by powers of w from the first on: 1 - Euler's constant, then
#: (-1)^k (zeta(k) - 1) / k. Off by 6e-8 of the value for |w| <= 0.5.
_FROM_TWO = (1 - np.euler_gamma, *((-1) ** k * z / k for k, z in enumerate(_ZETA_LESS_ONE, 2)))


@jax.custom_jvp
def lgamma(x: Any) -> Any:
    """``log(|gamma(x)|)``. Around its zeros 1 and 2, where XLA's cancels in float32 (off by 5e-7
    there, and by 1e-3 of the value beside them), by a series."""
    found = special.gammaln(x)
    if x.dtype != np.float32:
        return found
    near_one, near_two = jnp.abs(x - 1) <= 0.5, jnp.abs(x - 2) <= 0.5
    w = jnp.where(near_one, x - 1, jnp.where(near_two, x - 2, 0))
    series = functools.reduce(lambda sum, c: (sum + c) * w, reversed(_FROM_TWO), jnp.zeros_like(x))
    return jnp.where(near_one, series - jnp.log1p(w), jnp.where(near_two, series, found))


@lgamma.defjvp
def _lgamma_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return lgamma(x), digamma(x) * dx


@jax.custom_jvp
def digamma(x: Any) -> Any:
    """The derivative of ``lgamma``; minus infinity at 0, NaN at the negative integers."""
    return jnp.where(x == 0, jnp.copysign(jnp.inf, -x), special.digamma(x)).astype(x.dtype)


@digamma.defjvp
def _digamma_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return digamma(x), polygamma(1, x) * dx


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def polygamma(n: int, x: Any) -> Any:
    """The ``n``-th derivative of digamma."""
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
def _polygamma_jvp(n: int, primals: Any, tangents: Any) -> Any:
    (x,), (dx,) = primals, tangents
    return polygamma(n, x), polygamma(n + 1, x) * dx


def _trigamma(x: Any) -> Any:
    """By reflection below 1/2: trigamma(1 - x) + trigamma(x) = (pi / sin(pi x)) ** 2."""
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    mirrored = wide < 0.5
    positive = jnp.where(mirrored, 1 - wide, wide)
    value = special.zeta(jnp.asarray(2.0, wide.dtype), positive)
    sine = jnp.pi / jnp.sin(jnp.pi * wide)
    return jnp.where(mirrored, sine * sine - value, value).astype(x.dtype)


@jax.custom_jvp
def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function: the sum of (q + k) ** -x over k = 0, 1, …

    As Cephes: infinite at poles, NaN for x < 1, and below q = 0 for all but integers x, where terms
    up to a positive ``q + k`` are added one by one.
    """
    x, q = jnp.broadcast_arrays(x, q)
    below = (q <= 0) & jnp.isfinite(q)
    count = jnp.where(below, jnp.floor(-q) + 1, 0)

    def add_term(state: Any) -> Any:
        k, total = state
        term = jnp.where(k < count, jnp.power(q + k, -x), 0)
        return k + 1, total + term

    most = jnp.max(count, initial=0)
    _, head = lax.while_loop(
        lambda state: state[0] < most, add_term, (jnp.zeros((), q.dtype), jnp.zeros_like(q))
    )
    value = head + special.zeta(x, jnp.where(below, q + count, q))
    value = jnp.where(below & (x != jnp.floor(x)), jnp.nan, value)
    value = jnp.where(below & (q == jnp.floor(q)), jnp.inf, value)
    value = jnp.where(x == 1, jnp.inf, value)
    return jnp.where(x < 1, jnp.nan, value)


def _zeta_jvp(primals: Any, tangents: Any) -> Any:
    (x, q), (dx, dq) = primals, tangents
    if not isinstance(dx, SymbolicZero):  # it has no closed form
        raise NotImplementedError("the derivative for 'zeta' is not implemented.")
    return zeta(x, q), -x * zeta(x + 1, q) * dq


zeta.defjvp(_zeta_jvp, symbolic_zeros=True)
