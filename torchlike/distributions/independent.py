"""Batch dimensions as event dimensions."""

from __future__ import annotations

from typing import Any

from torchlike.distributions import constraints
from torchlike.distributions.distribution import Distribution
from torchlike.distributions.utils import sum_rightmost
from torchlike.tensor import Tensor


class Independent(Distribution):
    """Another distribution whose last batch dimensions are part of the event."""

    arg_constraints = {}

    def __init__(
        self,
        base_distribution: Any,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        dims = len(base_distribution.batch_shape)
        if reinterpreted_batch_ndims > dims:
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {dims}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        at = dims - reinterpreted_batch_ndims
        super().__init__(shape[:at], shape[at:], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:
        """Whether the base distribution has it."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:
        """False where dimensions were taken: their values would have to be combined."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        result = self.base_dist.support
        n = self.reinterpreted_batch_ndims
        return constraints.independent(result, n) if n else result

    @property
    def mean(self) -> Tensor:
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Any:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
