"""What distributions of normal vectors share, and the algebra of their covariances."""

from __future__ import annotations

import math
from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import lazy_property
from torchlike.tensor import Tensor


def batch_mv(matrix: Any, vector: Any) -> Tensor:
    """Return matrix times vector, both batched."""
    return f.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def batch_mahalanobis(tril: Any, x: Any) -> Tensor:
    """Return ``xᵀ (L Lᵀ)⁻¹ x`` for (…, n, n) factors and (…, n) vectors, broadcast."""
    solved = f.linalg.solve_triangular(tril, x.unsqueeze(-1), upper=False).squeeze(-1)
    return solved.pow(2).sum(-1)


def precision_to_scale_tril(precision: Any) -> Tensor:
    """Return the Cholesky factor of a matrix's inverse, by that of the matrix turned around."""
    turned = f.linalg.cholesky(f.flip(precision, (-2, -1)))
    inverse = f.transpose(f.flip(turned, (-2, -1)), -2, -1)
    identity = f.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return f.linalg.solve_triangular(inverse, identity, upper=False)


class ByCovariance(Distribution):
    """A covariance, its inverse or its Cholesky factor: one is given, the others are made when they
    are asked for."""

    #: As it was given, without the dimensions that other parameters bring.
    _unbroadcasted_scale_tril: Any

    @staticmethod
    def _one_of(error: type[Exception], **matrices: Any) -> tuple[str, Any]:
        """Return the name of the matrix that was given, and the matrix."""
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise error(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be "
                "specified."
            )
        return given[0]

    def _take_matrix(self, name: str, matrix: Any, batch_shape: Any) -> None:
        setattr(self, name, matrix.expand((*batch_shape, *matrix.shape[-2:])))

    def _factor(self, name: str, matrix: Any) -> None:
        """Keep the Cholesky factor of a matrix, once it is checked: a matrix without a factor is
        refused as a parameter."""
        if name == "covariance_matrix":
            matrix = f.linalg.cholesky(matrix)
        elif name == "precision_matrix":
            matrix = precision_to_scale_tril(matrix)
        self._unbroadcasted_scale_tril = matrix

    def _broadcast(self, matrix: Any) -> Tensor:
        return matrix.expand(self._batch_shape + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self) -> Any:
        """The covariance's Cholesky factor."""
        return self._broadcast(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        tril = self._unbroadcasted_scale_tril
        return self._broadcast(f.matmul(tril, tril.mT))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The covariance's inverse."""
        return self._broadcast(f.cholesky_inverse(self._unbroadcasted_scale_tril))

    def _half_log_det(self) -> Tensor:
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)


class NormalVectors(Distribution):
    """Vectors around ``loc``."""

    support = constraints.real_vector
    has_rsample = True
    loc: Any

    @staticmethod
    def _check_loc(loc: Any) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")

    @staticmethod
    def _check_matrix(name: str, matrix: Any) -> None:
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )

    @property
    def mean(self) -> Tensor:
        return self.loc

    mode = mean

    def _log_det(self) -> Any:
        """Return the log determinant of the covariance."""
        raise NotImplementedError

    def _distance(self, x: Any) -> Any:
        """Return ``xᵀ C⁻¹ x`` for the covariance C."""
        raise NotImplementedError

    def log_prob(self, value: Any) -> Tensor:
        distance = self._distance(self._valid(value) - self.loc)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        n = self._event_shape[0]
        found = 0.5 * (n * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return found.expand(self._batch_shape) if self._batch_shape else found
