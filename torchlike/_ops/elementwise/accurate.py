"""Functions of one number whose digits JAX's formulas lose, written so that they are kept."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes
from torchlike._ops.elementwise import trigonometry
from torchlike._ops.elementwise.complex_edges import exponential
from torchlike._ops.elementwise.subgradients import erfcx

#: Terms of the series of sinc's derivative: for |pi x| < 1 the next is below 1e-17 of the sum.
_TERMS = 9
#: The exponent's bits: how many lie below them, and what stands for 2 ** 0.
_BITS = {np.dtype(np.float32): (23, 127, np.int32), np.dtype(np.float64): (52, 1023, np.int64)}


@jax.custom_jvp
def sinc(x: Any) -> jax.Array:
    """Return ``sin(pi x) / (pi x)``. Its derivative near 0 is computed by a series: the closed form
    is a difference of two numbers near 1 over x (at 1e-5 in float32 -6e-3 for -3e-5, infinite at
    1e-20)."""
    # Not ``jnp.sinc``: versions of JAX have 0 or NaN for an infinite complex number.
    u = math.pi * x
    at_zero = u == 0
    u = jnp.where(at_zero, 1, u)
    return jnp.where(at_zero, 1, jnp.sin(u) / u)


@sinc.defjvp
def _sinc_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    u = math.pi * x
    small = abs(u) < 1
    series = _series(jnp.where(small, u, 0))
    far = jnp.where(small, 1, u)
    closed = (far * jnp.cos(far) - jnp.sin(far)) / (far * far)
    return sinc(x), math.pi * jnp.where(small, series, closed) * t


def _series(u: Any) -> jax.Array:
    """Return the sum of ``(-1)**k * 2k / (2k + 1)! * u**(2k - 1)``, from the last term on."""
    total = jnp.zeros_like(u)
    for k in range(_TERMS, 0, -1):
        total = (-1) ** k * 2 * k / math.factorial(2 * k + 1) + u * u * total
    return u * total


def exp2(x: Any) -> jax.Array:
    """Return ``2 ** x``, exact for integers. XLA takes ``exp(x * log 2)``, whose error grows with
    x: of 99 in float32 it makes 6.338275e29, which is 3.6e-6 off."""
    if dtypes.kind_of(x.dtype) == "c":  # by parts: of an infinity a complex product makes NaN
        return exponential(lax.complex(x.real * math.log(2), x.imag * math.log(2)))
    if x.dtype not in _BITS:
        return jnp.exp2(x)
    whole = lax.stop_gradient(jnp.round(jnp.clip(x, -2200, 2200)))
    part = jnp.where(abs(x) < 2200, x - whole, x)  # an infinity and NaN are themselves
    exponent = whole.astype(_BITS[x.dtype][2])
    # In halves, as 2 ** 128 is infinite where 2 ** 127.9 is not.
    half = exponent >> 1
    return jnp.exp(part * math.log(2)) * _power(half, x.dtype) * _power(exponent - half, x.dtype)


def _power(exponent: Any, dtype: Any) -> jax.Array:
    """Return 2 to an integer power, made of bits; for one that is out of range, the nearest in
    it."""
    below, zero, _ = _BITS[dtype]
    biased = jnp.clip(exponent + zero, 0, 2 * zero + 1)
    return lax.bitcast_convert_type(biased << below, dtype)


def sinh(x: Any) -> jax.Array:
    """Return the hyperbolic sine. XLA's of complex numbers is half a difference of exponentials, in
    which 1e-10 is lost."""
    if dtypes.kind_of(x.dtype) != "c":
        return jnp.sinh(x)
    turned = trigonometry.sine(lax.complex(-x.imag, x.real))
    return lax.complex(turned.imag, -turned.real)


def cosh(x: Any) -> jax.Array:
    """Return the hyperbolic cosine, of complex numbers by the cosine, for the imaginary part's
    sake."""
    if dtypes.kind_of(x.dtype) != "c":
        return jnp.cosh(x)
    return trigonometry.cosine(lax.complex(-x.imag, x.real))


def arctan(x: Any) -> jax.Array:
    """Return the arc tangent; of a complex NaN, XLA gives a number as the real part."""
    if dtypes.kind_of(x.dtype) != "c":
        return jnp.arctan(x)
    found = jnp.arctan(x)
    unknown = jnp.isnan(x.real) | (jnp.isnan(x.imag) & ~jnp.isinf(x.real))
    return lax.complex(jnp.where(unknown, jnp.nan, found.real), found.imag)


def arctanh(x: Any) -> jax.Array:
    """Return the inverse hyperbolic tangent; of a complex NaN as ``arctan`` treats it."""
    if dtypes.kind_of(x.dtype) != "c":
        return jnp.arctanh(x)
    found = jnp.arctanh(x)
    unknown = jnp.isnan(x.imag) | (jnp.isnan(x.real) & ~jnp.isinf(x.imag))
    return lax.complex(found.real, jnp.where(unknown, jnp.nan, found.imag))


@jax.custom_jvp
def log_ndtr(x: Any) -> jax.Array:
    """Return the logarithm of the normal distribution function, by whichever tail is small: JAX's
    takes the logarithm of a number near 1 (4 % off at 5 in float32)."""
    upper = jnp.log1p(-0.5 * jax.scipy.special.erfc(jnp.maximum(x, -1) / math.sqrt(2)))
    low = jnp.minimum(x, -1)
    lower = jnp.log(erfcx(-low / math.sqrt(2)) / 2) - low * (low / 2)
    return jnp.where(x < -1, lower, upper)


@log_ndtr.defjvp
def _log_ndtr_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    return log_ndtr(x), _hazard(x) * t


@jax.custom_jvp
def _hazard(x: Any) -> jax.Array:
    """Return the density over the distribution function, the derivative of ``log_ndtr``."""
    return math.sqrt(2 / math.pi) / erfcx(-x / math.sqrt(2))


@_hazard.defjvp
def _hazard_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    value = _hazard(x)
    return value, -value * (x + value) * t
