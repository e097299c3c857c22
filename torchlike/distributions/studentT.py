"""Student's t-distribution."""

from __future__ import annotations

import math
from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.chi2 import Chi2
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import standard_normal
from torchlike.tensor import Tensor


class StudentT(Distribution):
    """Student's t with degrees of freedom, a location and a scale."""

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    df: Any
    loc: Any
    scale: Any

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self._take(validate_args, df=df, loc=loc, scale=scale)
        self._chi2 = Chi2(self.df)

    @property
    def mean(self) -> Tensor:
        return f.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        known = self.scale.pow(2) * self.df / (self.df - 2)
        found = f.where(self.df > 2, known, math.inf)
        return f.where(self.df <= 1, math.nan, found)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        x = standard_normal(shape, self.df.dtype, self.df.device)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * f.rsqrt(z / self.df))

    def log_prob(self, value: Any) -> Tensor:
        y = (self._valid(value) - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + f.lgamma(0.5 * self.df)
            - f.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * f.log1p(y**2.0 / self.df) - normalizer

    def entropy(self) -> Tensor:
        log_beta = f.lgamma(0.5 * self.df) + math.lgamma(0.5) - f.lgamma(0.5 * (self.df + 1))
        slopes = f.digamma(0.5 * (self.df + 1)) - f.digamma(0.5 * self.df)
        return self.scale.log() + 0.5 * (self.df + 1) * slopes + 0.5 * self.df.log() + log_beta
