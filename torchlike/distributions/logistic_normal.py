"""The logistic-normal distribution."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

from typing import Any

from torchlike.distributions import constraints
from torchlike.distributions.normal import Normal
from torchlike.distributions.transformed_distribution import TransformedDistribution
from torchlike.distributions.transforms import StickBreakingTransform


class LogisticNormal(TransformedDistribution):
    """Points of the simplex: stick breaking of a vector of normal numbers."""

    arg_constraints: Any = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.simplex
    has_rsample: Any = True
    _fields = {}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Any:
        """The means."""
        return self.base_dist.base_dist.loc

    @property
    def scale(self) -> Any:
        """The standard deviations."""
        return self.base_dist.base_dist.scale
