"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any

from torchlike.distributions import constraints
from torchlike.distributions.normal import Normal
from torchlike.distributions.transformed_distribution import TransformedDistribution
from torchlike.distributions.transforms import StickBreakingTransform
from torchlike.distributions.utils import taken


class LogisticNormal(TransformedDistribution):
    """Points of the simplex: stick breaking of a vector of normal numbers."""

    arg_constraints = Normal.arg_constraints
    support: Any = constraints.simplex
    has_rsample: Any = True
    loc = taken("base_dist.base_dist.loc", "The means.")
    scale = taken("base_dist.base_dist.scale", "The standard deviations.")

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)
