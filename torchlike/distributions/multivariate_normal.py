"""The multivariate normal distribution."""

# ruff: noqa: RUF012 - the tables of a class are never changed
from __future__ import annotations

import math
from typing import Any

from torchlike import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import lazy_property, standard_normal


def batch_mv(matrix: Any, vector: Any) -> Any:
    """Matrix times vector, both batched."""
    return f.matmul(matrix, vector.unsqueeze(-1)).squeeze(-1)


def batch_mahalanobis(tril: Any, x: Any) -> Any:
    """``xᵀ (L Lᵀ)⁻¹ x`` for (…, n, n) factors and (…, n) vectors, broadcast."""
    solved = f.linalg.solve_triangular(tril, x.unsqueeze(-1), upper=False).squeeze(-1)
    return solved.pow(2).sum(-1)


def precision_to_scale_tril(precision: Any) -> Any:
    """The Cholesky factor of a matrix's inverse, by that of the matrix turned around."""
    turned = f.linalg.cholesky(f.flip(precision, (-2, -1)))
    inverse = f.transpose(f.flip(turned, (-2, -1)), -2, -1)
    identity = f.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return f.linalg.solve_triangular(inverse, identity, upper=False)


class MultivariateNormal(Distribution):
    """Normal vectors, by exactly one of covariance, precision and the covariance's Cholesky
    factor."""

    arg_constraints: Any = {
        "loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }  # fmt: skip
    support: Any = constraints.real_vector
    has_rsample: Any = True
    _fields = {"loc": 1, "covariance_matrix": 2, "scale_tril": 2, "precision_matrix": 2}
    _kept = ("_unbroadcasted_scale_tril",)

    def __init__(
        self, loc: Any, covariance_matrix: Any = None, precision_matrix: Any = None,
        scale_tril: Any = None, validate_args: bool | None = None,
    ) -> None:  # fmt: skip
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        named = {"scale_tril": scale_tril, "covariance_matrix": covariance_matrix,
                 "precision_matrix": precision_matrix}  # fmt: skip
        given = [(name, matrix) for name, matrix in named.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril "
                             "may be specified.")  # fmt: skip
        ((name, matrix),) = given
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading "
                             "batch dimensions")  # fmt: skip
        batch_shape = f.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, *matrix.shape[-2:])))
        self.loc = loc.expand((*batch_shape, loc.shape[-1]))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = f.linalg.cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    def _broadcast(self, matrix: Any) -> Any:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        """The covariance's Cholesky factor."""
        return self._broadcast(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        """The covariance."""
        tril = self._unbroadcasted_scale_tril
        return self._broadcast(f.matmul(tril, tril.mT))

    @lazy_property
    def precision_matrix(self) -> Any:
        """The covariance's inverse."""
        return self._broadcast(f.cholesky_inverse(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Any:
        return self.loc

    mode = mean

    @property
    def variance(self) -> Any:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Any:
        shape = self._extended_shape(sample_shape)
        eps = standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + batch_mv(self._unbroadcasted_scale_tril, eps)

    def _half_log_det(self) -> Any:
        diagonal = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1)
        return diagonal.log().sum(-1)

    def log_prob(self, value: Any) -> Any:
        distance = batch_mahalanobis(self._unbroadcasted_scale_tril, self._valid(value) - self.loc)
        n = self._event_shape[0]
        return -0.5 * (n * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self) -> Any:
        n = self._event_shape[0]
        found = 0.5 * n * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
        return found.expand(self._batch_shape) if self._batch_shape else found
