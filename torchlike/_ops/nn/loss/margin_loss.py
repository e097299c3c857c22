"""Losses with margins: ranking, embedding, multi-class and multi-label."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import (
    Bool,
    Float,
    FloatBound,
    Input,
    Int,
    OptInput,
    OwnFloat,
    Str,
)
from torchlike._ops.checks import floats_only, scalar_type_of
from torchlike._ops.nn.loss.loss import reduced
from torchlike._ops.nn.loss.reductions import check_reduction, reduction_of
from torchlike._ops.nn.norm.softmax import pairwise_distance
from torchlike._ops.promotion import check_broadcast, in_float32, promoted, promoted_float
from torchlike._ops.value_checks import refuse_outside
from torchlike.tensor import Tensor

_F = ("nn.functional",)


def _relu(x: Any) -> jax.Array:
    """Return ``max(x, 0)`` with derivative 1 at 0: PyTorch clamps here, and clamp passes ties. NaN
    stays, without a gradient."""
    return jnp.where(x >= 0, x, jnp.where(x < 0, 0, lax.stop_gradient(x)))


# -- pairs and triplets ----------------------------------------------------------------------------


@op(
    "margin_ranking_loss_op",
    namespaces=(),
    method=False,
    grad_name="MeanBackward0",
    autocast="float32",
)
def margin_ranking_loss_op(
    input1: Input, input2: Input, target: Input, margin: Float, reduction: Str
):
    """Return ``max(0, -target * (input1 - input2) + margin)``."""
    (difference,) = promoted_float(-target * (input1 - input2))
    return reduced(_relu(difference + margin), reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Return a loss that is 0 where ``input1`` ranks above ``input2`` (target 1) or below (-1), by
    ``margin``."""
    reduction = reduction_of(size_average, reduce, reduction)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return margin_ranking_loss_op(input1, input2, target, margin, reduction)


@op(
    "hinge_embedding_loss_op",
    namespaces=(),
    method=False,
    grad_name="MeanBackward0",
    autocast="float32",
)
def hinge_embedding_loss_op(input: Input, target: Input, margin: FloatBound, reduction: Str):
    """Return ``input`` for target 1, ``max(0, margin - input)`` for -1."""
    check_broadcast(input, target)
    bound = jnp.asarray(margin, input.dtype)  # of integers the loss is an integer
    near = jnp.where(target != 1, _relu(bound - input), 0)
    far = jnp.where(target != -1, input, 0)
    return reduced(near + far, reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Return a loss that pulls distances to 0 (target 1) or pushes them beyond ``margin`` (-1)."""
    reduction = reduction_of(size_average, reduce, reduction)
    return hinge_embedding_loss_op(input, target, margin, reduction)


@op(
    "cosine_embedding_loss_op",
    namespaces=(),
    method=False,
    grad_name="MeanBackward0",
    autocast="float32",
)
def cosine_embedding_loss_op(
    input1: Input, input2: Input, target: Input, margin: Float, reduction: Str
):
    """Return ``1 - cos`` for target 1, ``max(0, cos - margin)`` for -1."""
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    for x in (input1, input2):
        if x.ndim != target.ndim + 1:
            raise RuntimeError(
                f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found "
                f"inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
            )
    a, b = promoted_float(input1, input2)
    dim = target.ndim
    product, eps = jnp.sum(a * b, dim), 1e-12
    lengths = (jnp.sum(a * a, dim) + eps) * (jnp.sum(b * b, dim) + eps)
    cosine = product / jnp.sqrt(lengths)
    check_broadcast(target, cosine)
    loss = jnp.where(target == 1, 1 - cosine, 0)
    loss = jnp.where(target == -1, _relu(cosine - margin), loss)
    return reduced(loss, reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Return a loss that makes pairs (N, D) similar (target 1) or dissimilar (-1) in angle."""
    reduction = reduction_of(size_average, reduce, reduction)
    return cosine_embedding_loss_op(input1, input2, target, margin, reduction)


@op(
    "triplet_margin_loss_op",
    namespaces=(),
    method=False,
    grad_name="MeanBackward0",
    autocast="float32",
)
def triplet_margin_loss_op(
    anchor: Input,
    positive: Input,
    negative: Input,
    margin: Float,
    p: Float,
    eps: Float,
    swap: Bool,
    reduction: Str,
):
    """Return ``max(0, d(a, p) - d(a, n) + margin)``."""
    sizes = (anchor.ndim, positive.ndim, negative.ndim)
    if len(set(sizes)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {sizes[0]}D, positive {sizes[1]}D, and negative "
            f"{sizes[2]}D inputs"
        )
    distance = pairwise_distance.spec.fn  # type: ignore[attr-defined]
    near = distance(anchor, positive, p, eps)
    far = distance(anchor, negative, p, eps)
    if swap:
        far = jnp.minimum(far, distance(positive, negative, p, eps))
    return reduced(_relu(margin + near - far), reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: Any = False,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Return a loss that is 0 where the anchor is closer to the positive than to the negative by
    ``margin``; ``swap`` also uses the distance between positive and negative (Balntas et al. 2016).
    ValueError for margin <= 0."""
    reduction = reduction_of(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return triplet_margin_loss_op(anchor, positive, negative, margin, p, eps, swap, reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: Any = False,
    reduction: str = "mean",
) -> Tensor:
    """Compute ``triplet_margin_loss`` with any distance (the Euclidean one by default)."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    loss = (margin + near - far).clamp_min(0)
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


@op(
    "soft_margin_loss_op",
    namespaces=(),
    method=False,
    grad_name="SoftMarginLossBackward0",
    autocast="float32",
)
def soft_margin_loss_op(input: Input, target: Input, reduction: Str):
    """Return ``log(1 + exp(-target * input))``."""
    x, y = promoted(input, target)
    return reduced(jax.nn.softplus(-y * x), reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the logistic loss for targets 1 and -1."""
    return soft_margin_loss_op(input, target, reduction_of(size_average, reduce, reduction))


# -- several classes, several labels ---------------------------------------------------------------


def _check_scores(input: Any) -> None:
    """Refuse, with RuntimeError, what is neither scores (N, C) nor (C,)."""
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{list(input.shape)}"
        )


def _check_classes(input: Any, target: Any, *rest: Any) -> None:
    _check_scores(input)
    classes = input.shape[-1] if input.ndim else 1
    refuse_outside(target, 0, classes, RuntimeError, "target out of range")


@op(
    "multi_margin_loss_op",
    namespaces=(),
    method=False,
    check=_check_classes,
    grad_name="MultiMarginLossBackward0",
    autocast="float32",
)
def multi_margin_loss_op(
    input: Input, target: Input, weight: OptInput, p: Int, margin: OwnFloat, reduction: Str
):
    """Return ``sum(max(0, margin - x[y] + x[i]) ** p) / C`` over i != y."""
    check_reduction(reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    _check_scores(input)
    floats_only(input, "multi_margin_loss")
    if target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {scalar_type_of(target)}")
    classes = input.shape[-1] if input.ndim else 1
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"inconsistent weight size, expected {classes} but got {list(weight.shape)}"
        )
    x = input.reshape(math.prod(input.shape[:-1]), classes)
    if target.ndim > 1 or target.size != x.shape[0]:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input "
            f"samples (batch size). Expected target size [{x.shape[0]}], but got "
            f"{list(target.shape)}. Input has shape {list(input.shape)}."
        )
    y = target.reshape(-1, 1).astype(np.int32)
    chosen = jnp.arange(x.shape[1], dtype=np.int32) == y
    picked = jnp.sum(jnp.where(chosen, x, 0), 1, keepdims=True)
    gap = margin - picked + x
    loss = jnp.where((gap > 0) & ~chosen, gap, 0)
    loss = loss if p == 1 else loss * loss
    if weight is not None:
        loss = loss * jnp.sum(jnp.where(chosen, weight, 0), 1, keepdims=True)
    per_sample = jnp.sum(loss, 1) / x.shape[1]
    return reduced(per_sample.reshape(target.shape), reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the multi-class hinge loss of scores (N, C) or (C,) with classes (N,), (1,) or ().

    Unreduced, it has the shape of ``target``. RuntimeError for classes of another shape.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return multi_margin_loss_op(input, target, weight, p, margin, reduction)


def _check_labels(input: Any, target: Any, *rest: Any) -> None:
    classes = input.shape[-1] if input.ndim else 1
    check_reduction(rest[-1])
    _check_scores(input)
    refuse_outside(target, -1, classes, RuntimeError, "argument #2 'target' is out of range")


@op(
    "multilabel_margin_loss_op",
    namespaces=(),
    method=False,
    check=_check_labels,
    grad_name="MultilabelMarginLossBackward0",
    autocast="float32",
)
def multilabel_margin_loss_op(input: Input, target: Input, reduction: Str):
    """Return ``sum(max(0, 1 - (x[y[j]] - x[i]))) / C`` over labels j and non-labels i."""
    _check_scores(input)
    one = input.ndim <= 1 and target.ndim <= 1 and input.size == target.size == 1
    if input.shape != target.shape and not one:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    x = input.reshape(math.prod(input.shape[:-1]), input.shape[-1] if input.ndim else 1)
    labels = target.reshape(x.shape).astype(np.int32)
    # Labels end at the first -1.
    live = jnp.cumprod((labels >= 0).astype(np.int32), 1) == 1
    classes = jnp.arange(x.shape[1], dtype=np.int32)
    hits = (labels[:, :, None] == classes) & live[:, :, None]
    picked = jnp.sum(jnp.where(hits, x[:, None, :], 0), 2)
    gap = 1 - (picked[:, :, None] - x[:, None, :])
    wanted = live[:, :, None] & ~jnp.any(hits, 1)[:, None, :]
    loss = jnp.sum(jnp.where(wanted & (gap > 0), gap, 0), (1, 2)) / x.shape[1]
    return reduced(loss if input.ndim > 1 else loss[0], reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the multi-label hinge loss of scores (N, C); each row of targets lists labels, then
    -1."""
    reduction = reduction_of(size_average, reduce, reduction)
    return multilabel_margin_loss_op(input, target, reduction)


@op("multilabel_soft_margin_loss_op", namespaces=(), method=False, grad_name="MeanBackward0")
def multilabel_soft_margin_loss_op(input: Input, target: Input, weight: OptInput, reduction: Str):
    """Return the mean over classes of binary cross entropy with logits."""
    x, y = promoted(input, target)
    floats_only(input, "log_sigmoid_cpu")
    if not x.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    log_sigmoid = in_float32(jax.nn.log_sigmoid)
    loss = -(y * log_sigmoid(x) + (1 - y) * log_sigmoid(-x))
    if weight is not None:
        loss = loss * weight
    return reduced(jnp.sum(loss, -1) / x.shape[-1], reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the one-versus-all logistic loss of scores (N, C) with targets 0 or 1."""
    reduction = reduction_of(size_average, reduce, reduction)
    return multilabel_soft_margin_loss_op(input, target, weight, reduction)
