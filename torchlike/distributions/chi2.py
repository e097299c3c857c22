"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from torchlike.distributions import constraints
from torchlike.distributions.gamma import Gamma
from torchlike.tensor import Tensor


class Chi2(Gamma):
    """Chi-squared with ``df`` degrees of freedom, a Gamma(df / 2, 1 / 2)."""

    arg_constraints = {"df": constraints.positive}
    _constraints_by_name = Gamma.arg_constraints

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2
