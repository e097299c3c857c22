"""Complex functions of infinities, NaN and zeros with a sign, as C's standard has them (Annex G).

XLA's make NaN of a product with an infinity, or of an infinite angle, where a part of the result
is known: the exponential of -inf + inf j is 0. And they lose the sign of a zero, or take the wrong
side with it: the arc tangent of -0 + inf j is -pi/2. Each rule here says what the result is at the
edges and leaves it elsewhere. Derivatives are those of the function itself, but of four that JAX
takes on the wrong side of a cut (that of acosh has the other sign in the whole left half plane).
Real numbers come by no rule.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from torchlike._core import dtypes
from torchlike._ops.elementwise.branch_cuts import along_reals


class _ComplexParts:
    """A complex argument by its parts ``a`` and ``b``, and what is asked of them."""

    def __init__(self, x: Any) -> None:
        self.a, self.b = x.real, x.imag
        self.a_zero, self.b_zero = self.a == 0, self.b == 0
        self.a_infinite, self.b_infinite = jnp.isinf(self.a), jnp.isinf(self.b)
        self.a_nan, self.b_nan = jnp.isnan(self.a), jnp.isnan(self.b)
        self.a_odd, self.b_odd = self.a_infinite | self.a_nan, self.b_infinite | self.b_nan


#: From an argument's parts and the parts of what was found to the parts of the result.
_Rule = Callable[[_ComplexParts, Any, Any], tuple[Any, Any]]


def _pick(found: Any, *cases: tuple[Any, Any]) -> jax.Array:
    """Choose the value of the last case that holds, and ``found`` where none does."""
    for holds, value in cases:
        found = jnp.where(holds, value, found)
    return found


def _zero_like_product(x: Any, y: Any) -> jax.Array:
    """Return a zero with the sign that ``x * y`` has."""
    return jnp.where(jnp.signbit(x) == jnp.signbit(y), 0.0, -0.0)


def _signed(value: float, like: Any) -> jax.Array:
    return jnp.copysign(jnp.asarray(value, like.dtype), like)


def with_edges(
    fn: Callable[[Any], Any], rule: _Rule, derivative: Callable[[Any], Any] | None = None
) -> Callable[[Any], Any]:
    """Wrap ``fn`` so that its values for complex numbers at the edges are those of the rule.

    ``derivative``: that of complex numbers, where the one of ``fn`` is not it.
    """

    @jax.custom_jvp
    def mended(x: Any) -> jax.Array:
        found = fn(x)
        u, v = rule(_ComplexParts(x), found.real, found.imag)
        return lax.complex(u, v)

    @mended.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, ...]:
        if derivative is not None:
            return mended(*primals), tangents[0] * derivative(*primals)
        return mended(*primals), jax.jvp(fn, primals, tangents)[1]

    @functools.wraps(fn)
    def function(x: Any) -> jax.Array:
        return mended(x) if dtypes.kind_of(x.dtype) == "c" else fn(x)

    return function


def exp(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of exp: no angle matters to 0, and an infinity is one in whichever
    direction."""
    nothing, boundless = p.b_odd & (p.a == -math.inf), p.b_odd & (p.a == math.inf)
    return (
        _pick(u, (nothing, 0.0), (boundless, math.inf)),
        _pick(v, (p.b_zero, p.b), (nothing, _signed(0.0, p.b)), (boundless, math.nan)),
    )


def expm1(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of expm1: that of a real number is real, with its sign of zero."""
    return _pick(u, (p.a_zero & p.b_zero, p.a)), _pick(v, (p.b_zero, p.b))


def sinh(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of sinh: real for real numbers, imaginary for imaginary ones."""
    still, boundless = p.a_zero & p.b_odd, p.a_infinite & p.b_odd
    return (
        _pick(u, (p.a_zero & p.b_zero, p.a), (still, p.a), (boundless, math.inf)),
        _pick(v, (p.b_zero, p.b), (still | boundless, math.nan)),
    )


def cosh(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of cosh: real for real and for imaginary numbers."""
    still, boundless = p.a_zero & p.b_odd, p.a_infinite & p.b_odd
    level = jnp.where(p.a_nan, p.b, _zero_like_product(p.a, p.b))
    return (
        _pick(u, (still, math.nan), (boundless, math.inf)),
        _pick(v, (p.b_zero, level), (still, 0.0), (boundless, math.nan)),
    )


def tanh(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of tanh: 1 or -1 at the infinities, whatever the angle."""
    still, far = p.a_zero & p.b_odd, p.a_infinite & p.b_odd
    return (
        _pick(u, (still | (p.a_zero & p.b_zero), p.a), (far, _signed(1.0, p.a))),
        _pick(v, (p.b_zero, p.b), (still, math.nan), (far, _signed(0.0, p.b))),
    )


def sin(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of sin: those of the hyperbolic sine, turned."""
    return (
        _pick(u, (p.a_zero, p.a), (p.a_odd & (p.b_zero | p.b_infinite), math.nan)),
        _pick(v, (p.a_odd & p.b_zero, p.b), (p.a_odd & p.b_infinite, math.inf)),
    )


def cos(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of cos: those of the hyperbolic cosine, turned."""
    still, boundless = p.a_odd & p.b_zero, p.a_odd & p.b_infinite
    level = jnp.where(p.b_nan, p.a, -_zero_like_product(p.a, p.b))
    return (
        _pick(u, (still, math.nan), (boundless, math.inf)),
        _pick(v, (p.a_zero, level), (still, 0.0), (boundless, math.nan)),
    )


def tan(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of tan: those of the hyperbolic tangent, turned."""
    still, far = p.a_odd & p.b_zero, p.a_odd & p.b_infinite
    return (
        _pick(u, (p.a_zero, p.a), (still, math.nan), (far, _signed(0.0, p.a))),
        _pick(v, (p.b_zero, p.b), (far, _signed(1.0, p.b))),
    )


def asin(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of asin: the real part is known on the imaginary axis."""
    return _pick(u, (p.a_zero & p.b_nan, p.a)), v


def acos(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of acos: the real part is known on the imaginary axis."""
    return _pick(u, (p.a_zero & p.b_nan, math.pi / 2)), v


def atan(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of atan: a quarter turn at the infinities of the imaginary axis, to the side
    that the sign of the zero chooses."""
    return (
        _pick(u, (p.b_infinite & ~p.a_nan, _signed(math.pi / 2, p.a))),
        _pick(v, (p.b_zero, p.b)),
    )


def asinh(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of asinh: real for real numbers."""
    return u, _pick(v, (p.a_nan & p.b_zero, p.b))


def acosh(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of acosh: the imaginary part is known on the imaginary axis."""
    return u, _pick(v, (p.a_zero & p.b_nan, math.pi / 2))


def atanh(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of atanh: those of the arc tangent, turned."""
    return (
        _pick(u, (p.a_zero, p.a), (p.a_nan & p.b_infinite, 0.0)),
        _pick(v, (p.a_infinite & ~p.b_nan, _signed(math.pi / 2, p.b))),
    )


def log(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of log: infinite where either part is infinite, whatever the other."""
    return _pick(u, (p.a_infinite | p.b_infinite, math.inf)), v


def log1p(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of log1p: a zero keeps its sign."""
    return _pick(u, (p.a_zero & p.b_zero, p.a)), v


def sqrt(p: _ComplexParts, u: Any, v: Any) -> tuple[Any, Any]:
    """Fix the edges of sqrt: those of the logarithm, with a direction, along an axis at the ends of
    the real line."""
    return (
        _pick(u, ((p.a == math.inf) | p.b_infinite, math.inf)),
        _pick(v, (p.b_infinite, p.b), ((p.a == -math.inf) & p.b_nan, math.inf)),
    )


def sigmoid(x: Any) -> jax.Array:
    """Return ``1 / (1 + exp(-x))``; for complex numbers by ``exponential``, which is right at the
    edges."""
    if dtypes.kind_of(x.dtype) != "c":
        return jax.nn.sigmoid(x)
    return 1 / (1 + exponential(-x))


exponential = with_edges(jnp.exp, exp)
logarithm = with_edges(jnp.log, log)
root = with_edges(along_reals(jnp.sqrt), sqrt)


def _one_over_roots(a: Any, b: Any, c: Any, d: Any) -> jax.Array:
    """Return ``1 / (sqrt(a + bj) sqrt(c + dj))``: in two roots, whose cuts are those of the
    function. It is computed by parts, as 1 added to a complex number makes 0 of the -0 in it."""
    return 1 / (root(lax.complex(a, b)) * root(lax.complex(c, d)))


def of_asin(x: Any) -> jax.Array:
    """Return the derivative of the arc sine: by the roots of 1 - z and 1 + z."""
    return _one_over_roots(1 - x.real, -x.imag, 1 + x.real, x.imag)


def of_acos(x: Any) -> jax.Array:
    """Return the derivative of the arc cosine."""
    return -of_asin(x)


def of_asinh(x: Any) -> jax.Array:
    """Return the derivative of the inverse hyperbolic sine: by the roots of 1 + zj and 1 - zj."""
    return _one_over_roots(1 - x.imag, x.real, 1 + x.imag, -x.real)


def of_acosh(x: Any) -> jax.Array:
    """Return the derivative of the inverse hyperbolic cosine: by the roots of z - 1 and z + 1."""
    return _one_over_roots(x.real - 1, x.imag, x.real + 1, x.imag)
