"""What distributions by a probability share: it is given as such, or by its log odds."""

from __future__ import annotations

from typing import Any

from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from torchlike.tensor import Tensor


class ByProbability(Distribution):
    """``probs`` or ``logits``, whichever was given; the other is made when it is asked for."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    #: Whether it is one probability, not a vector of them.
    _binary = True
    _given: str

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._take(validate_args, **self._one_of(probs, logits))

    def _one_of(self, probs: Any, logits: Any) -> dict[str, Any]:
        """Return whichever of the two was given, under its name, and note which."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._given = "logits" if probs is None else "probs"
        return {self._given: logits if probs is None else probs}

    @lazy_property
    def logits(self) -> Tensor:
        """Log odds of a probability, logarithms of several."""
        return probs_to_logits(self.probs, is_binary=self._binary)

    @lazy_property
    def probs(self) -> Tensor:
        """Probabilities."""
        return logits_to_probs(self.logits, is_binary=self._binary)

    @property
    def _param(self) -> Tensor:
        return self.__dict__[self._given]

    @property
    def param_shape(self) -> Any:
        """The shape of the parameter that was given."""
        return self._param.size()


class Counts(ByProbability):
    """A number of trials beside the probability."""

    total_count: Any

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        ((name, given),) = self._one_of(probs, logits).items()
        total_count, given = broadcast_all(total_count, given)
        self._take(validate_args, total_count=total_count.type_as(given), **{name: given})
