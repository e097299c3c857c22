"""Regression and probability losses: an elementwise distance, weighted and reduced, as one op."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from torchlike._core import errors
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Bool, Float, Input, Operand, OptInput, OwnFloat, Str
from torchlike._ops.checks import floats_only, real_only, scalar_type_of
from torchlike._ops.elementwise import subgradients
from torchlike._ops.memory_order import of_loop
from torchlike._ops.nn.loss.loss import reduced
from torchlike._ops.nn.loss.reductions import check_reduction, reduction_of
from torchlike._ops.promotion import in_float32, promoted, promoted_float
from torchlike._ops.reduce.reduction import mean
from torchlike._ops.reduce.reduction import sum as sum_op
from torchlike._ops.value_checks import refuse_where, values_of
from torchlike.tensor import Tensor

_F = ("nn.functional",)


def _warn_about_sizes(input: Tensor, target: Tensor) -> None:
    if input._geometry.size != target._geometry.size:
        errors.warn_user(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            UserWarning,
        )


# -- distances -------------------------------------------------------------------------------------


def _weighted(loss: Any, weight: Any, reduction: str) -> jax.Array:
    """Reduce a loss; with weights the mean is over their sum."""
    if weight is None:
        return reduced(loss, reduction)
    total = reduced(loss * weight, "sum" if reduction == "mean" else reduction)
    return total / jnp.sum(weight) if reduction == "mean" else total


@op(
    "mse_loss_op",
    namespaces=(),
    method=False,
    memory_order=of_loop,
    grad_name="MseLossBackward0",
    autocast="float32",
)
def mse_loss_op(input: Input, target: Input, weight: OptInput, reduction: Str):
    """Return ``(input - target) ** 2``."""
    x, y = promoted(input, target)
    floats_only(x, "mse_cpu")
    return _weighted((x - y) * (x - y), weight, reduction)


@op(
    "l1_loss_op",
    namespaces=(),
    method=False,
    memory_order=of_loop,
    grad_name="MeanBackward0",
    autocast="float32",
)
def l1_loss_op(input: Input, target: Input, weight: OptInput, reduction: Str):
    """Return ``|input - target|``."""
    x, y = promoted(input, target)
    distance = subgradients.absolute(x - y)
    if weight is not None:
        return _weighted(distance, weight, reduction)
    if reduction == "mean":
        return mean.spec.fn(distance)  # type: ignore[attr-defined]
    return sum_op.spec.fn(distance) if reduction == "sum" else reduced(distance, reduction)  # type: ignore[attr-defined]


@op(
    "smooth_l1_loss_op",
    namespaces=(),
    method=False,
    memory_order=of_loop,
    grad_name="SmoothL1LossBackward0",
    autocast="float32",
)
def smooth_l1_loss_op(input: Input, target: Input, reduction: Str, beta: Float):
    """Return a loss that is squared below ``beta`` and linear above (Girshick 2015)."""
    if not beta >= 0:  # NaN, too
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    x, y = promoted(input, target)
    floats_only(x, "smooth_l1_cpu")
    distance = subgradients.absolute(x - y)
    if beta == 0:
        return reduced(distance, reduction)
    far = distance >= beta  # a NaN is near, where its gradient is NaN
    inner = jnp.where(far, 0, distance)
    loss = jnp.where(far, distance - 0.5 * beta, 0.5 / beta * inner * inner)
    return reduced(loss, reduction)


@op(
    "huber_loss_op",
    namespaces=(),
    method=False,
    memory_order=of_loop,
    grad_name="HuberLossBackward0",
    autocast={"cpu": "float32", "cuda": "float32"},
)
def huber_loss_op(input: Input, target: Input, weight: OptInput, reduction: Str, delta: Float):
    """Return a loss that is squared up to ``delta`` and linear above (Huber 1964)."""
    if not delta > 0:  # NaN, too
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    x, y = promoted(input, target)
    floats_only(x, "huber_cpu")
    distance = subgradients.absolute(x - y)
    far = distance > delta  # a NaN is near, where its gradient is NaN
    inner = jnp.where(far, 0, distance)
    loss = 0.5 * inner * inner
    if delta < math.inf:  # else none is far, and a gradient of 0 times infinity would be NaN
        loss = jnp.where(far, delta * (distance - 0.5 * delta), loss)
    # Unlike mse_loss, PyTorch's weighted mean here is over the number of elements.
    return reduced(loss if weight is None else loss * weight, reduction)


def _check_reduction(reduction: str) -> None:
    check_reduction(reduction)


def _check_weights(input: Tensor, weight: Tensor | None) -> None:
    if weight is not None and weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")


@composite(namespaces=_F, method=False, python_signature=True)
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the squared difference; with ``weight`` the mean is weighted.

    Example:
      >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
      tensor(2.)
    """
    _warn_about_sizes(input, target)
    reduction = reduction_of(size_average, reduce, reduction)
    _check_weights(input, weight)
    return mse_loss_op(input, target, weight, reduction)


@composite(
    namespaces=_F,
    method=False,
    python_signature="input target | size_average=None reduce=None reduction='mean' / weight=None",
)
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Return the absolute difference; with ``weight`` the mean is weighted."""
    _warn_about_sizes(input, target)
    reduction = reduction_of(size_average, reduce, reduction)
    _check_weights(input, weight)
    return l1_loss_op(input, target, weight, reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Return ``0.5 d² / beta`` where ``|d| < beta``, else ``|d| - 0.5 beta``."""
    _warn_about_sizes(input, target)
    return smooth_l1_loss_op(input, target, reduction_of(size_average, reduce, reduction), beta)


@composite(namespaces=_F, method=False, python_signature=True)
def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Return ``0.5 d²`` where ``|d| <= delta``, else ``delta (|d| - 0.5 delta)``."""
    _warn_about_sizes(input, target)
    _check_weights(input, weight)
    return huber_loss_op(input, target, weight, reduction, delta)


# -- binary cross entropy --------------------------------------------------------------------------


@jax.custom_jvp
def _bce(x: Any, target: Any) -> jax.Array:
    """Return the cross entropy of each probability; logarithms are held above -100, so that a
    certain and wrong answer costs no infinity."""
    log_x, log_rest = jnp.maximum(jnp.log(x), -100), jnp.maximum(jnp.log1p(-x), -100)
    return (target - 1) * log_rest - target * log_x


@_bce.defjvp
def _bce_jvp(primals: Any, tangents: Any) -> tuple[Any, ...]:
    # PyTorch's gradient: the denominator is held above 1e-12 instead.
    (x, target), (dx, dt) = primals, tangents
    slope = (x - target) / jnp.maximum((1 - x) * x, 1e-12)
    return _bce(x, target), slope * dx + (jnp.log1p(-x) - jnp.log(x)) * dt


def _check_probabilities(input: Any, target: Any, *rest: Any) -> None:
    for name, value in (("input", input), ("target", target)):
        values = values_of(value)
        if values.dtype.kind not in "iub":
            outside = ~((values >= 0) & (values <= 1))
            refuse_where(outside, RuntimeError, f"all elements of {name} should be between 0 and 1")


@op(
    "binary_cross_entropy_op",
    namespaces=(),
    method=False,
    check=_check_probabilities,
    memory_order=of_loop,
    grad_name="BinaryCrossEntropyBackward0",
    autocast={"cpu": "float32", "xla": "float32"},
)
def binary_cross_entropy_op(input: Input, target: Input, weight: OptInput, reduction: Str):
    """Return the cross entropy of probabilities."""
    if target.dtype != input.dtype:
        raise RuntimeError(
            f"Found dtype {scalar_type_of(target)} but expected {scalar_type_of(input)}"
        )
    floats_only(input, "binary_cross_entropy")
    loss = in_float32(_bce)(input, target)
    return reduced(loss if weight is None else (loss * weight).astype(loss.dtype), reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``-(t log x + (1 - t) log(1 - x))`` for probabilities x.

    ValueError for different sizes, RuntimeError for values outside [0, 1] (not inside jit).
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_reduction(reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size "
            f"({input.shape}) is deprecated. Please ensure they have the same size."
        )
    return binary_cross_entropy_op(input, target, weight, reduction)


@op(
    "binary_cross_entropy_with_logits_op",
    namespaces=(),
    method=False,
    memory_order=of_loop,
    grad_name="BinaryCrossEntropyWithLogitsBackward0",
    autocast="float32",
)
def bce_with_logits_op(
    input: Input, target: Input, weight: OptInput, pos_weight: OptInput, reduction: Str
):
    """Return the cross entropy of logits: no logarithm of a rounded probability."""
    if target.dtype.kind in "iub":
        kinds = map(scalar_type_of, (input, target))
        raise RuntimeError(errors.UNCASTABLE.format(*kinds))
    x, y = promoted(input, target)
    negative = in_float32(lambda x: -jax.nn.log_sigmoid(x))(x)  # log(1 + exp(-x))
    if pos_weight is not None:
        negative = negative * ((pos_weight - 1) * y + 1)
    loss = (1 - y) * x + negative
    loss = loss if weight is None else loss * weight
    return reduced(loss.astype(target.dtype), reduction)  # as if written into the target's copy


@composite(namespaces=_F, method=False, python_signature=True)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return binary cross entropy of ``sigmoid(input)``; ``pos_weight`` multiplies the positive
    part.

    ValueError for different sizes.
    """
    reduction = reduction_of(size_average, reduce, reduction)
    _check_reduction(reduction)
    if target.shape != input.shape:
        raise ValueError(
            f"Target size ({target.shape}) must be the same as input size ({input.shape})"
        )
    return bce_with_logits_op(input, target, weight, pos_weight, reduction)


# -- likelihoods and divergences -------------------------------------------------------------------


@op(
    "kl_div_op",
    namespaces=(),
    method=False,
    memory_order=of_loop,
    grad_name="KlDivBackward0",
    autocast="float32",
)
@real_only("kl_div: Complex inputs not supported.", RuntimeError)
def kl_div_op(input: Input, target: Input, reduction: Str, log_target: Bool):
    """Return ``target * (log(target) - input)``."""
    if "b" in (kinds := input.dtype.kind + target.dtype.kind) or set(kinds) & set("iu"):
        raise RuntimeError("kl_div: Integral inputs not supported.")
    y, x = promoted(target, input)
    if log_target:
        loss = jnp.exp(y) * (y - x)
    else:
        loss = jax.scipy.special.xlogy(y, y) - y * x
    if reduction == "batchmean":
        return jnp.sum(loss) / (x.shape[0] if x.ndim else 1)
    return reduced(loss, reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: Any = False,
) -> Tensor:
    """Return the Kullback-Leibler divergence of log probabilities ``input`` from ``target``.

    ``reduction="batchmean"`` is the mathematical definition. ``log_target``: target is logarithms.
    """
    if size_average is not None or reduce is not None:
        reduction = reduction_of(size_average, reduce, reduction)
    elif reduction == "mean":
        errors.warn_user(
            "reduction: 'mean' divides the total loss by both the batch size and the support size."
            "'batchmean' divides only by the batch size, and aligns with the KL div math "
            "definition.'mean' will be changed to behave the same as 'batchmean' in the next major "
            "release.",
            UserWarning,
        )
    if reduction not in ("none", "batchmean", "sum", "mean"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return kl_div_op(input, target, reduction, log_target)


@op(
    "poisson_nll_loss_op",
    namespaces=(),
    method=False,
    grad_name="MeanBackward0",
    autocast={"cpu": "float32", "cuda": "float32"},
)
def poisson_nll_loss_op(
    input: Input, target: Input, log_input: Bool, full: Bool, eps: Float, reduction: Str
):
    """Return the Poisson likelihood, with Stirling's approximation of the constant when
    ``full``."""
    x, y = promoted_float(input, target)
    loss = jnp.exp(x) - y * x if log_input else x - y * jnp.log(x + eps)
    if full:
        safe = jnp.where(y > 1, y, 1)
        stirling = safe * jnp.log(safe) - safe + 0.5 * jnp.log(2 * math.pi * safe)
        loss = loss + jnp.where(y > 1, stirling, 0)
    return reduced(loss, reduction)


@composite(namespaces=_F, method=False, python_signature=True)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: Any = True,
    full: Any = False,
    size_average: Any = None,
    eps: float = 1e-08,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``exp(input) - target * input`` (``log_input``), or ``input - target * log(input +
    eps)``."""
    reduction = reduction_of(size_average, reduce, reduction)
    _check_reduction(reduction)
    return poisson_nll_loss_op(input, target, log_input, full, eps, reduction)


def _check_variance(input: Any, target: Any, var: Any, *rest: Any) -> None:
    refuse_where(values_of(var) < 0, ValueError, "var has negative entry/entries")


@op(
    "gaussian_nll_loss_op",
    namespaces=(),
    method=False,
    check=_check_variance,
    grad_name="MeanBackward0",
)
def gaussian_nll_loss_op(
    input: Input, target: Input, var: Operand, full: Bool, eps: OwnFloat, reduction: Str
):
    """Return ``0.5 (log var + (input - target)² / var)``."""
    # Held above eps in value only: the gradient is that of var itself.
    x, y = promoted(input, target)
    square, v = promoted_float((x - y) ** 2, var)
    v = v + jax.lax.stop_gradient(jnp.where(v < eps, eps - v, 0))
    loss = 0.5 * (jnp.log(v) + square / v)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def _is_broadcast_along_one(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Return whether a shape is another one but for one dimension, which it has 1 of."""
    if len(shape) != len(target):
        return False
    return [n for n, wanted in zip(shape, target, strict=True) if n != wanted] == [1]


@composite(namespaces=_F, method=False, python_signature=True)
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Any,
    full: Any = False,
    eps: float = 1e-06,
    reduction: str = "mean",
) -> Tensor:
    """Return the Gaussian negative log likelihood.

    var: the input's size, or without the last dimension, or with 1 for one dimension, or a number.
    ValueError for another size or a negative value.
    """
    if isinstance(var, Tensor):
        if var.shape != input.shape:
            if tuple(input.shape[:-1]) == tuple(var.shape):
                var = var.unsqueeze(-1)
            elif not _is_broadcast_along_one(var.shape, input.shape):
                raise ValueError("var is of incorrect size")
    elif var < 0:
        raise ValueError("var has negative entry/entries")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return gaussian_nll_loss_op(input, target, var, full, eps, reduction)
