"""The LKJ distribution of correlation matrices' Cholesky factors."""

from __future__ import annotations

import math
from typing import Any

from torchlike._core.dtypes import finfo
from torchlike._ops import functions as f
from torchlike.autograd.grad_mode import no_grad
from torchlike.distributions import constraints
from torchlike.distributions.beta import Beta
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import broadcast_all
from torchlike.tensor import Tensor


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices (Lewandowski, Kurowicka & Joe 2009)."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        like = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        offset = f.arange(dim - 1, **like)
        offset = f.cat([offset.new_zeros((1,)), offset])
        marginal = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), (dim, dim), validate_args)

    @no_grad()
    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draw by the onion method, all rows at once."""
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        shape = self._extended_shape(sample_shape)
        normal = f.randn(shape, dtype=y.dtype, device=y.device).tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)  # 0 / 0: the first row has its diagonal only
        w = f.sqrt(y) * direction
        rest = f.clamp(1 - (w**2).sum(dim=-1), min=finfo(w.dtype).tiny).sqrt()
        return w + f.diag_embed(rest)

    def log_prob(self, value: Any) -> Tensor:
        # Row i of the factor counts 2 (concentration - 1) for the determinant, and dim - i for the
        # volume change from factor to matrix.
        diagonal = self._valid(value).diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = f.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        n = self.dim - 1
        alpha = self.concentration + 0.5 * n
        normalizer = 0.5 * n * math.log(math.pi) + f.mvlgamma(alpha - 0.5, n) - f.lgamma(alpha) * n
        return (order * diagonal.log()).sum(dim=-1) - normalizer
