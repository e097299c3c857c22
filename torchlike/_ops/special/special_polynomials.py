"""Orthogonal polynomials by their three-term recurrences: Chebyshev, Hermite, Laguerre, Legendre.

The recurrences are those of the NIST Digital Library of Mathematical Functions, table 18.9.1; the
trigonometric forms inside (-1, 1), which serve high degrees, its 18.5.1 to 18.5.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core.dispatch.registry import op
from torchlike._core.dispatch.schema import Operand
from torchlike._ops.checks import scalar_type_of
from torchlike._ops.promotion import promoted_float, require_tensor


class PolynomialFamily(NamedTuple):
    """A family of polynomials p_0 = 1, p_1, p_(k + 1) = step(p_(k - 1), p_k, k, x)."""

    first: Callable[[Any], Any]
    step: Callable[[Any, Any, Any, Any], Any]
    #: closed(n, angle, x) with x = cos(angle), and from which degree on it is used inside (-1, 1).
    closed: Callable[[Any, Any, Any], Any] | None = None
    closed_from: int = 0
    #: Degrees from here on are NaN: {dtype: degree}.
    limit: dict[str, int] | None = None


def _differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function(x, n)`` with a derivative by x of every order.

    The loop has as many rounds as the degrees say, so it has a forward derivative only. Elementwise
    that is enough: the slope is such a function itself.
    """

    @jax.custom_jvp
    def value(x: Any, n: Any) -> jax.Array:
        return function(x, n)

    @value.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Any, ...]:
        x, n = primals

        def slope(x: Any, n: Any) -> jax.Array:
            return jax.jvp(lambda v: function(v, n), (x,), (jnp.ones_like(x),))[1]

        return value(x, n), _differentiable(slope)(x, n) * tangents[0]

    return value


def _recurrence(family: PolynomialFamily, x: Any, n: Any) -> jax.Array:
    inside = jnp.zeros(x.shape, bool)
    rounds = n
    if family.closed is not None:
        inside = (jnp.abs(x) < 1) & (n > family.closed_from)
        rounds = jnp.where(inside, 0, n)
    if family.limit is not None:
        rounds = jnp.minimum(rounds, family.limit[x.dtype.name])
    # A NaN stays one, and would only keep the loop going.
    last = jnp.max(jnp.where(jnp.isnan(x), 0, rounds), initial=1)

    def body(k: Any, pair: Any) -> tuple[Any, ...]:
        before, now = pair
        after = family.step(before, now, k.astype(x.dtype), x)
        go_on = k < rounds
        return jnp.where(go_on, now, before), jnp.where(go_on, after, now)

    first = family.first(x)
    _, value = lax.fori_loop(1, last, body, (jnp.ones_like(x), first))
    if family.closed is not None:
        safe = jnp.where(inside, x, 0.5)
        value = jnp.where(inside, family.closed(n.astype(x.dtype), jnp.arccos(safe), safe), value)
    value = jnp.where(n == 0, 1, value)
    if family.limit is not None:
        value = jnp.where(n > family.limit[x.dtype.name], jnp.nan, value)
    return jnp.where(n < 0, 0, value)


def _chebyshev(p: Any, q: Any, k: Any, x: Any) -> jax.Array:
    return (x + x) * q - p


def _second_kind(n: Any, angle: Any, x: Any) -> jax.Array:
    return jnp.sin((n + 1) * angle) / jnp.sin(angle)


def _third_kind(n: Any, angle: Any, x: Any) -> jax.Array:
    return jnp.cos((n + 0.5) * angle) / jnp.cos(angle / 2)


def _fourth_kind(n: Any, angle: Any, x: Any) -> jax.Array:
    return jnp.sin((n + 0.5) * angle) / jnp.sin(angle / 2)


_HERMITE_LIMIT = {"float32": 128, "float64": 512}
_CHEBYSHEV = {
    "t": PolynomialFamily(lambda x: x, _chebyshev, lambda n, angle, x: jnp.cos(n * angle), 6),
    "u": PolynomialFamily(lambda x: x + x, _chebyshev, _second_kind, 8),
    "v": PolynomialFamily(lambda x: x + x - 1, _chebyshev, _third_kind, 8),
    "w": PolynomialFamily(lambda x: x + x + 1, _chebyshev, _fourth_kind, 8),
}
_OTHERS = {
    "hermite_polynomial_h": PolynomialFamily(
        lambda x: x + x, lambda p, q, k, x: (x + x) * q - (k + k) * p, limit=_HERMITE_LIMIT
    ),
    "hermite_polynomial_he": PolynomialFamily(
        lambda x: x, lambda p, q, k, x: x * q - k * p, limit=_HERMITE_LIMIT
    ),
    "laguerre_polynomial_l": PolynomialFamily(
        lambda x: 1 - x, lambda p, q, k, x: ((k + k + (1 - x)) * q - k * p) / (k + 1)
    ),
    "legendre_polynomial_p": PolynomialFamily(
        lambda x: x, lambda p, q, k, x: ((k + k + 1) * x * q - k * p) / (k + 1)
    ),
}


def _register(name: str, family: PolynomialFamily, shifted: bool, text: str) -> None:
    value = _differentiable(lambda x, n: _recurrence(family, x + x - 1 if shifted else x, n))

    def pure(input: Operand, n: Operand):
        require_tensor(name, input, n)
        x, degree = promoted_float(input, n)
        if x.dtype not in (np.float32, np.float64):
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{scalar_type_of(x)}'")
        x, degree = jnp.broadcast_arrays(x, degree)
        # As a cast to int64 in C++: towards zero, and what does not fit is below zero.
        fits = jnp.abs(degree) < 2.0**63
        whole = jnp.where(fits, jnp.trunc(degree), -1).astype(np.int64)
        return value(x, lax.stop_gradient(whole))

    pure.__doc__ = f"""Return {text} of degree ``n`` (a tensor or a number), broadcast and
    promoted.

    0 for a negative degree. NotImplementedError for complex and half types.

    Differs from PyTorch: has a gradient by ``input``.
    """
    op(name, namespaces=("special",), method=False, elementwise=True)(pure)


for _kind, _family in _CHEBYSHEV.items():
    _register(
        f"chebyshev_polynomial_{_kind}", _family, False, f"the Chebyshev polynomial {_kind.upper()}"
    )
    _register(
        f"shifted_chebyshev_polynomial_{_kind}",
        _family,
        True,
        f"the Chebyshev polynomial {_kind.upper()} at ``2 input - 1``",
    )
for _name, _family in _OTHERS.items():
    _who, _, _letter = _name.split("_")
    _register(_name, _family, False, f"the {_who.capitalize()} polynomial {_letter.capitalize()}")
