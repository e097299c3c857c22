"""Relaxed one-hot vectors (Maddison et al. 2017; Jang et al. 2017)."""

from __future__ import annotations

from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.categorical import ByCategory
from torchlike.distributions.relaxed import AtTemperature, Relaxed
from torchlike.distributions.transforms import ExpTransform
from torchlike.distributions.utils import broadcast_all, clamp_probs
from torchlike.tensor import Tensor


class ExpRelaxedCategorical(AtTemperature, ByCategory):
    """The logarithm of a relaxed one-hot vector, at a temperature."""

    support: Any = constraints.real_vector
    has_rsample: Any = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(f.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        gumbels = -((-(u.log())).log())
        scores = (self.logits + gumbels) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Any) -> Tensor:
        k = self._event_shape[0]
        logits, value = broadcast_all(self.logits, self._valid(value))
        log_scale = f.full_like(self.temperature, float(k)).lgamma() - self.temperature.log().mul(
            -(k - 1)
        )
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + log_scale


class RelaxedOneHotCategorical(Relaxed):
    """Points of the simplex, near its corners at low temperatures; differentiable."""

    arg_constraints = ByCategory.arg_constraints
    support: Any = constraints.simplex

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
