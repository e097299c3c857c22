"""The binomial distribution."""

from __future__ import annotations

from typing import Any

from torchlike._ops import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.probability import Counts
from torchlike.tensor import Tensor


def _clamp_by_zero(x: Any) -> Tensor:
    """Return max(x, 0), whose gradient at 0 is half."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(Counts):
    """The number of successes in ``total_count`` trials."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        **Counts.arg_constraints,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(total_count, probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    @no_grad()
    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return f.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Tensor:
        value = self._valid(value)
        n = self.total_count
        ways = f.lgamma(n + 1) - f.lgamma(value + 1) - f.lgamma(n - value + 1)
        # log(1 + exp(logits)), without overflow.
        normalizer = (
            n * _clamp_by_zero(self.logits) + n * f.log1p(f.exp(-f.abs(self.logits))) - ways
        )
        return value * self.logits - normalizer

    def _one_count(self, wanted: str) -> int:
        n = int(self.total_count.max())
        if not self.total_count.min() == n:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{wanted}`.")
        return n

    def entropy(self) -> Tensor:
        self._one_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(f.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._one_count("enumerate_support")
        values = f.arange(1 + n, dtype=self._param.dtype, device=self._param.device)
        return self._enumerated(values, expand)
