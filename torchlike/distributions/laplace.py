"""The Laplace distribution."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

from typing import Any

from torchlike import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import are_numbers, broadcast_all
from torchlike.dtypes import finfo


class Laplace(Distribution):
    """Laplace with a location and a scale."""

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
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        return 2 * self.scale.pow(2)

    @property
    def stddev(self) -> Any:
        return 2**0.5 * self.scale

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        u = self.loc.new_empty(shape).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * f.log1p(-u.abs())

    def log_prob(self, value: Any) -> Any:
        return -f.log(2 * self.scale) - f.abs(self._valid(value) - self.loc) / self.scale

    def cdf(self, value: Any) -> Any:
        d = self._valid(value) - self.loc
        return 0.5 - 0.5 * d.sign() * f.expm1(-d.abs() / self.scale)

    def icdf(self, value: Any) -> Any:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * f.log1p(-2 * term.abs())

    def entropy(self) -> Any:
        return 1 + f.log(2 * self.scale)
