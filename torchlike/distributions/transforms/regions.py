"""Transforms of vectors and matrices onto simplices and cones."""

from __future__ import annotations

import math
from typing import Any

from torchlike._core.dtypes import finfo
from torchlike._core.size import Size
from torchlike._ops import functions as f
from torchlike.distributions import constraints
from torchlike.distributions.transforms.base import Plain, Transform
from torchlike.distributions.transforms.elementwise import SigmoidTransform
from torchlike.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from torchlike.tensor import Tensor


def _with_dims(shape: Any, dims: int) -> Any:
    """Return the shape. Raises ValueError where it has fewer dimensions."""
    if len(shape) < dims:
        raise ValueError("Too few dimensions on input")
    return shape


class SoftmaxTransform(Plain):
    """Onto the simplex; its inverse takes logarithms. Not a bijection."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Any) -> Tensor:
        probs = (x - x.max(-1, True)[0]).exp()
        return probs / probs.sum(-1, True)

    def _inverse(self, y: Any) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Size) -> Size:
        return _with_dims(shape, 1)

    inverse_shape = forward_shape


class StickBreakingTransform(Plain):
    """n numbers onto the simplex of n + 1: each breaks a share off what is left."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _offset(x: Any) -> Tensor:
        n = x.shape[-1]
        return n + 1 - x.new_ones(n).cumsum(-1)

    def _call(self, x: Any) -> Tensor:
        pad = f.nn_functional.pad
        z = SigmoidTransform()(x - self._offset(x).log())
        left = (1 - z).cumprod(-1)
        return pad(z, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Any) -> Tensor:
        crop = y[..., :-1]
        left = f.clamp(1 - crop.cumsum(-1), min=finfo(y.dtype).tiny)
        return crop.log() - left.log() + self._offset(crop).log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Tensor:
        x = x - self._offset(x).log()
        return (-x + f.nn_functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Size) -> Size:
        return _with_dims(shape, 1)[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Size) -> Size:
        return _with_dims(shape, 1)[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(Plain):
    """Square matrices onto Cholesky factors: the lower triangle, its diagonal by exp."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Any) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Any) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Plain):
    """Square matrices onto positive definite ones, by their Cholesky factors."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Any) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Any) -> Tensor:
        return LowerCholeskyTransform().inv(f.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 numbers onto Cholesky factors of correlation matrices (as in Stan)."""

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Any) -> Tensor:
        x = f.tanh(x)
        eps = finfo(x.dtype).eps
        r = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - r**2).sqrt().cumprod(-1)  # what is left of each row's unit length
        r = r + f.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return r * f.nn_functional.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Any) -> Tensor:
        left = f.nn_functional.pad(1 - f.cumsum(y * y, dim=-1)[..., :-1], [1, 0], value=1)
        t = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Any, y: Any, intermediates: Any = None) -> Tensor:
        left = 1 - (y * y).cumsum(dim=-1)
        lengths = 0.5 * tril_matrix_to_vec(left, diag=-2).log().sum(-1)
        tanh = -2 * (x + f.nn_functional.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return lengths + tanh

    def forward_shape(self, shape: Size) -> Size:
        n = _with_dims(shape, 1)[-1]
        d = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (d, d)

    def inverse_shape(self, shape: Size) -> Size:
        if _with_dims(shape, 2)[-2] != shape[-1]:
            raise ValueError("Input is not square")
        d = shape[-1]
        return shape[:-2] + (d * (d - 1) // 2,)
