"""The half-normal distribution."""

from __future__ import annotations

import math

from torchlike.distributions.folded import Folded
from torchlike.distributions.normal import Normal
from torchlike.tensor import Tensor


class HalfNormal(Folded):
    """``|X|`` of a Normal(0, scale)."""

    _whole = Normal

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
