"""The functions: each computes what its operator computes, in simpler operators.

Of an op they stand in its definition; here are those of operators that no op stands for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from torchlike._core.dispatch.registry import OPTIONS, names_with
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor

#: overload -> the function that stands for it.
RULES: dict[Any, Callable[..., Any]] = {}


def _stands_for(*overloads: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(overloads, function))
        return function

    return register


def _of_definitions() -> None:
    """Register the rules that stand in ops' definitions (``decomposition=``)."""
    for name in names_with("decomposition"):
        rules = OPTIONS[name]["decomposition"]
        packet = getattr(aten, name)
        for overload, rule in ({"default": rules} if callable(rules) else rules).items():
            _stands_for(getattr(packet, overload))(functools.partial(rule, aten))


_of_definitions()


def _mul(a: Any, b: Any) -> Tensor:
    return aten.mul.Tensor(a, b)


def _add(a: Any, b: Any) -> Tensor:
    return aten.add.Tensor(a, b)


@_stands_for(aten.t.default)
def t(self: Tensor) -> Tensor:
    """Transpose the matrix."""
    return aten.transpose.int(self, 0, 0 if self.dim() < 2 else 1)


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
