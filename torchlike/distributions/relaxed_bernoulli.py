"""Relaxed Bernoulli variables (Maddison et al. 2017)."""

from __future__ import annotations

from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.probability import ByProbability
from torchlike.distributions.relaxed import AtTemperature, Relaxed
from torchlike.distributions.transforms import SigmoidTransform
from torchlike.distributions.utils import broadcast_all, clamp_probs
from torchlike.tensor import Tensor


class LogitRelaxedBernoulli(AtTemperature, ByProbability):
    """The log odds of a relaxed Bernoulli variable, at a temperature."""

    support: Any = constraints.real

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(f.rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Any) -> Tensor:
        logits, value = broadcast_all(self.logits, self._valid(value))
        diff = logits - value.mul(self.temperature)
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class RelaxedBernoulli(Relaxed):
    """Numbers between 0 and 1, near the ends at low temperatures; differentiable."""

    arg_constraints = ByProbability.arg_constraints
    support: Any = constraints.unit_interval

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
