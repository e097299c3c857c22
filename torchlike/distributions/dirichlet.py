"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from torchlike._ops import functions as f
from torchlike.autograd.function import Function, once_differentiable
from torchlike.distributions import constraints
from torchlike.distributions.exp_family import ExponentialFamily
from torchlike.tensor import Tensor


class _Sample(Function):
    """A point of the simplex, differentiated along the marginals (as ``torch._dirichlet_grad``)."""

    @staticmethod
    def forward(ctx: Any, concentration: Any) -> Tensor:
        x = f._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Tensor:
        (gradient,) = gradients
        x, concentration = ctx.saved_tensors
        total = concentration.sum(-1, True).expand_as(concentration)
        slope = f._dirichlet_grad(x, concentration, total)
        return slope * (gradient - (x * gradient).sum(-1, True))


class Dirichlet(ExponentialFamily):
    """Dirichlet with a vector of concentrations."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return _Sample.apply(self.concentration.expand(shape))

    def log_prob(self, value: Any) -> Tensor:
        a = self.concentration
        return (
            f.xlogy(a - 1.0, self._valid(value)).sum(-1) + f.lgamma(a.sum(-1)) - f.lgamma(a).sum(-1)
        )

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0.0)
        mode = above / above.sum(-1, True)
        corner = (self.concentration < 1).all(dim=-1, keepdim=True)
        largest = f.nn_functional.one_hot(mode.argmax(-1), above.shape[-1]).to(mode)
        return f.where(corner, largest, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        a, k = self.concentration, self.concentration.size(-1)
        total = a.sum(-1)
        return (
            f.lgamma(a).sum(-1)
            - f.lgamma(total)
            - (k - total) * f.digamma(total)
            - ((a - 1.0) * f.digamma(a)).sum(-1)
        )

    @property
    def _natural_params(self) -> Any:
        return (self.concentration,)

    def _log_normalizer(self, x: Any) -> Any:
        return x.lgamma().sum(-1) - f.lgamma(x.sum(-1))
