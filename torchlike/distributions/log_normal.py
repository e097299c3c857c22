"""The log-normal distribution."""

from __future__ import annotations

from typing import Any

from torchlike.distributions import constraints
from torchlike.distributions.normal import Normal
from torchlike.distributions.transformed_distribution import TransformedDistribution
from torchlike.distributions.transforms import ExpTransform
from torchlike.distributions.utils import taken
from torchlike.tensor import Tensor


class LogNormal(TransformedDistribution):
    """``exp(X)`` of a Normal(loc, scale)."""

    arg_constraints = Normal.arg_constraints
    support: Any = constraints.positive
    has_rsample: Any = True
    loc = taken("base_dist.loc", "The mean of the logarithm.")
    scale = taken("base_dist.scale", "The standard deviation of the logarithm.")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Tensor:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Tensor:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
