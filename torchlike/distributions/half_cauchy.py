"""The half-Cauchy distribution."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

import math
from typing import Any

from torchlike import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.cauchy import Cauchy
from torchlike.distributions.transformed_distribution import TransformedDistribution
from torchlike.distributions.transforms import AbsTransform


class HalfCauchy(TransformedDistribution):
    """``|X|`` of a Cauchy(0, scale)."""

    arg_constraints: Any = {"scale": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample: Any = True
    _fields = {}

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = Cauchy(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def scale(self) -> Any:
        """The half width of the Cauchy distribution."""
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        return f.full(self._extended_shape(), math.inf, dtype=self.scale.dtype,
                      device=self.scale.device)  # fmt: skip

    @property
    def mode(self) -> Any:
        return f.zeros_like(self.scale)

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Any:
        value = f.as_tensor(value, dtype=self.base_dist.scale.dtype,
                            device=self.base_dist.scale.device)  # fmt: skip
        value = self._valid(value)
        found = self.base_dist.log_prob(value) + math.log(2)
        return f.where(value >= 0, found, -math.inf)

    def cdf(self, value: Any) -> Any:
        return 2 * self.base_dist.cdf(self._valid(value)) - 1

    def icdf(self, prob: Any) -> Any:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Any:
        return self.base_dist.entropy() - math.log(2)
