"""What the half distributions share: ``|X|`` of a distribution around 0."""

from __future__ import annotations

import math
from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.location_scale import LocationScale
from torchlike.distributions.transformed_distribution import TransformedDistribution
from torchlike.distributions.transforms import AbsTransform
from torchlike.distributions.utils import taken
from torchlike.tensor import Tensor


class Folded(TransformedDistribution):
    """``|X|`` of ``_whole(0, scale)``."""

    arg_constraints = {"scale": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample: Any = True
    _whole: type[LocationScale]
    scale = taken("base_dist.scale", "Of the whole distribution.")

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        base = self._whole(0, scale, validate_args=False)
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    @property
    def mode(self) -> Tensor:
        return f.zeros_like(self.scale)

    def log_prob(self, value: Any) -> Tensor:
        found = self.base_dist.log_prob(self._valid(value)) + math.log(2)
        return f.where(value >= 0, found, -math.inf)

    def cdf(self, value: Any) -> Tensor:
        return 2 * self.base_dist.cdf(self._valid(value)) - 1

    def icdf(self, prob: Any) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
