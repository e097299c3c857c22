"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from typing import Any

from torchlike import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.chi2 import Chi2
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.exp_family import ExponentialFamily
from torchlike.distributions.multivariate_normal import precision_to_scale_tril
from torchlike.distributions.utils import lazy_property
from torchlike.dtypes import finfo
from torchlike.tensor import Size


class Wishart(ExponentialFamily):
    """Positive definite matrices: scatter of ``df`` normal vectors.

    Exactly one of covariance, precision and the covariance's Cholesky factor is given.
    """

    support: Any = constraints.positive_definite
    has_rsample: Any = True
    _mean_carrier_measure: Any = 0

    @property
    def arg_constraints(self) -> dict[str, Any]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self, df: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
        scale_tril: Any = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        named = {"covariance_matrix": covariance_matrix, "precision_matrix": precision_matrix,
                 "scale_tril": scale_tril}  # fmt: skip
        given = [(name, m) for name, m in named.items() if m is not None]
        if len(given) != 1:
            raise AssertionError("Exactly one of covariance_matrix or precision_matrix or "
                                 "scale_tril may be specified.")  # fmt: skip
        ((name, matrix),) = given
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading "
                             "batch dimensions")  # fmt: skip
        n = matrix.shape[-1]
        if isinstance(df, (int, float)):
            batch_shape = matrix.shape[:-2]
            self.df = f.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = f.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        if self.df.le(n - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {n - 1}.")
        setattr(self, name, matrix.expand((*batch_shape, n, n)))
        if self.df.lt(n).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 "
                "< df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch_shape, (n, n), validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = f.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)
        self._dist_chi2 = self._rows(batch_shape)

    def _rows(self, batch_shape: Any) -> Any:
        """The squared lengths of the factor's rows."""
        tril = self._unbroadcasted_scale_tril
        steps = f.arange(tril.shape[-1], dtype=tril.dtype, device=tril.device)
        return Chi2(df=self.df.unsqueeze(-1) - steps.expand((*batch_shape, -1)))

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Wishart, _instance)
        batch_shape = Size(batch_shape)
        whole = batch_shape + self.event_shape
        for name in ("_unbroadcasted_scale_tril", "covariance_matrix", "scale_tril",
                     "precision_matrix"):  # fmt: skip
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand(whole))
        new.df = self.df.expand(batch_shape)
        new._dist_chi2 = new._rows(batch_shape)
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _broadcast(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The covariance's Cholesky factor."""
        return self._broadcast(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        tril = self._unbroadcasted_scale_tril
        return self._broadcast(tril @ tril.transpose(-2, -1))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The covariance's inverse."""
        tril = self._unbroadcasted_scale_tril
        one = f.eye(self._event_shape[-1], device=tril.device, dtype=tril.dtype)
        return self._broadcast(f.cholesky_solve(one, tril))

    def _scaled(self, factor: Any) -> Any:
        return factor.reshape((*self._batch_shape, 1, 1))

    @property
    def mean(self) -> Any:
        return self._scaled(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Any:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        return self._scaled(f.where(factor <= 0, math.nan, factor)) * self.covariance_matrix

    @property
    def variance(self) -> Any:
        v = self.covariance_matrix
        d = v.diagonal(dim1=-2, dim2=-1)
        return self._scaled(self.df) * (v.pow(2) + d.unsqueeze(-1) * d.unsqueeze(-2))

    def _bartlett(self, sample_shape: Any) -> Any:
        """A matrix from a triangular factor of chi and normal numbers (Bartlett 1933)."""
        p = self._event_shape[-1]
        lengths = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = lengths.clamp(min=finfo(lengths.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        rows, columns = f.tril_indices(p, p, offset=-1)
        noise[..., rows, columns] = f.randn(
            (*sample_shape, *self._batch_shape, p * (p - 1) // 2), dtype=noise.dtype,
            device=noise.device,
        )  # fmt: skip
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.transpose(-2, -1)

    def rsample(self, sample_shape: Any = (), max_try_correction: int = 10) -> Any:
        """Matrices; drawn again, up to ``max_try_correction`` times, while any is singular.

        Differs from PyTorch
        --------------------
        Release 2.13 draws valid matrices again and keeps singular ones (its first check has the
        sign of the other); here it is the singular ones.
        """
        sample_shape = Size(sample_shape)
        drawn = self._bartlett(sample_shape)
        for _ in range(max_try_correction):
            singular = ~self.support.check(drawn)
            if not singular.any():
                break
            warnings.warn("Singular sample detected.", stacklevel=2)
            again = self._bartlett(sample_shape)
            drawn = f.where(singular.unsqueeze(-1).unsqueeze(-1), again, drawn)
        return drawn

    def _half_log_det(self) -> Any:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        value, nu, p = self._valid(value), self.df, self._event_shape[-1]
        trace = f.cholesky_solve(value, self._unbroadcasted_scale_tril)
        trace = trace.diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return (-nu * (p * math.log(2) / 2 + self._half_log_det()) - f.mvlgamma(nu / 2, p=p)
                + (nu - p - 1) / 2 * f.linalg.slogdet(value).logabsdet - trace / 2)  # fmt: skip

    def entropy(self) -> Any:
        nu, p = self.df, self._event_shape[-1]
        steps = f.arange(p, dtype=nu.dtype, device=nu.device) / 2
        slope = f.digamma((nu / 2).unsqueeze(-1) - steps).sum(-1)
        return ((p + 1) * (p * math.log(2) / 2 + self._half_log_det()) + f.mvlgamma(nu / 2, p=p)
                - (nu - p - 1) / 2 * slope + nu * p / 2)  # fmt: skip

    @property
    def _natural_params(self) -> Any:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x: Any, y: Any) -> Any:
        p = self._event_shape[-1]
        at = y + (p + 1) / 2
        return at * (-f.linalg.slogdet(-2 * x).logabsdet + math.log(2) * p) + f.mvlgamma(at, p=p)
