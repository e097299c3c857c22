"""The continuous Bernoulli distribution (Loaiza-Ganem & Cunningham 2019)."""

from __future__ import annotations

import math
from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.exp_family import ExponentialFamily
from torchlike.distributions.probability import ByProbability
from torchlike.distributions.utils import (
    binary_cross_entropy,
    broadcast_all,
    clamp_probs,
    lazy_property,
    logits_to_probs,
)
from torchlike.tensor import Tensor


class ContinuousBernoulli(ByProbability, ExponentialFamily):
    """Numbers from 0 to 1 with a density ``p^x (1 - p)^(1 - x)``.

    Between ``lims`` around one half Taylor series stand for quotients without digits.
    """

    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        if probs is not None:
            (probs,) = broadcast_all(probs)
            # Checked before it is clamped: afterwards it always passes.
            if validate_args is not None and not constraints.unit_interval.check(probs).all():
                raise ValueError("The parameter probs has invalid values")
            probs = clamp_probs(probs)
        self._lims = lims
        super().__init__(probs, logits, validate_args)

    @lazy_property
    def probs(self) -> Any:
        """The parameter p."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _stable(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        return f.where(self._stable(), self.probs, self._lims[0])

    def _cont_bern_log_norm(self) -> Tensor:
        """Return the logarithm of the normalizing constant."""
        cut = self._cut_probs()
        below, above = f.where(cut <= 0.5, cut, 0.0), f.where(cut >= 0.5, cut, 1.0)
        log_norm = f.log(f.abs(f.log1p(-cut) - f.log(cut))) - f.where(
            cut <= 0.5, f.log1p(-2.0 * below), f.log(2.0 * above - 1.0)
        )
        x = (self.probs - 0.5) ** 2
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return f.where(self._stable(), log_norm, taylor)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        known = cut / (2.0 * cut - 1.0) + 1.0 / (f.log1p(-cut) - f.log(cut))
        x = self.probs - 0.5
        return f.where(self._stable(), known, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x**2) * x)

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        known = cut * (cut - 1.0) / (1.0 - 2.0 * cut) ** 2 + 1.0 / (f.log1p(-cut) - f.log(cut)) ** 2
        x = (self.probs - 0.5) ** 2
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return f.where(self._stable(), known, taylor)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(f.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Any) -> Tensor:
        logits, value = broadcast_all(self.logits, self._valid(value))
        return -binary_cross_entropy(logits, value) + self._cont_bern_log_norm()

    def cdf(self, value: Any) -> Tensor:
        value, cut = self._valid(value), self._cut_probs()
        known = (cut**value * (1.0 - cut) ** (1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = f.where(self._stable(), known, value)
        above = f.where(value >= 1.0, f.ones_like(inside), inside)
        return f.where(value <= 0.0, f.zeros_like(above), above)

    def icdf(self, value: Any) -> Tensor:
        cut = self._cut_probs()
        known = (f.log1p(-cut + value * (2.0 * cut - 1.0)) - f.log1p(-cut)) / (
            f.log(cut) - f.log1p(-cut)
        )
        return f.where(self._stable(), known, value)

    def entropy(self) -> Tensor:
        log0, log1 = f.log1p(-self.probs), f.log(self.probs)
        return self.mean * (log0 - log1) - self._cont_bern_log_norm() - log0

    @property
    def _natural_params(self) -> Any:
        return (self.logits,)

    def _log_normalizer(self, x: Any) -> Any:
        stable = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = f.where(stable, x, self._lims[0] - 0.5)
        known = f.log(f.abs(f.expm1(cut))) - f.log(f.abs(cut))
        return f.where(stable, known, 0.5 * x + x**2 / 24.0 - x**4 / 2880.0)
