"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

from torchlike._core.size import Size
from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.binomial import Binomial
from torchlike.distributions.categorical import ByCategory
from torchlike.distributions.utils import broadcast_all
from torchlike.tensor import Tensor


class Multinomial(ByCategory):
    """How often each category came in ``total_count`` draws."""

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count, *sample_shape)))
        # The draws come last, to be counted.
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = drawn.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add(-1, drawn, f.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Tensor:
        n = f.tensor(self.total_count)
        alone = self._categorical.entropy()
        counts = Binomial(total_count=self.total_count, probs=self.probs)
        values = f.arange(1, self.total_count + 1, dtype=self.probs.dtype, device=self.probs.device)
        values = counts._enumerated(values, expand=False)
        weights = f.exp(counts.log_prob(values))
        correction = (weights * f.lgamma(values + 1)).sum([0, -1])
        return n * alone - f.lgamma(n + 1) + correction

    def log_prob(self, value: Any) -> Tensor:
        logits, value = broadcast_all(self.logits, self._valid(value))
        ways = f.lgamma(value.sum(-1) + 1) - f.lgamma(value + 1).sum(-1)
        # Impossible categories that did not come count nothing.
        logits = f.where((value == 0) & (logits == -math.inf), 0, logits)
        return ways + (logits * value).sum(-1)
