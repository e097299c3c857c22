"""What computes aten's operators of backward passes, ``gelu_backward`` and kin: the vjp of the
forward operator on plain tensors, by the library's own autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import modes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.autograd.backward import grad
from torchlike.ops._aten.kernels import KERNELS, kernel
from torchlike.tensor import Tensor

_torch, _nn = NAMESPACES[""], NAMESPACES["nn.functional"]
#: PyTorch's numbers for reductions.
REDUCTIONS = ("none", "mean", "sum")


def vjp(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    cotangents: Sequence[Any],
    wanted: Sequence[Any] | None = None,
) -> list[Any]:
    """Return the gradients of ``function(*inputs)`` for each input; None for those not wanted. They
    are recorded where an input or a cotangent requires grad."""
    chosen = [t is not None and (wanted is None or bool(wanted[i])) for i, t in enumerate(inputs)]
    before = modes.current.grad_enabled
    # Inside of a transform it may be a lower level that differentiates them.
    again = before and (
        bool(modes.current.levels)
        or any(t is not None and t.requires_grad for t in (*inputs, *cotangents))
    )
    modes.current.grad_enabled = True
    try:
        given = [
            t if t is None else _place(t, w, again) for t, w in zip(inputs, chosen, strict=True)
        ]
        out = function(*given)
    finally:
        modes.current.grad_enabled = before
    outputs = [out] if isinstance(out, Tensor) else list(out)
    pairs = [(o, c) for o, c in zip(outputs, cotangents, strict=False) if c is not None]
    places = [t for t, w in zip(given, chosen, strict=True) if w]
    if not places:
        return [None] * len(inputs)
    found = iter(
        grad(
            [o for o, _ in pairs],
            places,
            [c for _, c in pairs],
            create_graph=again,
            allow_unused=True,
        )
    )
    return [next(found) if w else None for w in chosen]


def _place(t: Tensor, wanted: bool, again: bool) -> Tensor:
    """Return an input of which a gradient can be taken, if it is ``wanted``; connected with its
    history if the gradients are differentiated ``again``."""
    if not again:
        return t.detach().requires_grad_(wanted)
    same = t.view_as(t)
    return same if same.requires_grad else same.requires_grad_(wanted)


def _of_one(name: str, forward: Callable[..., Any]) -> None:
    """Register ``name(grad, self, *rest)`` from ``forward(self, *rest)``."""

    @kernel(name)
    def backward(grad_output: Tensor, self: Tensor, *rest: Any, **named: Any) -> Tensor:
        return vjp(lambda x: forward(x, *rest, **named), [self], [grad_output])[0]


_of_one("gelu_backward", lambda x, **named: _nn["gelu"](x, **named))
_of_one("silu_backward", lambda x: _nn["silu"](x))
_of_one("mish_backward", lambda x: _nn["mish"](x))
_of_one("hardswish_backward", lambda x: _nn["hardswish"](x))
_of_one("hardsigmoid_backward", lambda x: _nn["hardsigmoid"](x))
_of_one("hardtanh_backward", lambda x, low, high: _nn["hardtanh"](x, low, high))
_of_one("leaky_relu_backward", lambda x, slope, _: _nn["leaky_relu"](x, slope))
_of_one("softplus_backward", lambda x, beta, threshold: _nn["softplus"](x, beta, threshold))
_of_one("softshrink_backward", lambda x, lambd: _nn["softshrink"](x, lambd))
_of_one("hardshrink_backward", lambda x, lambd: _nn["hardshrink"](x, lambd))
_of_one("glu_backward", lambda x, dim: _nn["glu"](x, dim))
_of_one("logit_backward", lambda x, eps=None: _torch["logit"](x, eps))


@kernel("_adaptive_avg_pool2d_backward")
def _adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    size = tuple(grad_output.shape[-2:])
    return vjp(lambda x: _nn["adaptive_avg_pool2d"](x, size), [self], [grad_output])[0]


@kernel("elu_backward")
def _elu_backward(
    grad_output: Tensor, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self: Tensor
) -> Tensor:
    if is_result:
        negative = input_scale * (self + alpha * scale)
        return grad_output * _torch["where"](self <= 0, negative, scale)
    negative = input_scale * alpha * scale * _torch["exp"](self * input_scale)
    return grad_output * _torch["where"](self <= 0, negative, scale)


def _of_loss(name: str, forward: Callable[..., Any]) -> None:
    @kernel(f"{name}_backward")
    def backward(
        grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, *rest: Any
    ) -> Tensor:
        how = REDUCTIONS[reduction]
        return vjp(lambda x: forward(x, target, how, *rest), [self], [grad_output])[0]


_of_loss("mse_loss", lambda x, t, how: _nn["mse_loss"](x, t, reduction=how))
_of_loss(
    "smooth_l1_loss", lambda x, t, how, beta: _nn["smooth_l1_loss"](x, t, reduction=how, beta=beta)
)
_of_loss("huber_loss", lambda x, t, how, delta: _nn["huber_loss"](x, t, reduction=how, delta=delta))
_of_loss("soft_margin_loss", lambda x, t, how: _nn["soft_margin_loss"](x, t, reduction=how))


@kernel("nll_loss_backward", "nll_loss2d_backward")
def _nll_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    how = REDUCTIONS[reduction]
    return vjp(
        lambda x: _nn["nll_loss"](x, target, weight, ignore_index=ignore_index, reduction=how),
        [self],
        [grad_output],
    )[0]


@kernel("binary_cross_entropy_backward")
def _binary_cross_entropy_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, weight: Any = None, reduction: int = 1
) -> Tensor:
    how = REDUCTIONS[reduction]
    return vjp(
        lambda x: _nn["binary_cross_entropy"](x, target, weight, reduction=how),
        [self],
        [grad_output],
    )[0]


@kernel("native_layer_norm_backward")
def _native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Any,
    mean: Tensor,
    rstd: Tensor,
    weight: Any,
    bias: Any,
    output_mask: Any,
) -> tuple[Any, ...]:
    # The variance is that of the input, whatever eps was: of rstd, which knows it.
    def forward(x: Tensor, w: Any, b: Any) -> Tensor:
        dims = tuple(range(-len(normalized_shape), 0))
        eps = (1 / rstd.detach() ** 2) - input.detach().var(dims, unbiased=False, keepdim=True)
        centred = x - x.mean(dims, keepdim=True)
        normed = centred * _torch["rsqrt"](x.var(dims, unbiased=False, keepdim=True) + eps)
        normed = normed if w is None else normed * w
        return normed if b is None else normed + b

    return tuple(vjp(forward, [input, weight, bias], [grad_out], output_mask))


@kernel("convolution_backward")
def _convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
) -> tuple[Any, ...]:
    bias = (
        weight.new_zeros(tuple(bias_sizes)) if bias_sizes is not None and output_mask[2] else None
    )
    return tuple(
        vjp(
            lambda x, w, b: KERNELS["convolution"](
                x, w, b, stride, padding, dilation, transposed, output_padding, groups
            ),
            [input, weight, bias],
            [grad_output],
            output_mask,
        )
    )


@kernel("_prelu_kernel_backward")
def _prelu_kernel_backward(
    grad_output: Tensor, self: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor]:
    below = self <= 0
    return (
        _torch["where"](below, weight * grad_output, grad_output),
        _torch["where"](below, self * grad_output, 0.0),
    )


@kernel("native_batch_norm_backward")
def _native_batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_invstd: Any,
    train: bool,
    eps: float,
    output_mask: Any,
) -> tuple[Any, ...]:
    means = () if train else (running_mean, running_var)

    def forward(x: Tensor, w: Any, b: Any) -> Tensor:
        return _nn["batch_norm"](x, *(means or (None, None)), w, b, training=train, eps=eps)

    ones = input.new_ones(input.shape[1]) if weight is None else weight
    bias = _torch["zeros_like"](ones)
    return tuple(vjp(forward, [input, ones, bias], [grad_out], output_mask))
