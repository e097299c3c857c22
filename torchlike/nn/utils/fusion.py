"""Folding a batch normalization in evaluation mode into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from torchlike._ops import functions
from torchlike.nn.parameter import Parameter
from torchlike.tensor import Tensor


def _check(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a convolution that does what ``conv`` and then ``bn`` do, both in evaluation mode."""
    _check(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def _folded(
    weight: Tensor,
    bias: Tensor | None,
    mean: Tensor,
    var: Tensor,
    eps: float,
    scale: Tensor | None,
    shift: Tensor | None,
    shape: list[int],
) -> tuple[Parameter, Parameter]:
    given: Any = functions.zeros_like(mean).to(weight.dtype) if bias is None else bias
    if scale is None:
        scale = functions.ones_like(mean)
    if shift is None:
        shift = functions.zeros_like(mean)
    factor = scale * functions.rsqrt(var + eps)
    new_weight = (weight * factor.reshape(shape)).to(dtype=weight.dtype)
    new_bias = ((given - mean) * factor + shift).to(dtype=given.dtype)
    return (
        Parameter(new_weight.detach(), weight.requires_grad),
        Parameter(new_bias.detach(), given.requires_grad),
    )


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of the fused convolution; with ``transpose`` the channels come
    second."""
    ends = [1, -1] if transpose else [-1, 1]
    return _folded(
        conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, ends + [1] * (conv_w.dim() - 2)
    )


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a linear layer that does what ``linear`` and then ``bn`` do, both in evaluation mode.

    AssertionError unless ``bn`` has as many features as ``linear`` gives, or one.
    """
    _check(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of the fused linear layer."""
    return _folded(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])
