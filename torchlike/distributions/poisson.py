"""The Poisson distribution."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

from typing import Any

from torchlike import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.exp_family import ExponentialFamily
from torchlike.distributions.utils import are_numbers, broadcast_all


class Poisson(ExponentialFamily):
    """Poisson with a rate."""

    arg_constraints: Any = {"rate": constraints.nonnegative}
    support: Any = constraints.nonnegative_integer
    _fields = {"rate": 0}

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(() if are_numbers(rate) else self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.rate

    @property
    def mode(self) -> Any:
        return self.rate.floor()

    variance = mean

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return f.poisson(self.rate.expand(shape))

    def log_prob(self, value: Any) -> Any:
        rate, value = broadcast_all(self.rate, self._valid(value))
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> Any:
        return (f.log(self.rate),)

    def _log_normalizer(self, x: Any) -> Any:
        return f.exp(x)
