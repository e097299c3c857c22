"""Normal vectors with a covariance of low rank plus a diagonal."""

from __future__ import annotations

from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.normal_vectors import NormalVectors, batch_mahalanobis, batch_mv
from torchlike.distributions.utils import lazy_property, standard_normal
from torchlike.tensor import Tensor


def capacitance_tril(factor: Any, diagonal: Any) -> Tensor:
    """Return the Cholesky factor of ``1 + Wᵀ D⁻¹ W`` (Woodbury's identity)."""
    inner = f.matmul(factor.mT / diagonal.unsqueeze(-2), factor)
    one = f.eye(factor.size(-1), dtype=factor.dtype, device=factor.device)
    return f.linalg.cholesky(inner + one)


def lowrank_logdet(factor: Any, diagonal: Any, capacitance: Any) -> Tensor:
    """Return the log determinant of ``W Wᵀ + D``."""
    return 2 * capacitance.diagonal(dim1=-2, dim2=-1).log().sum(-1) + diagonal.log().sum(-1)


def lowrank_mahalanobis(factor: Any, diagonal: Any, x: Any, capacitance: Any) -> Tensor:
    """Return ``xᵀ (W Wᵀ + D)⁻¹ x``."""
    projected = batch_mv(factor.mT / diagonal.unsqueeze(-2), x)
    return (x.pow(2) / diagonal).sum(-1) - batch_mahalanobis(capacitance, projected)


class LowRankMultivariateNormal(NormalVectors):
    """Covariance ``cov_factor @ cov_factor.T + diag(cov_diag)``."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }

    def __init__(
        self, loc: Any, cov_factor: Any, cov_diag: Any, validate_args: bool | None = None
    ) -> None:
        self._check_loc(loc)
        event = loc.shape[-1:]
        self._check_matrix("cov_factor", cov_factor)
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            loc_, self.cov_factor, diag_ = f.broadcast_tensors(
                loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
            )
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = loc_[..., 0], diag_[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event, validate_args=validate_args)

    def _broadcast(self, matrix: Any) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def variance(self) -> Tensor:
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return found.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The covariance's Cholesky factor."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        factor = self._unbroadcasted_cov_factor / root
        one = f.eye(self._event_shape[0], dtype=root.dtype, device=root.device)
        return self._broadcast(root * f.linalg.cholesky(f.matmul(factor, factor.mT) + one))

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        diagonal = f.diag_embed(self._unbroadcasted_cov_diag)
        return self._broadcast(f.matmul(factor, factor.mT) + diagonal)

    @lazy_property
    def precision_matrix(self) -> Any:
        """The covariance's inverse."""
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        a = f.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        return self._broadcast(f.diag_embed(diagonal.reciprocal()) - a.mT @ a)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        options = (self.loc.dtype, self.loc.device)
        low = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), *options)
        full = standard_normal(shape, *options)
        return (
            self.loc
            + batch_mv(self._unbroadcasted_cov_factor, low)
            + self._unbroadcasted_cov_diag.sqrt() * full
        )

    def _log_det(self) -> Tensor:
        return lowrank_logdet(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        )

    def _distance(self, x: Any) -> Tensor:
        return lowrank_mahalanobis(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, x, self._capacitance_tril
        )
