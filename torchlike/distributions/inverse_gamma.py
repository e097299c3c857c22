"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.gamma import Gamma
from torchlike.distributions.transformed_distribution import TransformedDistribution
from torchlike.distributions.transforms import PowerTransform
from torchlike.distributions.utils import taken
from torchlike.tensor import Tensor


class InverseGamma(TransformedDistribution):
    """``1 / X`` of a Gamma(concentration, rate)."""

    arg_constraints = Gamma.arg_constraints
    support: Any = constraints.positive
    has_rsample: Any = True
    concentration = taken("base_dist.concentration", "Of the gamma distribution.")
    rate = taken("base_dist.rate", "Of the gamma distribution.")

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        result = self.rate / (self.concentration - 1)
        return f.where(self.concentration > 1, result, math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        result = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return f.where(self.concentration > 2, result, math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()
