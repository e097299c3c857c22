"""The Gumbel distribution."""

from __future__ import annotations

import math
from typing import Any

from torchlike._core.dtypes import finfo
from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.location_scale import LocationScale
from torchlike.distributions.transformed_distribution import TransformedDistribution
from torchlike.distributions.transforms import AffineTransform, ExpTransform
from torchlike.distributions.uniform import Uniform
from torchlike.distributions.utils import broadcast_all, euler_constant
from torchlike.tensor import Tensor


class Gumbel(TransformedDistribution):
    """Gumbel with a location and a scale: the largest of many."""

    arg_constraints = LocationScale.arg_constraints
    support: Any = constraints.real

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits, one = finfo(self.loc.dtype), f.ones_like(self.scale)
        base = Uniform(limits.tiny * one, (1 - limits.eps) * one, validate_args=validate_args)
        steps = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-one),
            ExpTransform().inv,
            AffineTransform(loc=self.loc, scale=-self.scale),
        ]
        super().__init__(base, steps, validate_args=validate_args)

    def log_prob(self, value: Any) -> Tensor:
        y = (self.loc - self._valid(value)) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
