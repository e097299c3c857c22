"""The categorical distribution, and what distributions over its categories share."""

from __future__ import annotations

import math
from typing import Any

from torchlike._core.dtypes import finfo
from torchlike._core.size import Size
from torchlike._ops import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.probability import ByProbability
from torchlike.distributions.utils import taken
from torchlike.tensor import Tensor


class Categorical(ByProbability):
    """An index, by probabilities along the last dimension or their unnormalized logarithms."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _binary = False

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        ((name, given),) = self._one_of(probs, logits).items()
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if name == "probs":
            self.probs = given / given.sum(-1, keepdim=True)
        else:
            self.logits = given - given.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.size(-1)
        Distribution.__init__(self, given.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return self.probs.new_full(self._extended_shape(), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    variance = mean

    @no_grad()
    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = f.multinomial(rows, sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        value = self._valid(value).long().unsqueeze(-1)
        value, log_pmf = f.broadcast_tensors(value, self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = f.clamp(self.logits, min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = f.arange(self._num_events, device=self._param.device)
        return self._enumerated(values, expand)


class ByCategory(Distribution):
    """Vectors with an entry for each category."""

    arg_constraints = Categorical.arg_constraints
    _param = taken("_categorical._param", "The parameter that was given.")
    probs = taken("_categorical.probs", "Probabilities.")
    logits = taken("_categorical.logits", "Log-probabilities.")
    param_shape = taken("_categorical.param_shape", "The shape of the parameter that was given.")

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        shape = self.param_shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)
