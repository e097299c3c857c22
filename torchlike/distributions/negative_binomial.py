"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

from torchlike._ops import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.gamma import Gamma
from torchlike.distributions.probability import Counts
from torchlike.distributions.utils import lazy_property
from torchlike.tensor import Tensor


class NegativeBinomial(Counts):
    """The number of successes before ``total_count`` failures."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        return self.total_count * f.exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / f.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self) -> Any:
        return Gamma(self.total_count, f.exp(-self.logits), validate_args=False)

    @no_grad()
    def sample(self, sample_shape: Any = ()) -> Tensor:
        return f.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        value, n = self._valid(value), self.total_count
        unnormalized = n * f.nn_functional.logsigmoid(
            -self.logits
        ) + value * f.nn_functional.logsigmoid(self.logits)
        normalizer = -f.lgamma(n + value) + f.lgamma(1.0 + value) + f.lgamma(n)
        return unnormalized - normalizer.masked_fill(n + value == 0.0, 0.0)
