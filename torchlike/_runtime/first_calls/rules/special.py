"""Special functions: SciPy's, but for the error function, which GELU and normal samples need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from torchlike._runtime.first_calls.rules.registry import Equation, Rule, rule
from torchlike._runtime.lazy import LazyModule

_scipy_special: Any = LazyModule("scipy.special")


def _by_scipy(name: str) -> Rule:
    def find(eqn: Equation) -> Callable[..., Any]:
        function, dtype = getattr(_scipy_special, name), eqn.dtype
        if dtype in (np.float32, np.float64):
            return function
        return lambda *xs: function(*[x.astype(np.float32) for x in xs]).astype(dtype)

    return find


for _primitive, _name in (
    ("erfc", "erfc"),
    ("erf_inv", "erfinv"),
    ("lgamma", "gammaln"),
    ("digamma", "psi"),
    ("igamma", "gammainc"),
    ("igammac", "gammaincc"),
    ("bessel_i0e", "i0e"),
    ("bessel_i1e", "i1e"),
    ("regularized_incomplete_beta", "betainc"),
):
    rule(_primitive)(_by_scipy(_name))

#: erf(x) = x P(x²) / Q(x²) for |x| < 3.9, to 2e-9 of its value: weighted least squares on Chebyshev
#: points, reweighted until the error was level. Coefficients from the constant upwards.
_P = (
    1.1283791690554128,
    0.18511319271283966,
    0.05422079042730495,
    0.0038351290409637125,
    0.0003758542885302312,
    4.585135268795581e-06,
    -1.2670628603877836e-08,
)
_Q = (
    1.0,
    0.4973856992515424,
    0.11384669316417029,
    0.015419852225500822,
    0.0012996079604213945,
    6.217283502376751e-05,
)


#: Elements computed at a time, so that the steps between stay in the cache: half a million in 3.6
#: ms, all at once in 10.3.
_BLOCK = 1 << 14


@rule("erf")
def _erf(eqn: Equation) -> Callable[..., Any]:
    """Return the error function, in float32 by a rational function: to import SciPy's takes 170
    ms."""
    dtype = eqn.dtype
    if dtype == np.float64:
        return _scipy_special.erf

    def erf(x: Any) -> Any:
        out = np.empty(x.shape, dtype)
        given, results = x.reshape(-1), out.reshape(-1)
        scratch = np.empty((4, min(_BLOCK, given.size)))
        for start in range(0, given.size, _BLOCK):
            block = slice(start, start + _BLOCK)
            _erf_of_block(given[block], results[block], scratch)
        return out

    return erf


def _erf_of_block(x: np.ndarray, out: np.ndarray, scratch: np.ndarray) -> None:
    """Write erf of ``x`` to ``out``; both are as long as a row of ``scratch`` or shorter."""
    y, t, p, q = scratch[:, : x.size]
    y[...] = x
    np.clip(y, -3.93, 3.93, out=y)
    np.multiply(y, y, out=t)
    _polynomial(_P, t, p)
    _polynomial(_Q, t, q)
    p *= y
    p /= q
    out[...] = np.clip(p, -1, 1, out=p)


def _polynomial(coefficients: tuple[float, ...], t: Any, out: Any) -> None:
    """Write the polynomial of ``t`` to ``out``, by Horner's scheme."""
    out[...] = coefficients[-1]
    for c in coefficients[-2::-1]:
        out *= t
        out += c
