"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions.cauchy import Cauchy
from torchlike.distributions.folded import Folded
from torchlike.tensor import Tensor


class HalfCauchy(Folded):
    """``|X|`` of a Cauchy(0, scale)."""

    _whole = Cauchy

    @property
    def mean(self) -> Tensor:
        return self.scale.new_full(self._extended_shape(), math.inf)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Any) -> Tensor:
        """Return the logarithm of the density at a value, which may also be a number."""
        return super().log_prob(
            f.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device)
        )
