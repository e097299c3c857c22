"""The geometric distribution."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

from typing import Any

from torchlike import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.bernoulli import ByProbability
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import binary_cross_entropy, broadcast_all
from torchlike.dtypes import finfo


class Geometric(ByProbability, Distribution):
    """The number of failures before the first success."""

    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}
    support: Any = constraints.nonnegative_integer
    _fields = {"probs": 0, "logits": 0}
    _kept = ("_by_probs",)

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        shape = self._take(probs, logits)
        Distribution.__init__(self, shape, validate_args=validate_args)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._by_probs:
            value = self.probs
            if not (value > 0).all():
                invalid = value.data[~(value > 0)]
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape "
                    f"{tuple(value.shape)}) of distribution {self!r} to be positive but found "
                    f"invalid values:\n{invalid}"
                )

    @property
    def mean(self) -> Any:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Any:
        return f.zeros_like(self.probs)

    @property
    def variance(self) -> Any:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        tiny = finfo(self.probs.dtype).tiny
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Any:
        value, probs = broadcast_all(self._valid(value), self.probs)
        # 0 * log 0 is 0 here: certain success has no failures.
        probs = f.where((probs == 1) & (value == 0), 0, probs)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Any:
        return binary_cross_entropy(self.logits, self.probs) / self.probs
