"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

from torchlike._ops import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.exp_family import ExponentialFamily
from torchlike.distributions.utils import broadcast_all
from torchlike.tensor import Tensor


class Poisson(ExponentialFamily):
    """Poisson with a rate."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    rate: Any

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    variance = mean

    @no_grad()
    def sample(self, sample_shape: Any = ()) -> Tensor:
        return f.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        rate, value = broadcast_all(self.rate, self._valid(value))
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (f.log(self.rate),)

    def _log_normalizer(self, x: Any) -> Tensor:
        return f.exp(x)
