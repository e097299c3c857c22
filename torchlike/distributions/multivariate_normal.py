"""The multivariate normal distribution."""

from __future__ import annotations

from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution as Distribution
from torchlike.distributions.normal_vectors import (
    ByCovariance,
    NormalVectors,
    batch_mahalanobis,
    batch_mv,
)
from torchlike.distributions.normal_vectors import (
    precision_to_scale_tril as _precision_to_scale_tril,  # noqa: F401 - libraries import it here
)
from torchlike.distributions.utils import standard_normal
from torchlike.tensor import Tensor


class MultivariateNormal(NormalVectors, ByCovariance):
    """Normal vectors, by exactly one of covariance, precision and the covariance's Cholesky
    factor."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    def __init__(
        self,
        loc: Any,
        covariance_matrix: Any = None,
        precision_matrix: Any = None,
        scale_tril: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._check_loc(loc)
        name, matrix = self._one_of(
            ValueError,
            scale_tril=scale_tril,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
        )
        self._check_matrix(name, matrix)
        batch_shape = f.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand((*batch_shape, loc.shape[-1]))
        self._take_matrix(name, matrix, batch_shape)
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._factor(name, matrix)

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        eps = standard_normal(shape, self.loc.dtype, self.loc.device)
        return self.loc + batch_mv(self._unbroadcasted_scale_tril, eps)

    def _log_det(self) -> Tensor:
        return 2 * self._half_log_det()

    def _distance(self, x: Any) -> Tensor:
        return batch_mahalanobis(self._unbroadcasted_scale_tril, x)
