"""The Gumbel distribution."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

import math
from typing import Any

from torchlike import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.transformed_distribution import TransformedDistribution
from torchlike.distributions.transforms import AffineTransform, ExpTransform
from torchlike.distributions.uniform import Uniform
from torchlike.distributions.utils import are_numbers, broadcast_all, euler_constant
from torchlike.dtypes import finfo


class Gumbel(TransformedDistribution):
    """Gumbel with a location and a scale: the largest of many."""

    arg_constraints: Any = {"loc": constraints.real, "scale": constraints.positive}
    support: Any = constraints.real
    _fields = {"loc": 0, "scale": 0}

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        if are_numbers(loc, scale):
            base = Uniform(limits.tiny, 1 - limits.eps, validate_args=validate_args)
        else:
            base = Uniform(f.full_like(self.loc, limits.tiny),
                           f.full_like(self.loc, 1 - limits.eps),
                           validate_args=validate_args)  # fmt: skip
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Any]:
        one = f.ones_like(self.scale)
        return [ExpTransform().inv, AffineTransform(loc=0, scale=-one), ExpTransform().inv,
                AffineTransform(loc=self.loc, scale=-self.scale)]  # fmt: skip

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new.transforms = new._steps()
        return new

    def log_prob(self, value: Any) -> Any:
        y = (self.loc - self._valid(value)) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self) -> Any:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Any:
        return self.loc

    @property
    def stddev(self) -> Any:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Any:
        return self.stddev.pow(2)

    def entropy(self) -> Any:
        return self.scale.log() + (1 + euler_constant)
