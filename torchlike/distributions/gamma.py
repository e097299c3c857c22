"""The gamma distribution."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

from typing import Any

from torchlike import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.exp_family import ExponentialFamily
from torchlike.distributions.utils import are_numbers, broadcast_all
from torchlike.dtypes import finfo


class Gamma(ExponentialFamily):
    """Gamma with a concentration (shape) and a rate."""

    arg_constraints: Any = {"concentration": constraints.positive, "rate": constraints.positive}
    support: Any = constraints.nonnegative
    has_rsample: Any = True
    _mean_carrier_measure: Any = 0
    _fields = {"concentration": 0, "rate": 0}

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        shape = () if are_numbers(concentration, rate) else self.concentration.size()
        super().__init__(shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.concentration / self.rate

    @property
    def mode(self) -> Any:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Any:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        drawn = f._standard_gamma(self.concentration.expand(shape))
        value = drawn / self.rate.expand(shape)
        # In place on the data: a gradient passes values that were raised as well.
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Any) -> Any:
        value = f.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        value = self._valid(value)
        return (f.xlogy(self.concentration, self.rate) + f.xlogy(self.concentration - 1, value)
                - self.rate * value - f.lgamma(self.concentration))  # fmt: skip

    def cdf(self, value: Any) -> Any:
        return f.special.gammainc(self.concentration, self.rate * self._valid(value))

    def entropy(self) -> Any:
        a = self.concentration
        return a - f.log(self.rate) + f.lgamma(a) + (1.0 - a) * f.digamma(a)

    @property
    def _natural_params(self) -> Any:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return f.lgamma(x + 1) + (x + 1) * f.log(-y.reciprocal())
