"""Losses, down to the operators they run. aten numbers reductions: none 0, mean 1, sum 2."""

from __future__ import annotations

from typing import Any

from torchlike._ops.nn.loss.reductions import get_enum
from torchlike.ops._aten.composites.pointwise import log_softmax
from torchlike.ops._aten.handlers import composite
from torchlike.ops._aten.packets import aten
from torchlike.tensor import Tensor


def reduction_number(reduction: Any) -> int:
    """Return the number that aten has for a reduction. ValueError for an unknown name."""
    if isinstance(reduction, int):
        return reduction
    return get_enum(reduction)


def _reduced(x: Tensor, reduction: int) -> Tensor:
    return (
        (x, aten.mean.default(x), aten.sum.default(x))[reduction]
        if reduction == 0
        else (aten.mean.default(x) if reduction == 1 else aten.sum.default(x))
    )


def _numbered(name: str, *options: Any) -> None:
    """Register ``F.name(input, target, options…, reduction)`` that is one operator."""
    names, defaults = options[::2], options[1::2]

    @composite(f"F.{name}")
    def loss(
        input: Tensor,
        target: Tensor,
        size_average: Any = None,
        reduce: Any = None,
        reduction: Any = "mean",
        **kwargs: Any,
    ) -> Tensor:
        if not isinstance(size_average, (bool, type(None))):  # huber_loss: reduction comes here
            reduction = size_average
        values: list[Any] = [reduction_number(reduction)]
        values += [kwargs.get(n, d) for n, d in zip(names, defaults, strict=True)]
        ends = (1, *defaults)
        while values and values[-1] == ends[len(values) - 1]:
            values.pop()
        return getattr(aten, name).default(input, target, *values)


_numbered("mse_loss")
_numbered("smooth_l1_loss", "beta", 1.0)
_numbered("huber_loss", "delta", 1.0)
_numbered("soft_margin_loss")
_numbered("multilabel_margin_loss")


@composite("F.l1_loss", "l1_loss")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: Any = "mean",
    weight: Any = None,
) -> Tensor:
    """Return the absolute differences."""
    return _reduced(aten.abs.default(aten.sub.Tensor(input, target)), reduction_number(reduction))


@composite("F.nll_loss", "nll_loss")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: Any = "mean",
) -> Tensor:
    """Return the negative of the logarithms at the targets."""
    packet = aten.nll_loss2d_forward if input.dim() == 4 else aten.nll_loss_forward
    return packet.default(input, target, weight, reduction_number(reduction), ignore_index)[0]


@composite("F.cross_entropy", "cross_entropy_loss")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: Any = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy of logits with classes or their probabilities."""
    at = 0 if input.dim() == 1 else 1
    logs = log_softmax(input, at)
    how = reduction_number(reduction)
    if target.is_floating_point():
        return _with_probabilities(logs, target, weight, how, label_smoothing, at)
    plain = nll_loss(logs, target, weight, None, ignore_index, None, how)
    if not label_smoothing:
        return plain
    return _smoothed(logs, plain, target, weight, how, ignore_index, label_smoothing, at)


def _with_probabilities(
    logs: Tensor, target: Tensor, weight: Any, how: int, smoothing: float, at: int
) -> Tensor:
    n = logs.shape[at]
    if smoothing:
        target = aten.add.Tensor(aten.mul.Tensor(target, 1 - smoothing), smoothing / n)
    products = aten.mul.Tensor(logs, target)
    if weight is not None:
        size = [n if d == at else 1 for d in range(logs.dim())]
        products = aten.mul.Tensor(products, aten.view.default(weight, size))
    if how == 0:
        return aten.neg.default(aten.sum.dim_IntList(products, [at]))
    total = aten.neg.default(aten.sum.default(products))
    if how == 2:
        return total
    return aten.div.Scalar(total, max(logs.numel() // n, 1))


def _smoothed(
    logs: Tensor,
    plain: Tensor,
    target: Tensor,
    weight: Any,
    how: int,
    ignored: int,
    smoothing: float,
    at: int,
) -> Tensor:
    n = logs.shape[at]
    weighted = logs
    if weight is not None:
        size = [n if d == at else 1 for d in range(logs.dim())]
        weighted = aten.mul.Tensor(logs, aten.view.default(weight, size))
    smooth = aten.neg.default(aten.sum.dim_IntList(weighted, [at]))
    out = aten.eq.Scalar(target, ignored)
    smooth = aten.masked_fill_.Scalar(smooth, out, 0.0)
    if how == 1:
        if weight is None:
            count = aten.sum.default(aten.bitwise_not.default(out))
        else:
            kept = aten.masked_fill.Scalar(target, out, 0)
            chosen = aten.index_select.default(weight, 0, aten.view.default(kept, [-1]))
            count = aten.sum.default(
                aten.masked_fill_.Scalar(chosen, aten.view.default(out, [-1]), 0.0)
            )
        smooth = aten.div.Tensor(aten.sum.default(smooth), count)
    elif how == 2:
        smooth = aten.sum.default(smooth)
    return aten.add.Tensor(
        aten.mul.Scalar(plain, 1 - smoothing), aten.mul.Scalar(smooth, smoothing / n)
    )


@composite("F.kl_div", "kl_div")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: Any = "mean",
    log_target: Any = False,
) -> Tensor:
    """Return the divergence of logarithms of probabilities from a target."""
    if log_target:
        out = aten.mul.Tensor(aten.exp.default(target), aten.sub.Tensor(target, input))
    else:
        product = aten.mul.Tensor(target, input)
        out = aten.sub.Tensor(aten.xlogy.Tensor(target, target), product)
    if reduction == "batchmean":
        return aten.div.Tensor(aten.sum.default(out), input.shape[0])
    return _reduced(out, reduction_number(reduction))


@composite("F.binary_cross_entropy")
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: Any = "mean",
) -> Tensor:
    """Return the cross entropy of probabilities with targets between 0 and 1."""
    how = reduction_number(reduction)
    rest = [weight, how] if how != 1 else ([weight] if weight is not None else [])
    return aten.binary_cross_entropy.default(input, target, *rest)


@composite("F.binary_cross_entropy_with_logits")
def with_logits(
    input: Tensor,
    target: Tensor,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: Any = "mean",
    pos_weight: Any = None,
) -> Tensor:
    """Return the ``binary_cross_entropy`` of logits."""
    values: list[Any] = [weight, pos_weight, reduction_number(reduction)]
    while values and values[-1] == (None, None, 1)[len(values) - 1]:
        values.pop()
    return aten.binary_cross_entropy_with_logits.default(input, target, *values)
