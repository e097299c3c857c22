"""The gamma distribution."""

from __future__ import annotations

from typing import Any

from torchlike._core.dtypes import finfo
from torchlike._ops import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.exp_family import ExponentialFamily
from torchlike.tensor import Tensor


class Gamma(ExponentialFamily):
    """Gamma with a concentration (shape) and a rate."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    concentration: Any
    rate: Any

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, concentration=concentration, rate=rate)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def sample(self, sample_shape: Any = (), *, generator: Any = None) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape, generator)

    def rsample(self, sample_shape: Any = (), generator: Any = None) -> Tensor:
        shape = self._extended_shape(sample_shape)
        drawn = f._standard_gamma(self.concentration.expand(shape), generator)
        value = drawn / self.rate.expand(shape)
        # In place on the data: a gradient passes values that were raised as well.
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Any) -> Tensor:
        value = f.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        value = self._valid(value)
        return (
            f.xlogy(self.concentration, self.rate)
            + f.xlogy(self.concentration - 1, value)
            - self.rate * value
            - f.lgamma(self.concentration)
        )

    def cdf(self, value: Any) -> Tensor:
        return f.special.gammainc(self.concentration, self.rate * self._valid(value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - f.log(self.rate) + f.lgamma(a) + (1.0 - a) * f.digamma(a)

    @property
    def _natural_params(self) -> Any:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        return f.lgamma(x + 1) + (x + 1) * f.log(-y.reciprocal())
