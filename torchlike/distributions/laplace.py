"""The Laplace distribution."""

from __future__ import annotations

from typing import Any

from torchlike._core.dtypes import finfo
from torchlike._ops import functions as f
from torchlike.distributions.location_scale import LocationScale
from torchlike.tensor import Tensor


class Laplace(LocationScale):
    """Laplace with a location and a scale."""

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Tensor:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = self.loc.new_empty(shape).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * f.log1p(-u.abs())

    def log_prob(self, value: Any) -> Tensor:
        return -f.log(2 * self.scale) - f.abs(self._valid(value) - self.loc) / self.scale

    def cdf(self, value: Any) -> Tensor:
        d = self._valid(value) - self.loc
        return 0.5 - 0.5 * d.sign() * f.expm1(-d.abs() / self.scale)

    def icdf(self, value: Any) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * f.log1p(-2 * term.abs())

    def entropy(self) -> Tensor:
        return 1 + f.log(2 * self.scale)
