"""Elementwise functions with PyTorch's derivative where a function has a kink, a tie or a pole.

JAX's rules differ there: its derivative of ``|x|`` at 0 is 1, of a tie with NaN 0, of ``0 ** 0``
NaN.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np

from torchlike._core import dtypes
from torchlike._ops.elementwise import complex_quotients
from torchlike._runtime.reference import follows


@jax.custom_jvp
def absolute(x: Any) -> jax.Array:
    """Return ``|x|``, with derivative 0 at 0. With an infinite part it is infinite, also where the
    other is NaN."""
    if dtypes.kind_of(x.dtype) != "c":
        return jnp.abs(x)
    return jnp.where(jnp.isinf(x), jnp.inf, jnp.abs(x))


@absolute.defjvp
def _abs_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    # PyTorch's subgradient at 0 is 0 (JAX's is 1 for reals, NaN for complex).
    (x,), (t,) = primals, tangents
    if x.dtype.kind == "c":
        size = jnp.abs(x)
        unit = jnp.where(size == 0, 0, x / jnp.where(size == 0, 1, size))
        return absolute(x), (jnp.conj(unit) * t).real
    return absolute(x), sign(x) * t


def sign(x: Any) -> jax.Array:
    """Return -1, 0 or 1; 0 for NaN too, and for -0.0."""
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


@jax.custom_jvp
def power(x: Any, y: Any) -> jax.Array:
    """Return ``x ** y``."""
    return complex_quotients.power(x, y) if x.dtype.kind == "c" else jnp.power(x, y)


@power.defjvp
def _power_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    # PyTorch's conventions: no gradient to the base of a zeroth power, none to the exponent where
    # the base is 0 (and the power finite).
    (x, y), (dx, dy) = primals, tangents
    out = power(x, y)
    to_base = jnp.where(y == 0, 0, y * power(x, jnp.where(y == 0, 1, y - 1)))
    flat = (x == 0) & (y.real >= 0)
    if y.dtype.kind == "c":
        flat &= y.imag == 0
    to_exponent = jnp.where(flat, 0, out * jnp.log(jnp.where(flat, 1, x)))
    return out, to_base * dx + to_exponent * dy


@jax.custom_jvp
def hypot(x: Any, y: Any) -> jax.Array:
    """Return ``sqrt(x ** 2 + y ** 2)``; the gradient at (0, 0) is NaN, 0 / 0."""
    return jnp.hypot(x, y)


@hypot.defjvp
def _hypot_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x, y), (dx, dy) = primals, tangents
    out = hypot(x, y)
    return out, x / out * dx + y / out * dy


#: From which power of two on a square may not be a normal number, and those by which such numbers
#: are multiplied or divided first.
_FAR = {np.dtype(np.float32): (40, 100, 80), np.dtype(np.float64): (400, 900, 700)}


@jax.custom_jvp
def arctan2(y: Any, x: Any) -> jax.Array:
    """Return the angle of the point (x, y); no gradient at the origin."""
    return jnp.arctan2(y, x)


@arctan2.defjvp
def _arctan2_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (y, x), (dy, dx) = primals, tangents
    far, up, down = _FAR[x.dtype]
    larger = jnp.maximum(abs(x), abs(y))
    scale = jnp.where(larger < 2.0**-far, 2.0**up, jnp.where(larger > 2.0**far, 2.0**-down, 1))
    scale = scale.astype(x.dtype)
    x_scaled, y_scaled = x * scale, y * scale
    size = x_scaled * x_scaled + y_scaled * y_scaled
    origin = size == 0
    size = jnp.where(origin, 1, size)
    to_y, to_x = x_scaled / size * scale, y_scaled / size * scale
    return arctan2(y, x), jnp.where(origin, 0, to_y) * dy - jnp.where(origin, 0, to_x) * dx


def _times_logarithm(product: Any, logarithm: Any, pole: float) -> Any:
    """Return the function ``x * logarithm(y)``, 0 where x is 0: there x has no gradient up to the
    logarithm's pole, where that is not finite."""
    product = jax.custom_jvp(product)

    def jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
        (x, y), (dx, dy) = primals, tangents
        none = (x == 0) & (y <= pole)
        to_x = jnp.where(none, 0, logarithm(jnp.where(none, pole + 1, y)))
        return product(x, y), to_x * dx + x / (y - pole) * dy

    product.defjvp(jvp)
    return product


xlogy = _times_logarithm(jax.scipy.special.xlogy, jnp.log, 0)
xlog1py = _times_logarithm(jax.scipy.special.xlog1py, jnp.log1p, -1)


def _choosing(fn: Any, weights: Any) -> Any:
    """Return an extremum whose gradient goes to each side by ``weights(x, y)``, PyTorch's rule."""
    choose = jax.custom_jvp(fn)

    @choose.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, ...]:
        (x, y), (dx, dy) = primals, tangents
        to_x, to_y = weights(x, y)
        return choose(x, y), jnp.where(to_x == 0, 0, to_x * dx) + jnp.where(to_y == 0, 0, to_y * dy)

    return choose


def _shared(beaten: Any) -> Any:
    """Return weights by which ties share evenly; a side that is beaten gets nothing; with NaN
    neither is."""

    def weights(x: Any, y: Any) -> tuple[Any, ...]:
        tie = jnp.where(x == y, 0.5, 1).astype(x.dtype)
        return jnp.where(beaten(x, y), 0, tie), jnp.where(beaten(y, x), 0, tie)

    return weights


def _first(wins: Any) -> Any:
    """Return weights that give all to the first where it wins (ties too) or the second is NaN, else
    to the second."""

    def weights(x: Any, y: Any) -> tuple[Any, ...]:
        chosen = (wins(x, y) | jnp.isnan(y)).astype(x.dtype)
        return chosen, 1 - chosen

    return weights


def _floating(choose: Any, plain: Any) -> Any:
    return lambda x, y: (choose if dtypes.kind_of(x.dtype) == "f" else plain)(x, y)


maximum = _floating(_choosing(jnp.maximum, _shared(jnp.less)), jnp.maximum)
minimum = _floating(_choosing(jnp.minimum, _shared(jnp.greater)), jnp.minimum)
if follows("fmax shares ties"):
    _of_fmax, _of_fmin = _shared(jnp.less), _shared(jnp.greater)
else:
    _of_fmax, _of_fmin = _first(jnp.greater_equal), _first(jnp.less_equal)
fmax = _floating(_choosing(jnp.fmax, _of_fmax), jnp.fmax)
fmin = _floating(_choosing(jnp.fmin, _of_fmin), jnp.fmin)


@jax.custom_jvp
def logit(x: Any) -> jax.Array:
    """Return ``log(x / (1 - x))``; the derivative, too, is NaN outside of [0, 1]."""
    return jnp.log(x / (1 - x))


@logit.defjvp
def _logit_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    # The size of x: at -0.0 the derivative is inf as well.
    return logit(x), jnp.where((x >= 0) & (x <= 1), 1 / (abs(x) * (1 - x)), jnp.nan) * t


def _log_of_sum(fn: Any, log_of_base: float) -> Any:
    """Return a logarithm of a sum of powers, whose gradient to each side is its share in the sum:
    none beside an infinity (JAX's is all), NaN between two equal ones."""
    total = jax.custom_jvp(fn)

    @total.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, ...]:
        (x, y), (dx, dy) = primals, tangents
        ahead = (x - y) * log_of_base
        return total(x, y), jax.nn.sigmoid(ahead) * dx + jax.nn.sigmoid(-ahead) * dy

    return total


_real_logaddexp = _log_of_sum(jnp.logaddexp, 1)
logaddexp2 = _log_of_sum(jnp.logaddexp2, math.log(2))


def logaddexp(x: Any, y: Any) -> jax.Array:
    """Return ``log(exp(x) + exp(y))``; for complex numbers by the one of larger real part."""
    if x.dtype.kind != "c":
        return _real_logaddexp(x, y)
    return _complex_logaddexp(*jnp.broadcast_arrays(x, y))


def log_of_complex_sum(so_far: Any, x: Any) -> jax.Array:
    """Return ``log(exp(so_far) + exp(x))`` of complex numbers, without a derivative.

    Where all were -inf no angle is known; two of +inf add their angles."""
    below = x.real < so_far.real
    high, low = jnp.where(below, so_far, x), jnp.where(below, x, so_far)
    gone = (low.real == -jnp.inf) | (high.real == jnp.inf)  # beside the other one
    share = jnp.where(gone, 0, jnp.exp(jnp.where(gone, 0, low - high)))
    total = jnp.where(high.real == -jnp.inf, so_far, high + jnp.log1p(share))

    def along(of_angle: Any) -> Any:
        first, second = of_angle(low.imag), of_angle(high.imag)
        return jnp.where(first == 0, 0, jnp.inf * first) + jnp.where(
            second == 0, 0, jnp.inf * second
        )

    angle = jnp.arctan2(along(jnp.sin), along(jnp.cos))
    endless = jax.lax.complex(jnp.full_like(angle, jnp.inf), angle)
    total = jnp.where(low.real == jnp.inf, endless, total)
    lost = jnp.isnan(so_far) | jnp.isnan(x)
    return jnp.where(lost, complex(jnp.nan, jnp.nan), total).astype(x.dtype)


@jax.custom_jvp
def _complex_logaddexp(x: Any, y: Any) -> jax.Array:
    return log_of_complex_sum(y, x)


@_complex_logaddexp.defjvp
def _complex_logaddexp_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x, y), (dx, dy) = primals, tangents

    def share(behind: Any) -> Any:
        """Return the share of the first of two, by how far the other is ahead of it."""
        gone = behind.real == -jnp.inf
        return 1 / (1 + jnp.where(gone, 0, jnp.exp(jnp.where(gone, 0, behind))))

    return _complex_logaddexp(x, y), share(y - x) * dx + share(x - y) * dy


@jax.custom_jvp
def i0(x: Any) -> jax.Array:
    """Return the modified Bessel function of order 0; its derivative is i1, 0 at 0 (JAX's is 1
    there)."""
    return jax.scipy.special.i0(x)


@i0.defjvp
def _i0_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    return i0(x), i1(x) * t


@jax.custom_jvp
def i1(x: Any) -> jax.Array:
    """Return the modified Bessel function of order 1."""
    return jax.scipy.special.i1(x)


@i1.defjvp
def _i1_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    zero = x == 0
    slope = i0(x) - i1(x) / jnp.where(zero, 1, x)
    return i1(x), jnp.where(zero, 0.5, slope) * t


@jax.custom_jvp
def erfcx(x: Any) -> jax.Array:
    """Return ``exp(x²)·erfc(x)``; its derivative is ``2x·erfcx(x) - 2/√π``, as PyTorch computes it.

    JAX 0.12 has another, whose own derivative fails for arrays, and which is 0 where ``erfc(x)`` is
    not a normal number (from 9.2 to 9.4, in float64 from 26.5 to 26.6). There this is the
    asymptotic series: 1 - u + 3u² - 15u³ …, with u of 1 / 2x².
    """
    far = 26 if x.dtype == np.float64 else 9
    u = 0.5 / (x * x)
    series = jnp.ones_like(x)
    for odd in (13, 11, 9, 7, 5, 3, 1):
        series = 1 - odd * u * series
    return jnp.where(
        x > far,
        series / (x * math.sqrt(math.pi)),
        jax.scipy.special.erfcx(jnp.minimum(x, far)),
    )


@erfcx.defjvp
def _erfcx_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    value = erfcx(x)
    return value, (2 * x * value - 2 / math.sqrt(math.pi)) * t


@jax.custom_jvp
def ndtri(x: Any) -> jax.Array:
    """Return the inverse of the normal distribution's function; infinitely steep at 0 and 1."""
    return jax.scipy.special.ndtri(x)


@ndtri.defjvp
def _ndtri_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x,), (t,) = primals, tangents
    value = ndtri(x)
    return value, math.sqrt(2 * math.pi) * jnp.exp(value * value / 2) * t


@jax.custom_jvp
def nextafter(x: Any, y: Any) -> jax.Array:
    """Return the next number after x toward y. By PyTorch's derivative it moves with x unless x ==
    y."""
    return jnp.nextafter(x, y)


@nextafter.defjvp
def _nextafter_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    (x, y), (dx, _) = primals, tangents
    return nextafter(x, y), jnp.where(x == y, 0, dx)
