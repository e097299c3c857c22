"""The multinomial distribution."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

import math
from typing import Any

from torchlike import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.binomial import Binomial
from torchlike.distributions.categorical import Categorical
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import broadcast_all
from torchlike.tensor import Size


class Multinomial(Distribution):
    """How often each category came in ``total_count`` draws."""

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _fields = {}
    _parts = ("_categorical",)
    _kept = ("total_count",)

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        shape = self._categorical.batch_shape
        super().__init__(shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    @property
    def _binomial(self) -> Any:
        return Binomial(total_count=self.total_count, probs=self.probs)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.multinomial(self.total_count)

    @property
    def _param(self) -> Any:
        return self._categorical._param

    @property
    def probs(self) -> Any:
        """Probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Any:
        """Log-probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Any:
        return self.probs * self.total_count

    @property
    def variance(self) -> Any:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count, *sample_shape)))
        # The draws come last, to be counted.
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add(-1, drawn, f.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Any:
        n = f.tensor(self.total_count)
        alone = self._categorical.entropy()
        values = self._binomial.enumerate_support(expand=False)[1:]
        weights = f.exp(self._binomial.log_prob(values))
        correction = (weights * f.lgamma(values + 1)).sum([0, -1])
        return n * alone - f.lgamma(n + 1) + correction

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._valid(value))
        ways = f.lgamma(value.sum(-1) + 1) - f.lgamma(value + 1).sum(-1)
        # Impossible categories that did not come count nothing.
        logits = f.where((value == 0) & (logits == -math.inf), 0, logits)
        return ways + (logits * value).sum(-1)
