"""The binomial distribution."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

from typing import Any

from torchlike import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.bernoulli import ByProbability
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import broadcast_all


def _clamp_by_zero(x: Any) -> Any:
    """max(x, 0), whose gradient at 0 is half."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Counts(ByProbability):
    """A number of trials beside a probability or its log odds."""

    total_count: Any

    def _take_both(self, total_count: Any, probs: Any, logits: Any) -> Any:
        """Broadcast the two; gives the batch shape."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._by_probs = probs is not None
        self.total_count, value = broadcast_all(total_count, probs if self._by_probs else logits)
        self.total_count = self.total_count.type_as(value)
        setattr(self, "probs" if self._by_probs else "logits", value)
        return value.size()


class Binomial(Counts, Distribution):
    """The number of successes in ``total_count`` trials."""

    arg_constraints: Any = {
        "total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
        "logits": constraints.real,
    }  # fmt: skip
    has_enumerate_support = True
    _fields = {"total_count": 0, "probs": 0, "logits": 0}
    _kept = ("_by_probs",)

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        shape = self._take_both(total_count, probs, logits)
        Distribution.__init__(self, shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Any:
        return self.total_count * self.probs

    @property
    def mode(self) -> Any:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return f.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        value = self._valid(value)
        n = self.total_count
        ways = f.lgamma(n + 1) - f.lgamma(value + 1) - f.lgamma(n - value + 1)
        # log(1 + exp(logits)), without overflow.
        normalizer = (n * _clamp_by_zero(self.logits)
                      + n * f.log1p(f.exp(-f.abs(self.logits))) - ways)  # fmt: skip
        return value * self.logits - normalizer

    def entropy(self) -> Any:
        n = int(self.total_count.max())
        if not self.total_count.min() == n:
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(f.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Any:
        n = int(self.total_count.max())
        if not self.total_count.min() == n:
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        values = f.arange(1 + n, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
