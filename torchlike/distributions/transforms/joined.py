"""Transforms of parts, and by a distribution."""

from __future__ import annotations

from typing import Any

from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.transforms.base import Transform
from torchlike.distributions.utils import sum_rightmost
from torchlike.tensor import Tensor


class _JoinedTransform(Transform):
    """Several transforms, each on a part along a dimension."""

    _arguments = ("transforms", "dim")

    def __init__(self, tseq: Any, dim: int = 0, cache_size: int = 0) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("all elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) if cache_size else t for t in tseq]
        self.dim = dim

    def _split(self, x: Any) -> Any:
        raise NotImplementedError

    def _join(self, parts: list[Any]) -> Any:
        raise NotImplementedError

    def _checked(self, x: Any) -> tuple[Any, ...]:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError("dim is out of range")
        return self._split(x)

    def _call(self, x: Any) -> Tensor:
        parts = self._checked(x)
        return self._join([t(p) for t, p in zip(self.transforms, parts, strict=True)])

    def _inverse(self, y: Any) -> Tensor:
        parts = self._checked(y)
        return self._join([t.inv(p) for t, p in zip(self.transforms, parts, strict=True)])

    @property
    def bijective(self) -> bool:
        return all(t.bijective for t in self.transforms)


class CatTransform(_JoinedTransform):
    """Transforms of consecutive slices of given lengths."""

    _arguments = ("transforms", "dim", "lengths")

    def __init__(self, tseq: Any, dim: int = 0, lengths: Any = None, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError("lengths must have the same length as tseq")

    @property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """Of all slices together."""
        return sum(self.lengths)

    def _split(self, x: Any) -> tuple[Any, ...]:
        if x.size(self.dim) != self.length:
            raise AssertionError("the size along dim must be the sum of lengths")
        return x.split(self.lengths, self.dim)

    def _join(self, parts: list[Any]) -> Tensor:
        return f.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        terms = []
        for t, a, b in zip(self.transforms, self._checked(x), self._checked(y), strict=True):
            term = t.log_abs_det_jacobian(a, b)
            if t.event_dim < self.event_dim:
                term = sum_rightmost(term, self.event_dim - t.event_dim)
            terms.append(term)
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        if dim < 0:
            return f.cat(terms, dim=dim)
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_JoinedTransform):
    """One transform for each index along a dimension."""

    def _split(self, x: Any) -> tuple[Any, ...]:
        if x.size(self.dim) != len(self.transforms):
            raise AssertionError("the size along dim must be the number of transforms")
        return x.unbind(self.dim)

    def _join(self, parts: list[Any]) -> Tensor:
        return f.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        pairs = zip(self.transforms, self._checked(x), self._checked(y), strict=True)
        return f.stack([t.log_abs_det_jacobian(a, b) for t, a, b in pairs], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """A distribution's ``cdf``."""

    bijective = True
    codomain = constraints.unit_interval
    sign: Any = +1
    _arguments = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> constraints.Constraint:
        return self.distribution.support

    def _call(self, x: Any) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Any) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return self.distribution.log_prob(x)
