"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.beta import Beta
from torchlike.distributions.transformed_distribution import TransformedDistribution
from torchlike.distributions.transforms import AffineTransform, PowerTransform
from torchlike.distributions.uniform import Uniform
from torchlike.distributions.utils import broadcast_all, euler_constant
from torchlike.tensor import Tensor


def _moment(a: Any, b: Any, n: int) -> Tensor:
    """Return the n-th moment of the distribution."""
    at = 1 + n / a
    return f.exp(f.log(b) + f.lgamma(at) + f.lgamma(b) - f.lgamma(at + b))


class Kumaraswamy(TransformedDistribution):
    """A relative of Beta with a simple cdf."""

    arg_constraints = Beta.arg_constraints
    support: Any = constraints.unit_interval
    has_rsample: Any = True

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zero = f.zeros_like(self.concentration0)
        base = Uniform(zero, zero + 1, validate_args=validate_args)
        steps = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, steps, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = a.reciprocal() * (-b).log1p() - (-a * b).log1p()
        outside = (a < 1) | (b < 1)
        return f.where(outside, math.nan, log_mode.exp())

    @property
    def variance(self) -> Tensor:
        return _moment(self.concentration1, self.concentration0, 2) - f.pow(self.mean, 2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = f.digamma(b + 1) + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - f.log(a) - f.log(b)
