"""Categories as one-hot vectors."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

from typing import Any

from torchlike import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.categorical import Categorical
from torchlike.distributions.distribution import Distribution
from torchlike.tensor import Size


class OneHotCategorical(Distribution):
    """A one-hot vector, by probabilities or their unnormalized logarithms."""

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support: Any = constraints.one_hot
    has_enumerate_support = True
    _fields = {}
    _parts = ("_categorical",)

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.batch_shape
        super().__init__(shape, self._categorical.param_shape[-1:], validate_args=validate_args)

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
        return self._categorical.probs

    @property
    def mode(self) -> Any:
        probs = self._categorical.probs
        return f.nn_functional.one_hot(probs.argmax(dim=-1), probs.shape[-1]).to(probs)

    @property
    def variance(self) -> Any:
        return self._categorical.probs * (1 - self._categorical.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        indices = self._categorical.sample(Size(sample_shape))
        return f.nn_functional.one_hot(indices, self._categorical._num_events).to(self.probs)

    def log_prob(self, value: Any) -> Any:
        return self._categorical.log_prob(self._valid(value).max(-1)[1])

    def entropy(self) -> Any:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Any:
        n = self._event_shape[0]
        values = f.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape(n, *(1,) * len(self._batch_shape), n)
        return values.expand(n, *self._batch_shape, n) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, whose samples pass gradients on to the probabilities (Bengio et al. 2013)."""

    has_rsample: Any = True
    _fields = {}

    def rsample(self, sample_shape: Any = ()) -> Any:
        drawn = self.sample(sample_shape)
        probs = self._categorical.probs
        return drawn + (probs - probs.detach())
