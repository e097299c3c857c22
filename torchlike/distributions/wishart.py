"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import Any

from torchlike._core.dtypes import finfo
from torchlike._core.size import Size
from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.chi2 import Chi2
from torchlike.distributions.exp_family import ExponentialFamily
from torchlike.distributions.normal_vectors import ByCovariance
from torchlike.tensor import Tensor


class Wishart(ByCovariance, ExponentialFamily):
    """Positive definite matrices: scatter of ``df`` normal vectors.

    Exactly one of covariance, precision and the covariance's Cholesky factor is given.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self,
        df: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = self._one_of(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading "
                "batch dimensions"
            )
        n = matrix.shape[-1]
        if isinstance(df, (int, float)):
            batch_shape = matrix.shape[:-2]
            self.df = f.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = f.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 "
                "< df < ndim.",
                stacklevel=2,
            )
        self._take_matrix(name, matrix, batch_shape)
        super().__init__(batch_shape, (n, n), validate_args=validate_args)
        self._factor(name, matrix)
        # The squared lengths of the factor's rows.
        steps = f.arange(n, dtype=matrix.dtype, device=matrix.device)
        self._dist_chi2 = Chi2(df=self.df.unsqueeze(-1) - steps.expand((*batch_shape, -1)))

    def _scaled(self, factor: Any) -> Tensor:
        return factor.reshape((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Tensor:
        return self._scaled(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return self._scaled(f.where(factor <= 0, math.nan, factor)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        d = v.diagonal(dim1=-2, dim2=-1)
        return self._scaled(self.df) * (v.pow(2) + d.unsqueeze(-1) * d.unsqueeze(-2))

    def _bartlett(self, sample_shape: Any) -> Tensor:
        """Draw a matrix from a triangular factor of chi and normal numbers (Bartlett 1933)."""
        p = self._event_shape[-1]
        lengths = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = lengths.clamp(min=finfo(lengths.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        rows, columns = f.tril_indices(p, p, offset=-1)
        noise[..., rows, columns] = f.randn(
            (*sample_shape, *self._batch_shape, p * (p - 1) // 2),
            dtype=noise.dtype,
            device=noise.device,
        )
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.transpose(-2, -1)

    def rsample(self, sample_shape: Any = (), max_try_correction: int = 10) -> Tensor:
        """Draw matrices as release 2.13 of PyTorch does, with a warning where some are singular.

        Its check for singular matrices is the wrong way round: what is *valid* is drawn once more,
        and of that again what turned out singular, up to ``max_try_correction`` times in all. So it
        is here, draw for draw.
        """
        drawn = self._bartlett(Size(sample_shape))
        again = self._wholly(self.support.check(drawn))
        if not again.any():
            return drawn
        warnings.warn("Singular sample detected.", stacklevel=2)
        for _ in range(max_try_correction):
            fresh = self._bartlett(again[again].shape)
            drawn[again] = fresh
            again[again.clone()] = self._wholly(~self.support.check(fresh))
            if not again.any():
                break
        return drawn

    def _wholly(self, marked: Any) -> Tensor:
        """Mark each sample of which any element of the batch is marked: samples are drawn as a
        whole."""
        batch = len(self._batch_shape)
        return marked.any(dim=tuple(range(-batch, 0))) if batch else marked

    def log_prob(self, value: Any) -> Tensor:
        value, nu, p = self._valid(value), self.df, self._event_shape[-1]
        trace = f.cholesky_solve(value, self._unbroadcasted_scale_tril)
        trace = trace.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (
            -nu * (p * math.log(2) / 2 + self._half_log_det())
            - f.mvlgamma(nu / 2, p=p)
            + (nu - p - 1) / 2 * f.linalg.slogdet(value).logabsdet
            - trace / 2
        )

    def entropy(self) -> Tensor:
        nu, p = self.df, self._event_shape[-1]
        steps = f.arange(p, dtype=nu.dtype, device=nu.device) / 2
        slope = f.digamma((nu / 2).unsqueeze(-1) - steps).sum(-1)
        return (
            (p + 1) * (p * math.log(2) / 2 + self._half_log_det())
            + f.mvlgamma(nu / 2, p=p)
            - (nu - p - 1) / 2 * slope
            + nu * p / 2
        )

    @property
    def _natural_params(self) -> Any:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        p = self._event_shape[-1]
        at = y + (p + 1) / 2
        return at * (-f.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p) + f.mvlgamma(at, p=p)
