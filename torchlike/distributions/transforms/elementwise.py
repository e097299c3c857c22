"""Transforms of numbers."""

from __future__ import annotations

import math
from typing import Any

from torchlike._core.dtypes import finfo
from torchlike._core.size import Size
from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.transforms.base import Plain, Transform
from torchlike.distributions.utils import broadcast_all
from torchlike.tensor import Tensor


class _Elementwise(Plain):
    """Increasing bijections of numbers, without parameters."""

    domain = constraints.real
    bijective = True
    sign: Any = +1


class ExpTransform(_Elementwise):
    """``exp(x)``."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Tensor:
        return x.exp()

    def _inverse(self, y: Any) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return x


class PowerTransform(Transform):
    """``x ** exponent`` of positive numbers."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _arguments = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @property
    def sign(self) -> Tensor:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    def __hash__(self) -> int:
        return id(self)

    def _call(self, x: Any) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Any) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Size) -> Size:
        return f.broadcast_shapes(shape, getattr(self.exponent, "shape", ()))

    inverse_shape = forward_shape


class SigmoidTransform(_Elementwise):
    """``1 / (1 + exp(-x))``, kept off 0 and 1."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Tensor:
        limits = finfo(x.dtype)
        return f.clamp(f.sigmoid(x), min=limits.tiny, max=1.0 - limits.eps)

    def _inverse(self, y: Any) -> Tensor:
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return -f.nn_functional.softplus(-x) - f.nn_functional.softplus(x)


class SoftplusTransform(_Elementwise):
    """``log(1 + exp(x))``."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Tensor:
        return f.nn_functional.softplus(x)

    def _inverse(self, y: Any) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        return -f.nn_functional.softplus(-x)


class TanhTransform(_Elementwise):
    """``tanh(x)``; give it a cache, its inverse loses digits near the ends."""

    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Any) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Any) -> Tensor:
        return f.atanh(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        # log(1 - tanh(x)²), exact for large x.
        return 2.0 * (math.log(2.0) - x - f.nn_functional.softplus(-2.0 * x))


class AbsTransform(Plain):
    """``|x|``; the positive one of its inverses."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Any) -> Tensor:
        return x.abs()

    def _inverse(self, y: Any) -> Tensor:
        return y


class AffineTransform(Transform):
    """``loc + scale * x``."""

    bijective = True
    _arguments = ("loc", "scale", "event_dim")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> constraints.Constraint:
        n = self._event_dim
        return constraints.real if n == 0 else constraints.independent(constraints.real, n)

    codomain = domain

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False

        def same(a: Any, b: Any) -> bool:
            equal = a == b
            return equal if isinstance(equal, bool) else bool(equal.all())

        return same(self.loc, other.loc) and same(self.scale, other.scale)

    def __hash__(self) -> int:
        return id(self)

    @property
    def sign(self) -> Any:
        scale = self.scale
        if isinstance(scale, (int, float)):
            return 1 if scale > 0 else -1 if scale < 0 else 0
        return scale.sign()

    def _call(self, x: Any) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        shape, scale = x.shape, self.scale
        if isinstance(scale, (int, float)):
            result = f.full_like(x, math.log(abs(scale)))
        else:
            result = f.abs(scale).log()
        n = self.event_dim
        if n:
            result = result.reshape(*result.size()[:-n], -1).sum(-1)
            shape = shape[:-n]
        return result.expand(shape)

    def forward_shape(self, shape: Size) -> Size:
        return f.broadcast_shapes(
            shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ())
        )

    inverse_shape = forward_shape
