"""The regularized incomplete gamma functions P(a, x) and Q(a, x) = 1 - P.

In float64 throughout: in float32 the sums of many terms that JAX computes are off by a tenth where
a and x are 1e5. In float64 they are by 1e-8 at 1e7 and by 0.02 at 1e9 (and Q(1e12, 1e12) was 8.4),
so large ``a`` have Temme's uniform expansion (DLMF 8.12): with ``mu = x / a - 1`` and
``eta ** 2 / 2 = mu - log(1 + mu)``, of the sign of mu,

    Q = erfc(eta * sqrt(a / 2)) / 2 + exp(-a * eta ** 2 / 2) / sqrt(2 * pi * a) * (c0 + c1 / a + …)

Where ``a`` is large all that is neither 0 nor 1 lies at a small eta, so c0 and c1 are the
beginnings of their series there: from 1/mu - 1/eta and 1/eta**3 - 1/mu**3 - 1/mu**2 - 1/(12 mu),
with mu as a series in eta by reversion. Neglected: c2 / a**2, 1e-15 at the smallest ``a``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np

#: From here on by the expansion.
_LARGE = 1e5
_C0 = (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515)
_C1 = (-1 / 540, -1 / 288, 1 / 378, -77 / 77760, 1 / 4860)
#: ``(mu - log(1 + mu)) / mu ** 2`` up to mu = 0.1.
_SMALL = 0.1
_EXPONENT = tuple([(-1) ** k / (k + 2) for k in range(16)])


def igamma(a: Any, x: Any) -> jax.Array:
    """Return the lower incomplete gamma function P(a, x): 0 for an infinite ``a`` and 1 for ``a`` =
    0."""
    return _computed(special.gammainc, -1, a, x)


def igammac(a: Any, x: Any) -> jax.Array:
    """Return the upper incomplete gamma function Q(a, x): 1 for an infinite ``a`` and 0 for ``a`` =
    0."""
    return _computed(special.gammaincc, 1, a, x)


def _computed(fn: Any, sign: int, a: Any, x: Any) -> jax.Array:
    wide, at = a.astype(np.float64), x.astype(np.float64)
    large, endless = wide > _LARGE, wide == math.inf
    # Where the one does not hold it gets numbers at which it and its derivative are finite.
    zero = wide == 0
    found = fn(jnp.where(large | zero, 1, wide), jnp.where(large | zero, 1, at))
    # Of order 0 everything lies at 0: JAX's P is NaN for x < 1.
    found = jnp.where(zero, jnp.where(at > 0, (1 - sign) / 2, math.nan), found)
    by_expansion = _expansion(
        jnp.where(large & ~endless, wide, _LARGE), jnp.where(large & ~endless, at, _LARGE), sign
    )
    by_expansion = jnp.where(endless, (sign + 1) / 2, by_expansion)
    defined = jnp.where(endless, (at >= 0) & (at < math.inf), at >= 0)
    return jnp.where(large, jnp.where(defined, by_expansion, math.nan), found).astype(a.dtype)


def _expansion(a: Any, x: Any, sign: int) -> jax.Array:
    """Compute Q for the sign 1 and P for -1, by the expansion for large ``a``."""
    mu = jnp.clip((x - a) / a, -0.9, 1e3)  # beyond, they are 0 and 1
    near = jnp.abs(mu) < _SMALL
    small = jnp.where(near, mu, 0)
    other = jnp.where(near, 1, mu)
    eta = jnp.where(
        near,
        small * jnp.sqrt(2 * _polynomial(_EXPONENT, small)),
        jnp.sign(other) * jnp.sqrt(2 * (other - jnp.log1p(other))),
    )
    within = jnp.clip(eta, -1, 1)
    rest = jnp.exp(-a * eta * eta / 2) / jnp.sqrt(2 * math.pi * a)
    rest = rest * (_polynomial(_C0, within) + _polynomial(_C1, within) / a)
    return special.erfc(sign * eta * jnp.sqrt(a / 2)) / 2 + sign * rest


def _polynomial(coefficients: Sequence[float], x: Any) -> jax.Array:
    return jnp.polyval(jnp.asarray(coefficients[::-1]), x)
