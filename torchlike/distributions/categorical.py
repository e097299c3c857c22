"""The categorical distribution."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

import math
from typing import Any

from torchlike import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import lazy_property, logits_to_probs, probs_to_logits
from torchlike.dtypes import finfo
from torchlike.tensor import Size


class Categorical(Distribution):
    """An index, by probabilities along the last dimension or their unnormalized logarithms."""

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _fields = {"probs": 1, "logits": 1}
    _kept = ("_by_probs", "_num_events")

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._by_probs = probs is not None
        given = probs if self._by_probs else logits
        if given.dim() < 1:
            name = "probs" if self._by_probs else "logits"
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if self._by_probs:
            self.probs = given / given.sum(-1, keepdim=True)
        else:
            self.logits = given - given.logsumexp(dim=-1, keepdim=True)
        self._num_events = given.size(-1)
        super().__init__(given.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Any:
        """Log-probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities."""
        return logits_to_probs(self.logits)

    @property
    def _param(self) -> Any:
        return self.__dict__["probs"] if self._by_probs else self.__dict__["logits"]

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was given."""
        return self._param.size()

    @property
    def mean(self) -> Any:
        return f.full(self._extended_shape(), math.nan, dtype=self.probs.dtype,
                      device=self.probs.device)  # fmt: skip

    @property
    def mode(self) -> Any:
        return self.probs.argmax(dim=-1)

    variance = mean

    def sample(self, sample_shape: Any = ()) -> Any:
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        with no_grad():
            drawn = f.multinomial(rows, sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Any) -> Any:
        value = self._valid(value).long().unsqueeze(-1)
        value, log_pmf = f.broadcast_tensors(value, self.logits)
        return log_pmf.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Any:
        logits = f.clamp(self.logits, min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = f.arange(self._num_events, device=self._param.device)
        values = values.reshape(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values
