"""What distributions of the form ``loc + scale * X`` share."""

from __future__ import annotations

from typing import Any

from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution
from torchlike.tensor import Tensor


class LocationScale(Distribution):
    """Real numbers around ``loc``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    loc: Any
    scale: Any

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self._take(validate_args, loc=loc, scale=scale)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc
