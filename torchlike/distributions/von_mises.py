"""The von Mises distribution."""

from __future__ import annotations

import math
from typing import Any

from torchlike._ops import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import lazy_property
from torchlike.tensor import Tensor

#: Polynomials of log I0 and log I1, small and large arguments: Abramowitz & Stegun 9.8.1 to 9.8.4.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (
        0.39894228,
        0.1328592e-1,
        0.225319e-2,
        -0.157565e-2,
        0.916281e-2,
        -0.2057706e-1,
        0.2635537e-1,
        -0.1647633e-1,
        0.392377e-2,
    ),
    (
        0.39894228,
        -0.3988024e-1,
        -0.362018e-2,
        0.163801e-2,
        -0.1031555e-1,
        0.2282967e-1,
        -0.2895312e-1,
        0.1787654e-1,
        -0.420059e-2,
    ),
)


def _polynomial(y: Any, coefficients: Any) -> Tensor:
    result = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        result = c + y * result
    return result


def _log_bessel(x: Any, order: int) -> Tensor:
    """Return ``log I_order(x)`` for positive x."""
    small = _polynomial((x / 3.75) ** 2, _SMALL[order])
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return f.where(x < 3.75, small.log(), large)


class VonMises(Distribution):
    """A normal distribution's relative on the circle, in radians from -pi to pi."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    loc: Any
    concentration: Any

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, concentration=concentration)

    def log_prob(self, value: Any) -> Tensor:
        found = self.concentration * f.cos(self._valid(value) - self.loc)
        return found - math.log(2 * math.pi) - _log_bessel(self.concentration, 0)

    @no_grad()
    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw by rejection from a wrapped Cauchy distribution, in float64 (Best & Fisher 1979)."""
        shape = self._extended_shape(sample_shape)
        loc, kappa = self.loc.double(), self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        # Below 1e-5 the difference of roots has no digits left.
        r = f.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))
        x = f.zeros(shape, dtype=loc.dtype, device=loc.device)
        done = f.zeros_like(x).bool()
        while not done.all():
            u1, u2, u3 = f.rand((3, *shape), dtype=loc.dtype, device=loc.device).unbind()
            z = f.cos(math.pi * u1)
            w = (1 + r * z) / (r + z)
            c = kappa * (r - w)
            accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
            x = f.where(accept, (u3 - 0.5).sign() * w.acos(), x)
            done = done | accept
        return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    @lazy_property
    def variance(self) -> Tensor:
        k = self.concentration
        return 1 - (_log_bessel(k, 1) - _log_bessel(k, 0)).exp()
