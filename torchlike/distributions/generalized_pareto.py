"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution
from torchlike.tensor import Tensor


class GeneralizedPareto(Distribution):
    """Generalized Pareto: exponential where the concentration is 0, bounded where it is less."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    loc: Any
    scale: Any
    concentration: Any

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self._take(validate_args, loc=loc, scale=scale, concentration=concentration)

    def _safe(self) -> tuple[Any, ...]:
        """Return where the concentration is 0, and the concentration with 1 there."""
        zero = f.isclose(self.concentration, f.zeros_like(self.concentration))
        return zero, f.where(zero, 1.0, self.concentration)

    def _z(self, x: Any) -> Tensor:
        return (x - self.loc) / self.scale

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(f.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Any) -> Tensor:
        z = self._z(self._valid(value))
        zero, safe = self._safe()
        y = 1 / safe + f.ones_like(z)
        known = f.where(y == 0, y, y * f.log1p(safe * z))
        return -self.scale.log() - f.where(zero, z, known)

    def log_survival_function(self, value: Any) -> Tensor:
        """Return the logarithm of one minus the cdf."""
        z = self._z(self._valid(value))
        zero, safe = self._safe()
        return f.where(zero, -z, -f.log1p(safe * z) / safe)

    def log_cdf(self, value: Any) -> Tensor:
        """Return the logarithm of the cdf."""
        return f.log1p(-f.exp(self.log_survival_function(value)))

    def cdf(self, value: Any) -> Tensor:
        return f.exp(self.log_cdf(value))

    def icdf(self, value: Any) -> Tensor:
        zero, safe = self._safe()
        log = f.log1p(-value)
        known = self.loc + self.scale / safe * f.expm1(-safe * log)
        return f.where(zero, self.loc - self.scale * log, known)

    @property
    def mean(self) -> Tensor:
        valid = self.concentration < 1
        safe = f.where(valid, self.concentration, 0.5)
        return f.where(valid, self.loc + self.scale / (1 - safe), math.nan)

    @property
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        safe = f.where(valid, self.concentration, 0.25)
        return f.where(valid, self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe)), math.nan)

    def entropy(self) -> Tensor:
        return (f.log(self.scale) + self.concentration + 1).expand(self._batch_shape)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        upper = f.where(
            self.concentration < 0, self.loc - self.scale / self.concentration, math.inf
        )
        return constraints.interval(self.loc, upper)
