# Made by `python -m tools.generate` from the registry. Do not edit.
from builtins import bool as _bool, bytes as _bytes, complex as _complex, dict as _dict, float as _float, int as _int, list as _list, object as _object, set as _set, str as _str, tuple as _tuple, type as _type
from torchlike._core.devices import device as _device
from torchlike._core.dtypes import dtype as _dtype
from torchlike._core.layouts import layout as _layout, memory_format as _memory_format
from torchlike._core.size import Size as _Size
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from torchlike.random import Generator as Generator
from torchlike.tensor import Tensor as Tensor

Number = _bool | _int | _float | _complex

def airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Airy function Ai, elementwise; integers give the default float dtype."""

def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Bessel function of the first kind of order 0, elementwise; integers give the default float dtype."""

def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Bessel function of the first kind of order 1, elementwise; integers give the default float dtype."""

def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Bessel function of the second kind of order 0, elementwise; integers give the default float dtype."""

def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the Bessel function of the second kind of order 1, elementwise; integers give the default float dtype."""

def chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Chebyshev polynomial T of degree ``n`` (a tensor or a number), broadcast and
promoted."""

def chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Chebyshev polynomial U of degree ``n`` (a tensor or a number), broadcast and
promoted."""

def chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Chebyshev polynomial V of degree ``n`` (a tensor or a number), broadcast and
promoted."""

def chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Chebyshev polynomial W of degree ``n`` (a tensor or a number), broadcast and
promoted."""

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``digamma`` elementwise; integers give the default float dtype."""

def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``entr`` elementwise; integers give the default float dtype."""

def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``erf`` elementwise; integers give the default float dtype."""

def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``erfc`` elementwise; integers give the default float dtype."""

def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``erfcx`` elementwise; integers give the default float dtype."""

def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``erfinv`` elementwise; integers give the default float dtype."""

def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``exp2`` elementwise; integers give the default float dtype."""

def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``sigmoid`` elementwise; integers give the default float dtype."""

def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``expm1`` elementwise; integers give the default float dtype."""

def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``igamma(input, other)`` elementwise, broadcast and promoted."""

def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``igammac(input, other)`` elementwise, broadcast and promoted."""

def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``lgamma`` elementwise; integers give the default float dtype."""

def hermite_polynomial_h(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Hermite polynomial H of degree ``n`` (a tensor or a number), broadcast and
promoted."""

def hermite_polynomial_he(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Hermite polynomial He of degree ``n`` (a tensor or a number), broadcast and
promoted."""

def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``i0`` elementwise; integers give the default float dtype."""

def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``i0e`` elementwise; integers give the default float dtype."""

def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``i1`` elementwise; integers give the default float dtype."""

def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``i1e`` elementwise; integers give the default float dtype."""

def laguerre_polynomial_l(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Laguerre polynomial L of degree ``n`` (a tensor or a number), broadcast and
promoted."""

def legendre_polynomial_p(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Legendre polynomial P of degree ``n`` (a tensor or a number), broadcast and
promoted."""

def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``log1p`` elementwise; integers give the default float dtype."""

def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``log_ndtr`` elementwise; integers give the default float dtype."""

def log_softmax(input: Tensor, dim: _int, dtype: Any = None, *, out: Any = None) -> Tensor:
    """Return ``log(softmax(input, dim))``, without overflow."""

def logit(input: Tensor, eps: Tensor | Number | None = None, *, out: Tensor | None = None) -> Tensor:
    """Return ``log(x / (1 - x))``, with x clamped to ``[eps, 1 - eps]`` when eps is given."""

def logsumexp(input: Tensor, dim: _int | Sequence[_int] | None, keepdim: _bool = False, *, out: Tensor | None = None) -> Tensor:
    """Return ``log(sum(exp(input)))`` over ``dim``, without overflow."""

def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the modified Bessel function I of order 0, elementwise; integers give the default float dtype."""

def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the modified Bessel function I of order 1, elementwise; integers give the default float dtype."""

def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the modified Bessel function K of order 0, elementwise; integers give the default float dtype."""

def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the modified Bessel function K of order 1, elementwise; integers give the default float dtype."""

def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """Return the logarithm of the multivariate gamma function of dimension ``p``."""

def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``ndtr`` elementwise; integers give the default float dtype."""

def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``ndtri`` elementwise; integers give the default float dtype."""

def polygamma(n: _int, input: Tensor, *, out: Any = None) -> Tensor:
    """Return the ``n``-th derivative of digamma. RuntimeError for a negative n."""

def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``digamma`` elementwise; integers give the default float dtype."""

def round(input: Tensor, *, decimals: Number = 0, out: Tensor | None = None) -> Tensor:
    """Round half to even, to ``decimals`` places; the gradient is zero."""

def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return exp(x) K0(x), elementwise; integers give the default float dtype."""

def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return exp(x) K1(x), elementwise; integers give the default float dtype."""

def shifted_chebyshev_polynomial_t(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Chebyshev polynomial T at ``2 input - 1`` of degree ``n`` (a tensor or a number), broadcast and
promoted."""

def shifted_chebyshev_polynomial_u(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Chebyshev polynomial U at ``2 input - 1`` of degree ``n`` (a tensor or a number), broadcast and
promoted."""

def shifted_chebyshev_polynomial_v(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Chebyshev polynomial V at ``2 input - 1`` of degree ``n`` (a tensor or a number), broadcast and
promoted."""

def shifted_chebyshev_polynomial_w(input: Tensor | Number, n: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return the Chebyshev polynomial W at ``2 input - 1`` of degree ``n`` (a tensor or a number), broadcast and
promoted."""

def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return ``sinc`` elementwise; integers give the default float dtype."""

def softmax(input: Tensor, dim: _int, dtype: Any = None, *, out: Any = None) -> Tensor:
    """Return ``exp(input) / sum(exp(input))`` along ``dim``; ``dtype`` casts first. IndexError for
a dim out of range, NotImplementedError for integers without ``dtype``."""

def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the spherical Bessel function of order 0, elementwise; integers give the default float dtype."""

def xlog1py(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``xlog1py(input, other)`` elementwise, broadcast and promoted."""

def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``input * log(other)``, 0 where ``input`` is 0. TypeError unless one is a tensor."""

def zeta(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Return ``zeta(input, other)`` elementwise, broadcast and promoted."""
