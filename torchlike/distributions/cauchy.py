"""The Cauchy distribution."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

import math
from typing import Any

from torchlike import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import are_numbers, broadcast_all


class Cauchy(Distribution):
    """Cauchy with a median and a half width; it has no mean."""

    arg_constraints: Any = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    has_rsample: Any = True
    _fields = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        shape = () if are_numbers(loc, scale) else self.loc.size()
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return f.full(self._extended_shape(), math.nan, dtype=self.loc.dtype,
                      device=self.loc.device)  # fmt: skip

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def variance(self) -> Any:
        return f.full(self._extended_shape(), math.inf, dtype=self.loc.dtype,
                      device=self.loc.device)  # fmt: skip

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        return self.loc + self.loc.new_empty(shape).cauchy_() * self.scale

    def log_prob(self, value: Any) -> Any:
        z = (self._valid(value) - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (z**2).log1p()

    def cdf(self, value: Any) -> Any:
        return f.atan((self._valid(value) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value: Any) -> Any:
        return f.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self) -> Any:
        return math.log(4 * math.pi) + self.scale.log()
