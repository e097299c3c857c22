"""The functions: each computes what its operator computes, in simpler operators."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torchlike._aten.packets import aten
from torchlike.tensor import Tensor

#: overload -> the function that stands for it.
RULES: dict[Any, Callable[..., Any]] = {}


def _stands_for(*overloads: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(overloads, function))
        return function

    return register


def _mul(a: Any, b: Any) -> Tensor:
    return aten.mul.Tensor(a, b)


def _add(a: Any, b: Any) -> Tensor:
    return aten.add.Tensor(a, b)


@_stands_for(aten.t.default)
def t(self: Tensor) -> Tensor:
    """Transpose the matrix."""
    return aten.transpose.int(self, 0, 0 if self.dim() < 2 else 1)


@_stands_for(aten.addmm.default)
def addmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """Return ``beta * self + alpha * mat1 @ mat2``."""
    product = aten.mm.default(mat1, mat2)
    product = product if alpha == 1 else _mul(product, alpha)
    return _add(product, self if beta == 1 else _mul(self, beta))


@_stands_for(aten.addcmul.default)
def addcmul(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """Return ``self + value * tensor1 * tensor2``."""
    product = _mul(tensor1, tensor2)
    return _add(self, product if value == 1 else _mul(product, value))


@_stands_for(aten.addcdiv.default)
def addcdiv(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """Return ``self + value * tensor1 / tensor2``."""
    quotient = aten.div.Tensor(tensor1, tensor2)
    return _add(self, quotient if value == 1 else _mul(quotient, value))


@_stands_for(aten.rsub.Scalar, aten.rsub.Tensor)
def rsub(self: Tensor, other: Any, alpha: Any = 1) -> Tensor:
    """Return ``other - alpha * self``."""
    scaled = self if alpha == 1 else _mul(self, alpha)
    return _add(aten.neg.default(scaled), other)


@_stands_for(aten._softmax.default)
def softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """Return ``exp`` over its sum, the maximum taken off first."""
    shifted = aten.exp.default(aten.sub.Tensor(self, aten.amax.default(self, [dim], True)))
    return aten.div.Tensor(shifted, aten.sum.dim_IntList(shifted, [dim], True))


@_stands_for(aten._log_softmax.default)
def log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """Return the logarithm of the softmax."""
    shifted = aten.sub.Tensor(self, aten.amax.default(self, [dim], True))
    total = aten.sum.dim_IntList(aten.exp.default(shifted), [dim], True)
    return aten.sub.Tensor(shifted, aten.log.default(total))


@_stands_for(aten._softmax_backward_data.default)
def softmax_backward(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """Return the softmax's gradient."""
    product = _mul(grad_output, output)
    total = aten.sum.dim_IntList(product, [dim], True)
    return aten.sub.Tensor(product, _mul(output, total))


@_stands_for(aten._log_softmax_backward_data.default)
def log_softmax_backward(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """Return the gradient of the softmax's logarithm."""
    total = aten.sum.dim_IntList(grad_output, [dim], True)
    return aten.sub.Tensor(grad_output, _mul(aten.exp.default(output), total))


@_stands_for(aten.native_layer_norm.default)
def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise over the last dimensions, and return the result with the mean and ``1 / sqrt(var +
    eps)``."""
    dims = list(range(input.dim() - len(normalized_shape), input.dim()))
    variance, mean = aten.var_mean.correction(input, dims, correction=0, keepdim=True)
    rstd = aten.rsqrt.default(_add(variance, eps))
    out = _mul(aten.sub.Tensor(input, mean), rstd)
    out = out if weight is None else _mul(out, weight)
    return out if bias is None else _add(out, bias), mean, rstd


@_stands_for(aten.gelu.default)
def gelu(self: Tensor, *, approximate: str = "none") -> Tensor:
    """Apply the Gaussian error linear unit."""
    if approximate == "tanh":
        cubed = _mul(aten.pow.Tensor_Scalar(self, 3), 0.044715)
        inner = _mul(_add(self, cubed), math.sqrt(2 / math.pi))
        return _mul(_mul(self, 0.5), _add(aten.tanh.default(inner), 1))
    return _mul(_mul(self, 0.5), _add(aten.erf.default(_mul(self, math.sqrt(0.5))), 1))


@_stands_for(aten.silu.default)
def silu(self: Tensor) -> Tensor:
    """Return ``x * sigmoid(x)``."""
    return _mul(self, aten.sigmoid.default(self))


@_stands_for(aten.hardtanh.default)
def hardtanh(self: Tensor, min_val: Any = -1, max_val: Any = 1) -> Tensor:
    """Limit values to between two numbers."""
    return aten.clamp.default(self, min_val, max_val)


@_stands_for(aten.leaky_relu.default)
def leaky_relu(self: Tensor, negative_slope: Any = 0.01) -> Tensor:
    """Apply ``relu`` with a slope below zero."""
    return aten.where.self(aten.gt.Scalar(self, 0), self, _mul(self, negative_slope))


@_stands_for(aten.elu.default)
def elu(self: Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    """Apply the exponential linear unit."""
    inner = self if input_scale == 1 else _mul(self, input_scale)
    below = _mul(aten.expm1.default(inner), alpha * scale)
    above = self if scale == 1 else _mul(self, scale)
    return aten.where.self(aten.gt.Scalar(self, 0), above, below)


@_stands_for(aten.softplus.default)
def softplus(self: Tensor, beta: Any = 1, threshold: Any = 20) -> Tensor:
    """Apply a smooth ``relu``."""
    scaled = self if beta == 1 else _mul(self, beta)
    smooth = aten.log1p.default(aten.exp.default(scaled))
    smooth = smooth if beta == 1 else aten.div.Tensor(smooth, beta)
    return aten.where.self(aten.gt.Scalar(scaled, threshold), self, smooth)


@_stands_for(aten.hardsigmoid.default)
def hardsigmoid(self: Tensor) -> Tensor:
    """Apply a sigmoid of straight lines."""
    return aten.div.Tensor(aten.clamp.default(_add(self, 3), 0, 6), 6)


@_stands_for(aten.hardswish.default)
def hardswish(self: Tensor) -> Tensor:
    """Return ``x * hardsigmoid(x)``."""
    return _mul(self, hardsigmoid(self))


@_stands_for(aten.mse_loss.default)
def mse_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """Return the squared differences, reduced."""
    squares = aten.pow.Tensor_Scalar(aten.sub.Tensor(self, target), 2)
    if reduction == 0:
        return squares
    return aten.mean.default(squares) if reduction == 1 else aten.sum.default(squares)


@_stands_for(aten.tanh_backward.default)
def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """Return the gradient of tanh."""
    return _mul(grad_output, _add(aten.neg.default(_mul(output, output)), 1))


@_stands_for(aten.sigmoid_backward.default)
def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """Return the gradient of the sigmoid."""
    return _mul(grad_output, _mul(output, _add(aten.neg.default(output), 1)))


@_stands_for(aten.threshold_backward.default)
def threshold_backward(grad_output: Tensor, self: Tensor, threshold: Any) -> Tensor:
    """Return the gradient of a threshold, ``relu``'s for 0."""
    zero = aten.scalar_tensor.default(0.0, dtype=grad_output.dtype, device=grad_output.device)
    return aten.where.self(aten.le.Scalar(self, threshold), zero, grad_output)


@_stands_for(aten.select_backward.default)
def select_backward(grad_output: Tensor, input_sizes: Any, dim: int, index: int) -> Tensor:
    """Return the gradient of ``select``."""
    zeros = aten.new_zeros.default(grad_output, list(input_sizes))
    return aten.select_scatter.default(zeros, grad_output, dim, index)


@_stands_for(aten.slice_backward.default)
def slice_backward(
    grad_output: Tensor, input_sizes: Any, dim: int, start: Any, end: Any, step: int
) -> Tensor:
    """Return the gradient of a slice."""
    zeros = aten.new_zeros.default(grad_output, list(input_sizes))
    return aten.slice_scatter.default(zeros, grad_output, dim, start, end, step)


@_stands_for(aten.masked_fill.Scalar)
def masked_fill(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Return ``self`` with another value where a mask is true."""
    filled = aten.scalar_tensor.default(value, dtype=self.dtype, device=self.device)
    return aten.where.self(mask, filled, self)


@_stands_for(aten.lerp.Scalar)
def lerp(self: Tensor, end: Tensor, weight: Any) -> Tensor:
    """Interpolate between two tensors."""
    return _add(self, _mul(aten.sub.Tensor(end, self), weight))
