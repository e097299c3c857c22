"""The Bernoulli distribution, and what distributions of one probability share."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

import math
from typing import Any

from torchlike import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.exp_family import ExponentialFamily
from torchlike.distributions.utils import (
    are_numbers,
    binary_cross_entropy,
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)


class ByProbability:
    """A probability or its log odds, whichever was given; the other is made when asked for."""

    _by_probs: Any

    def _take(self, probs: Any, logits: Any) -> Any:
        """Keep the one that is given, as a tensor; gives the batch shape."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._by_probs = probs is not None
        given = probs if self._by_probs else logits
        (value,) = broadcast_all(given)
        setattr(self, "probs" if self._by_probs else "logits", value)
        return () if are_numbers(given) else value.size()

    @lazy_property
    def logits(self) -> Any:
        """Log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was given."""
        return self._param.size()

    @property
    def _param(self) -> Any:
        return self.__dict__["probs"] if self._by_probs else self.__dict__["logits"]


class Bernoulli(ByProbability, ExponentialFamily):
    """0 or 1, with the probability of 1 or its log odds."""

    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure: Any = 0
    _fields = {"probs": 0, "logits": 0}
    _kept = ("_by_probs",)

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        shape = self._take(probs, logits)
        Distribution.__init__(self, shape, validate_args=validate_args)

    @property
    def mean(self) -> Any:
        return self.probs

    @property
    def mode(self) -> Any:
        mode = (self.probs >= 0.5).to(self.probs)
        return f.where(self.probs == 0.5, math.nan, mode)

    @property
    def variance(self) -> Any:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return f.bernoulli(self.probs.expand(shape))

    def log_prob(self, value: Any) -> Any:
        logits, value = broadcast_all(self.logits, self._valid(value))
        return -binary_cross_entropy(logits, value)

    def entropy(self) -> Any:
        return binary_cross_entropy(self.logits, self.probs)

    def enumerate_support(self, expand: bool = True) -> Any:
        values = f.arange(2, dtype=self._param.dtype, device=self._param.device)
        values = values.reshape(-1, *(1,) * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    @property
    def _natural_params(self) -> Any:
        return (f.logit(self.probs),)

    def _log_normalizer(self, x: Any) -> Any:
        return f.log1p(f.exp(x))
