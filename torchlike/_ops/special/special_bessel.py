"""Bessel functions, modified Bessel functions and the Airy function, computed without tables.

Near 0 by their power series; elsewhere by an integral over the whole line of an entire or nearly
entire function times a Gaussian, for which the trapezoidal rule converges exponentially
(Trefethen & Weideman, "The Exponentially Convergent Trapezoidal Rule", 2014). Equation numbers are
those of the NIST Digital Library of Mathematical Functions. Everything is computed in float64:
the error is 1e-15 of the scale of the function, and derivatives are those of the same formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import op
from torchlike._core.dispatch.schema import Input
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.promotion import promoted_float

_EULER = 0.57721566490153286061
#: The reach of the rule: exp(-6.2 ** 2) is 2e-17.
_REACH = 6.2


def _nodes(step: float) -> list[tuple[float, float]]:
    """Return each (node, weight) of the trapezoidal rule on the half line, for an even
    integrand."""
    count = int(_REACH / step) + 1
    return [(k * step, step * (0.5 if k == 0 else 1.0)) for k in range(count + 1)]


def _series(z: Any, coefficient: Callable[[int], float], terms: int) -> jax.Array:
    """Return the sum over k of coefficient(k) * z ** k, by Horner's rule."""
    total = jnp.full_like(z, coefficient(terms - 1))
    for k in reversed(range(terms - 1)):
        total = total * z + coefficient(k)
    return total


def _harmonic(k: int) -> float:
    return sum(1.0 / j for j in range(1, k + 1))


def _weight(order: int, sign: float) -> Callable[[int], float]:
    """Return the series coefficients of J (sign -1) and I (sign 1): ``sign ** k / (k! (k +
    order)!)``, 10.2.2 and 10.25.2."""
    return lambda k: sign**k / (math.factorial(k) * math.factorial(k + order))


def _digammas(order: int, sign: float) -> Callable[[int], float]:
    """Return the series coefficients of Y and K: those of ``_weight`` times ``psi(k + 1) + psi(k +
    order + 1)``, 10.8.1 and 10.31.1."""
    weight = _weight(order, sign)
    return lambda k: weight(k) * (_harmonic(k) + _harmonic(k + order) - 2 * _EULER)


# -- J and Y ---------------------------------------------------------------------------------------

#: Up to here the alternating series: its largest term is 9, so that one digit is lost.
_J_SERIES, _J_TERMS = 5.0, 26
#: From there on: exp(-2 pi sqrt(5) / 0.37) is 3e-17.
_J_NODES = _nodes(0.37)


def _hankel(x: Any, order: int) -> tuple[Any, Any]:
    """Return (J, Y) of order 0 or 1 for x > 5.

    10.17.13 with u = s ** 2: J + iY = sqrt(2 / (pi x)) exp(i (x - order pi / 2 - pi / 4)) M, where
    M = c * integral of 2 s ** (2 order) exp(-s ** 2) (1 + i s ** 2 / (2 x)) ** (order - 1/2).
    """
    real: Any = 0.0
    imaginary: Any = 0.0
    for s, weight in _J_NODES:
        v = s * s / (2 * x)
        size = jnp.sqrt(1 + v * v)
        a = jnp.sqrt((1 + size) / 2)  # a + i b is the root of 1 + i v
        b = v / (2 * a)
        factor = 2 * weight * math.exp(-s * s)
        if order:
            factor *= 2 * s * s / math.sqrt(math.pi)
            real, imaginary = real + factor * a, imaginary + factor * b
        else:
            factor /= math.sqrt(math.pi)
            real, imaginary = real + factor * a / size, imaginary - factor * b / size
    angle = x - (math.pi / 4 + order * math.pi / 2)
    scale = jnp.sqrt(2 / (math.pi * x))
    c, s = jnp.cos(angle), jnp.sin(angle)
    return scale * (real * c - imaginary * s), scale * (real * s + imaginary * c)


def _j_and_y(x: Any, order: int) -> tuple[Any, Any]:
    """Return J and Y of x >= 0 (Y is NaN or infinite where it should be)."""
    small = x <= _J_SERIES
    near = jnp.where(small, x, 1.0)
    z = near * near / 4
    half = near / 2
    j = _series(z, _weight(order, -1.0), _J_TERMS) * half**order
    more = _series(z, _digammas(order, -1.0), _J_TERMS) * half**order
    logarithm = jnp.log(half)
    y = (2 * logarithm * j - more) / math.pi
    if order:
        y = y - 2 / (math.pi * near)
    far_j, far_y = _hankel(jnp.where(small, 10.0, x), order)
    return jnp.where(small, j, far_j), jnp.where(small, y, far_y)


def bessel_j0(x: Any) -> jax.Array:
    return _j_and_y(jnp.abs(x), 0)[0]


def bessel_j1(x: Any) -> jax.Array:
    # The sign by a product: at 0 the derivative is 1/2, which jnp.sign would lose.
    return jnp.where(x < 0, -1.0, 1.0) * _j_and_y(jnp.where(x < 0, -x, x), 1)[0]


def _for_positive(x: Any, value: Callable[[Any], Any], at_zero: float) -> jax.Array:
    """Return ``value`` of positive x, ``at_zero`` at 0, NaN below."""
    found = value(jnp.where(x > 0, x, 1.0))
    return jnp.where(x > 0, found, jnp.where(x == 0, at_zero, jnp.nan))


def bessel_y0(x: Any) -> jax.Array:
    return _for_positive(x, lambda v: _j_and_y(v, 0)[1], -jnp.inf)


def bessel_y1(x: Any) -> jax.Array:
    return _for_positive(x, lambda v: _j_and_y(v, 1)[1], -jnp.inf)


# -- I and K ---------------------------------------------------------------------------------------

_K_SERIES, _K_TERMS = 1.5, 14
#: exp(-2 pi sqrt(3) / 0.27) is 3e-18.
_K_NODES = _nodes(0.27)


def _scaled_k(x: Any, order: int) -> jax.Array:
    """Return exp(x) K of order 0 or 1 for x > 0.

    Near 0 10.31.1; beyond, 10.32.8 with u = s ** 2: c / sqrt(2 x) * integral of
    2 s ** (2 order) exp(-s ** 2) (1 + s ** 2 / (2 x)) ** (order - 1/2).
    """
    small = x <= _K_SERIES
    near = jnp.where(small, x, 1.0)
    z = near * near / 4
    half = near / 2
    i = _series(z, _weight(order, 1.0), _K_TERMS) * half**order
    more = _series(z, _digammas(order, 1.0), _K_TERMS) * half**order / 2
    k = jnp.log(half) * i - more
    series = 1 / near + k if order else -k
    far = jnp.where(small, 2.0, x)
    total: Any = 0.0
    for s, weight in _K_NODES:
        root = jnp.sqrt(1 + s * s / (2 * far))
        factor = 2 * weight * math.exp(-s * s)
        total = total + factor * (2 * s * s * root if order else 1 / root)
    return jnp.where(small, series * jnp.exp(near), total / jnp.sqrt(2 * far))


def _modified_k(order: int, scaled: bool) -> Callable[[Any], Any]:
    def value(x: Any) -> jax.Array:
        found = _scaled_k(x, order)
        return found if scaled else found * jnp.exp(-x)

    return lambda x: _for_positive(x, value, jnp.inf)


# -- Airy and spherical ----------------------------------------------------------------------------

_AIRY_SERIES, _AIRY_TERMS = 2.25, 20
#: In the worst direction, that of the negative axis at 2.25, the error is 1e-17.
_AIRY_NODES = _nodes(0.23)[:30]
#: Ai(0) and -Ai'(0), 9.2.3 and 9.2.4.
_AI_0 = 1 / (3 ** (2 / 3) * math.gamma(2 / 3))
_AI_1 = 1 / (3 ** (1 / 3) * math.gamma(1 / 3))


def _rising(first: int) -> Callable[[int], float]:
    """Return the coefficients of x ** (3 k) in the two series of 9.4.1."""

    def coefficient(k: int) -> float:
        total = 1.0
        for j in range(1, k + 1):
            total /= (3 * j) * (3 * j + first)
        return total

    return coefficient


def airy_ai(x: Any) -> jax.Array:
    """Compute Ai near 0 by 9.4.1; for large x by 9.5.7, Ai(z) = exp(-zeta) / pi * integral over t >
    0 of exp(-sqrt(z) t ** 2) cos(t ** 3 / 3); for large -x as 2 Re(w Ai(w |x|)), w = exp(i pi / 3)
    (9.2.14)."""
    size = jnp.abs(x)
    small = size <= _AIRY_SERIES
    near = jnp.where(small, x, 1.0)
    cube = near * near * near
    series = _AI_0 * _series(cube, _rising(-1), _AIRY_TERMS) - _AI_1 * near * _series(
        cube, _rising(1), _AIRY_TERMS
    )
    far = jnp.where(small, 4.0, size)
    root = jnp.sqrt(far)
    quarter = jnp.sqrt(root)
    zeta = 2 / 3 * far * root
    falling: Any = 0.0
    real: Any = 0.0
    imaginary: Any = 0.0
    c, s = math.cos(math.pi / 6), math.sin(math.pi / 6)
    for t, weight in _AIRY_NODES:
        wave = weight * jnp.cos(t**3 / (3 * quarter**3))
        falling = falling + math.exp(-t * t) * wave
        decay = math.exp(-c * t * t)
        real = real + decay * math.cos(s * t * t) * wave
        imaginary = imaginary - decay * math.sin(s * t * t) * wave
    positive = jnp.exp(-zeta) * falling / (math.pi * quarter)
    angle = math.pi / 3 - zeta
    negative = 2 * (jnp.cos(angle) * real - jnp.sin(angle) * imaginary) / (math.pi * quarter)
    return jnp.where(
        small, series, jnp.where(jnp.isinf(x), jnp.nan, jnp.where(x > 0, positive, negative))
    )


def spherical_bessel_j0(x: Any) -> jax.Array:
    """Return sin(x) / x, near 0 by its series."""
    small = jnp.abs(x) < 0.5
    near = jnp.where(small, x, 0.0)
    far = jnp.where(small | jnp.isinf(x), 1.0, x)
    series = _series(near * near, lambda k: (-1.0) ** k / math.factorial(2 * k + 1), 9)
    return jnp.where(small, series, jnp.where(jnp.isinf(x), 0.0, jnp.sin(far) / far))


# -- the ops ---------------------------------------------------------------------------------------


def _unary(name: str, fn: Callable[[Any], Any], text: str) -> None:
    def pure(input: Input):
        if dtypes.kind_of(input.dtype) == "c" or (
            dtypes.kind_of(input.dtype) == "f" and input.dtype.itemsize == 2
        ):
            raise NotImplementedError(
                f"\"{name}_cpu\" not implemented for '{scalar_type_of(input)}'"
            )
        (x,) = promoted_float(input)
        return fn(x.astype(np.float64)).astype(x.dtype)

    pure.__doc__ = f"""Return {text}, elementwise; integers give the default float dtype.

    NotImplementedError for complex and half types.

    Differs from PyTorch: has gradients.
    """
    op(name, namespaces=("special",), method=False, elementwise=True)(pure)


for _name, _fn, _text in (
    ("bessel_j0", bessel_j0, "the Bessel function of the first kind of order 0"),
    ("bessel_j1", bessel_j1, "the Bessel function of the first kind of order 1"),
    ("bessel_y0", bessel_y0, "the Bessel function of the second kind of order 0"),
    ("bessel_y1", bessel_y1, "the Bessel function of the second kind of order 1"),
    ("modified_bessel_i0", special.i0, "the modified Bessel function I of order 0"),
    ("modified_bessel_i1", special.i1, "the modified Bessel function I of order 1"),
    ("modified_bessel_k0", _modified_k(0, False), "the modified Bessel function K of order 0"),
    ("modified_bessel_k1", _modified_k(1, False), "the modified Bessel function K of order 1"),
    ("scaled_modified_bessel_k0", _modified_k(0, True), "exp(x) K0(x)"),
    ("scaled_modified_bessel_k1", _modified_k(1, True), "exp(x) K1(x)"),
    ("airy_ai", airy_ai, "the Airy function Ai"),
    ("spherical_bessel_j0", spherical_bessel_j0, "the spherical Bessel function of order 0"),
):
    _unary(_name, _fn, _text)
