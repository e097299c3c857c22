"""Quotients and powers of complex numbers at the edges: zeros, infinities and NaN.

XLA's own are as good elsewhere. A quotient by 0 has the signs of the dividend's parts whatever the
sign of the zero, as in NumPy and PyTorch; of infinities it depends on the order of the steps, so
they are those of Smith's method. A power is C's, the exponential of a product with the logarithm.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from torchlike._ops.elementwise import complex_edges


def _by_parts(c: Any, d: Any) -> tuple[Any, Any, Any]:
    """Return the parts of a quotient by ``c + d j``: whether c is the larger part, the ratio of the
    smaller part to it, and the factor that divides."""
    first = abs(c) >= abs(d)
    large, small = jnp.where(first, c, d), jnp.where(first, d, c)
    ratio = small / large
    return first, ratio, 1 / (large + small * ratio)


@jax.custom_jvp
def quotient(x: Any, y: Any) -> jax.Array:
    """Return ``x / y`` of two complex arrays of one shape."""
    a, b, c, d = x.real, x.imag, y.real, y.imag
    first, ratio, factor = _by_parts(c, d)
    zero = (c == 0) & (d == 0)
    real = jnp.where(first, a + b * ratio, a * ratio + b) * factor
    imag = jnp.where(first, b - a * ratio, b * ratio - a) * factor
    return lax.complex(jnp.where(zero, a / abs(c), real), jnp.where(zero, b / abs(d), imag))


def _linear(x: Any, y: Any) -> jax.Array:
    """Return ``x / y`` as products with parts of y alone, so that it is linear in x."""
    a, b, c, d = x.real, x.imag, y.real, y.imag
    first, ratio, factor = _by_parts(c, d)
    zero = (c == 0) & (d == 0)
    near, across = jnp.where(first, 1, ratio) * factor, jnp.where(first, ratio, 1) * factor
    near, across = jnp.where(zero, jnp.inf, near), jnp.where(zero, 0, across)
    return lax.complex(a * near + b * across, b * near - a * across)


@quotient.defjvp
def _quotient_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x, y), (dx, dy) = primals, tangents
    found = quotient(x, y)
    return found, _linear(dx, y) - found * _linear(dy, y)


def _product(x: Any, y: Any) -> jax.Array:
    """Return ``x * y`` as C's standard has it: an infinity times what is not 0 is one."""
    a, b, c, d = x.real, x.imag, y.real, y.imag
    real, imag = a * c - b * d, a * d + b * c
    lost = jnp.isnan(real) & jnp.isnan(imag)
    left, right = jnp.isinf(a) | jnp.isinf(b), jnp.isinf(c) | jnp.isinf(d)
    overflowed = (
        ~left & ~right & (jnp.isinf(a * c) | jnp.isinf(b * d) | jnp.isinf(a * d) | jnp.isinf(b * c))
    )

    def boxed(own: Any, part: Any) -> jax.Array:
        return jnp.where(own, jnp.copysign(jnp.isinf(part).astype(part.dtype), part), part)

    def zeroed(other: Any, part: Any) -> jax.Array:
        return jnp.where(other & jnp.isnan(part), jnp.copysign(0, part), part)

    a, b = (zeroed(right | overflowed, boxed(left, p)) for p in (a, b))
    c, d = (zeroed(left | overflowed, boxed(right, p)) for p in (c, d))
    mended = lost & (left | right | overflowed)
    return lax.complex(
        jnp.where(mended, jnp.inf * (a * c - b * d), real),
        jnp.where(mended, jnp.inf * (a * d + b * c), imag),
    )


def power(x: Any, y: Any) -> jax.Array:
    """Return ``x ** y`` of two complex arrays."""
    plain = jnp.isfinite(x) & jnp.isfinite(y) & (x != 0)
    x, y, plain = jnp.broadcast_arrays(x, y, plain)
    edge = complex_edges.exponential(_product(y, complex_edges.logarithm(x)))
    # XLA multiplies a power of the modulus and an exponential, of which one may overflow and the
    # other vanish.
    found = jnp.power(x, y)
    return jnp.where(plain & jnp.isfinite(found) & (found != 0), found, edge)
