"""What relaxed distributions share: a temperature, and gradients for the probabilities."""

from __future__ import annotations

from typing import Any

from torchlike.distributions.distribution import Distribution
from torchlike.distributions.transformed_distribution import TransformedDistribution
from torchlike.distributions.utils import taken


class AtTemperature(Distribution):
    """Stands before a class of ``probs`` or ``logits``: takes a temperature first."""

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)


class Relaxed(TransformedDistribution):
    """A transformed distribution with a temperature and probabilities."""

    has_rsample: Any = True
    temperature = taken("base_dist.temperature", "The temperature.")
    logits = taken("base_dist.logits", "Log odds of a probability, logarithms of several.")
    probs = taken("base_dist.probs", "Probabilities.")
