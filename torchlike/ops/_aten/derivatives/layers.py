"""Formulas of products, activations, normalisations and losses."""

from __future__ import annotations

from typing import Any

from torchlike.ops._aten.derivatives.rules import formula, times_number
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor


def _column_major(x: Tensor) -> bool:
    rows, columns = x.shape
    return tuple(x.stride()) == (1, rows) and not (rows == 1 or columns == 1)


def _first(g: Tensor, x: Tensor, y: Tensor, alpha: Any = 1) -> Tensor:
    """Return the gradient of the first matrix of a product, in its memory order."""
    if _column_major(x):
        return times_number(aten.t.default(aten.mm.default(y, aten.t.default(g))), alpha)
    return times_number(aten.mm.default(g, aten.t.default(y)), alpha)


def _second(g: Tensor, x: Tensor, y: Tensor, alpha: Any = 1) -> Tensor:
    if _column_major(y):
        return times_number(aten.t.default(aten.mm.default(aten.t.default(g), x)), alpha)
    return times_number(aten.mm.default(aten.t.default(x), g), alpha)


formula(
    "mm", mat2=lambda g, a: _second(g, a.self, a.mat2), self=lambda g, a: _first(g, a.self, a.mat2)
)
formula(
    "addmm",
    mat1=lambda g, a: _first(g, a.mat1, a.mat2, a.alpha),
    mat2=lambda g, a: _second(g, a.mat1, a.mat2, a.alpha),
    self=lambda g, a: times_number(g, a.beta),
)


def _swapped(x: Tensor) -> Tensor:
    return aten.transpose.int(x, 1, 2)


formula(
    "bmm",
    self=lambda g, a: aten.bmm.default(g, _swapped(a.mat2)),
    mat2=lambda g, a: aten.bmm.default(_swapped(a.self), g),
)
formula(
    "baddbmm",
    self=lambda g, a: times_number(g, a.beta),
    batch1=lambda g, a: times_number(aten.bmm.default(g, _swapped(a.batch2)), a.alpha),
    batch2=lambda g, a: times_number(aten.bmm.default(_swapped(a.batch1), g), a.alpha),
)
formula(
    "mv",
    self=lambda g, a: aten.mul.Tensor(aten.view.default(g, [g.shape[0], 1]), a.vec),
    vec=lambda g, a: aten.mv.default(aten.t.default(a.self), g),
)
formula(
    "dot",
    self=lambda g, a: aten.mul.Tensor(g, a.tensor),
    tensor=lambda g, a: aten.mul.Tensor(g, a.self),
)

formula(
    "gelu",
    self=lambda g, a: aten.gelu_backward.default(
        g, a.self, **({} if a.approximate == "none" else {"approximate": a.approximate})
    ),
)
formula("silu", self=lambda g, a: aten.silu_backward.default(g, a.self))
formula("mish", self=lambda g, a: aten.mish_backward.default(g, a.self))
formula(
    "leaky_relu",
    self=lambda g, a: aten.leaky_relu_backward.default(g, a.self, a.negative_slope, False),
)
formula(
    "elu",
    self=lambda g, a: aten.elu_backward.default(g, a.alpha, a.scale, a.input_scale, False, a.self),
)
formula(
    "hardtanh", self=lambda g, a: aten.hardtanh_backward.default(g, a.self, a.min_val, a.max_val)
)
formula("hardswish", self=lambda g, a: aten.hardswish_backward.default(g, a.self))
formula("hardsigmoid", self=lambda g, a: aten.hardsigmoid_backward.default(g, a.self))
formula(
    "softplus", self=lambda g, a: aten.softplus_backward.default(g, a.self, a.beta, a.threshold)
)
formula("threshold", self=lambda g, a: aten.threshold_backward.default(g, a.self, a.threshold))
formula(
    "_softmax",
    result=True,
    self=lambda g, a: aten._softmax_backward_data.default(g, a.result, a.dim, a.self.dtype),
)
formula(
    "_log_softmax",
    result=True,
    self=lambda g, a: aten._log_softmax_backward_data.default(g, a.result, a.dim, a.self.dtype),
)


def _times_softmax(g: Tensor, a: Any) -> Tensor:
    dims, result = sorted(d % a.self.dim() for d in a.dim), a.result
    if not a.keepdim:
        for d in dims:
            g, result = aten.unsqueeze.default(g, d), aten.unsqueeze.default(result, d)
    return aten.mul.Tensor(g, aten.exp.default(aten.sub.Tensor(a.self, result)))


formula("logsumexp", result=True, self=_times_softmax)
formula(
    "mse_loss",
    self=lambda g, a: aten.mse_loss_backward.default(g, a.self, a.target, a.reduction),
    target=lambda g, a: aten.mse_loss_backward.default(g, a.target, a.self, a.reduction),
)
formula(
    "smooth_l1_loss",
    self=lambda g, a: aten.smooth_l1_loss_backward.default(
        g, a.self, a.target, a.reduction, a.beta
    ),
    target=lambda g, a: aten.smooth_l1_loss_backward.default(
        g, a.target, a.self, a.reduction, a.beta
    ),
)
formula(
    "nll_loss_forward",
    every=True,
    only_first=True,
    result=(1,),
    self=lambda g, a: aten.nll_loss_backward.default(
        g[0], a.self, a.target, a.weight, a.reduction, a.ignore_index, a.second
    ),
)
formula(
    "embedding",
    weight=lambda g, a: aten.embedding_dense_backward.default(
        g, a.indices, a.weight.shape[0], a.padding_idx, a.scale_grad_by_freq
    ),
)
formula(
    "native_dropout",
    every=True,
    only_first=True,
    result=(1,),
    input=lambda g, a: aten.native_dropout_backward.default(
        g[0], a.second, 1 / (1 - a.p) if a.p < 1 else 0.0
    ),
)


def _convolved(which: int) -> Any:
    def gradient(g: Tensor, a: Any) -> Any:
        wanted = [
            a.input.requires_grad,
            a.weight.requires_grad,
            a.bias is not None and a.bias.requires_grad,
        ]
        if getattr(a, "found", None) is None:
            sizes = None if a.bias is None else list(a.bias.shape)
            a.found = aten.convolution_backward.default(
                g,
                a.input,
                a.weight,
                sizes,
                a.stride,
                a.padding,
                a.dilation,
                a.transposed,
                a.output_padding,
                a.groups,
                wanted,
            )
        return a.found[which]

    return gradient


formula("convolution", input=_convolved(0), weight=_convolved(1), bias=_convolved(2))


def _normed(which: int) -> Any:
    def gradient(g: Any, a: Any) -> Any:
        if getattr(a, "found", None) is None:
            wanted = [
                a.input.requires_grad,
                *(t is not None and t.requires_grad for t in (a.weight, a.bias)),
            ]
            a.found = aten.native_layer_norm_backward.default(
                g[0],
                a.input,
                a.normalized_shape,
                a.second,
                a.third,
                a.weight,
                a.bias,
                wanted,
            )
        return a.found[which]

    return gradient


formula(
    "native_layer_norm",
    every=True,
    only_first=True,
    result=(1, 2),
    input=_normed(0),
    weight=_normed(1),
    bias=_normed(2),
)
formula(
    "max_pool2d_with_indices",
    every=True,
    result=(1,),
    self=lambda g, a: aten.max_pool2d_with_indices_backward.default(
        g[0],
        a.self,
        a.kernel_size,
        a.stride,
        _pair(a.padding),
        _pair(a.dilation),
        a.ceil_mode,
        a.second,
    ),
)
formula(
    "_prelu_kernel",
    self=lambda g, a: aten._prelu_kernel_backward.default(g, a.self, a.weight)[0],
    weight=lambda g, a: aten._prelu_kernel_backward.default(g, a.self, a.weight)[1],
)


def _pair(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


def _log_sigmoid(g: Any, a: Any) -> Tensor:
    return aten.mul.Tensor(g[0], aten.sigmoid.default(aten.neg.default(a.self)))


formula("log_sigmoid_forward", every=True, only_first=True, self=_log_sigmoid)


def _batch_normed(which: int) -> Any:
    def gradient(g: Any, a: Any) -> Any:
        if getattr(a, "found", None) is None:
            wanted = [
                a.input.requires_grad,
                *(t is not None and t.requires_grad for t in (a.weight, a.bias)),
            ]
            a.found = aten.native_batch_norm_backward.default(
                g[0],
                a.input,
                a.weight,
                a.running_mean,
                a.running_var,
                a.second,
                a.third,
                a.training,
                a.eps,
                wanted,
            )
        return a.found[which]

    return gradient


formula(
    "native_batch_norm",
    every=True,
    only_first=True,
    result=(1, 2),
    input=_batch_normed(0),
    weight=_batch_normed(1),
    bias=_batch_normed(2),
)
