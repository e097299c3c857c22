"""Categories as one-hot vectors."""

from __future__ import annotations

from typing import Any

from torchlike._core.size import Size
from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.categorical import ByCategory
from torchlike.tensor import Tensor


class OneHotCategorical(ByCategory):
    """A one-hot vector, by probabilities or their unnormalized logarithms."""

    support = constraints.one_hot
    has_enumerate_support = True

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        probs = self.probs
        return f.nn_functional.one_hot(probs.argmax(dim=-1), probs.shape[-1]).to(probs)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        indices = self._categorical.sample(Size(sample_shape))
        return f.nn_functional.one_hot(indices, self._categorical._num_events).to(self.probs)

    def log_prob(self, value: Any) -> Tensor:
        return self._categorical.log_prob(self._valid(value).max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = f.eye(n, dtype=self._param.dtype, device=self._param.device)
        return self._enumerated(values, expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose samples pass gradients on to the probabilities (Bengio et al. 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        drawn = self.sample(sample_shape)
        probs = self.probs
        return drawn + (probs - probs.detach())
