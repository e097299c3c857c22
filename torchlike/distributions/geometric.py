"""The geometric distribution."""

from __future__ import annotations

from typing import Any

from torchlike._core import modes
from torchlike._core.dtypes import finfo
from torchlike._ops import functions as f
from torchlike._ops.value_checks import require
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.probability import ByProbability
from torchlike.distributions.utils import binary_cross_entropy, broadcast_all
from torchlike.tensor import Tensor


class Geometric(ByProbability):
    """The number of failures before the first success."""

    support = constraints.nonnegative_integer

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._given == "probs":
            value = self.probs
            said = f"Expected parameter probs ({type(value).__name__} of shape "
            said += f"{tuple(value.shape)}) of distribution "
            if modes.is_capturing():
                words = f"{said}{type(self).__name__} to be positive but found invalid values"
                require(value > 0, ValueError, words)
            elif not (value > 0).all():
                invalid = value.data[~(value > 0)]
                raise ValueError(
                    f"{said}{self!r} to be positive but found invalid values:\n{invalid}"
                )

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return f.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    @no_grad()
    def sample(self, sample_shape: Any = ()) -> Tensor:
        u = self.probs.new_empty(self._extended_shape(sample_shape))
        u.uniform_(finfo(u.dtype).tiny, 1)
        return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Any) -> Tensor:
        value, probs = broadcast_all(self._valid(value), self.probs)
        # 0 * log 0 is 0 here: certain success has no failures.
        probs = f.where((probs == 1) & (value == 0), 0, probs)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy(self.logits, self.probs) / self.probs
