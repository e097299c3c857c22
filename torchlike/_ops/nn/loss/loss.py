"""Classification losses: cross entropy and negative log likelihood, one op each.

The target's logit is picked by comparing with an iota rather than by a gather: the gradient is then
``softmax - one_hot`` in one fused loop, with no scatter.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Float, Input, Int, OptInput, Str, require_tensor
from torchlike._ops.checks import floats_only, scalar_type_of
from torchlike._ops.elementwise import division
from torchlike._ops.nn.loss.reductions import check_reduction, reduction_of
from torchlike._ops.promotion import widened
from torchlike._ops.value_checks import refuse_outside
from torchlike._runtime import targets
from torchlike.tensor import Tensor

_F = ("nn.functional",)


def reduced(loss: Any, reduction: str) -> jax.Array:
    """Return the loss summed, averaged or as it is. ValueError for an unknown reduction."""
    check_reduction(reduction)
    if reduction == "mean":
        if loss.dtype.kind in "iub":
            raise RuntimeError(
                "mean(): could not infer output dtype. Input dtype must be either a floating point "
                f"or complex dtype. Got: {scalar_type_of(loss)}"
            )
        return division.mean(loss)
    return jnp.sum(loss) if reduction == "sum" else loss


# -- checks ----------------------------------------------------------------------------------------


def _check_weight(weight: Any, classes: int, x: Any, prefix: str = "") -> None:
    if weight is None:
        return
    if weight.shape != (classes,):
        raise RuntimeError(
            f"{prefix}weight tensor should be defined either for all {classes} classes or no "
            f"classes but got weight tensor of shape: {list(weight.shape)}"
        )
    if weight.dtype != x.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_type_of(x)} but found {scalar_type_of(weight)}"
        )


def _check_shapes(x: Any, target: Any) -> None:
    """Refuse shapes that do not fit nll_loss, in PyTorch's order and words."""
    if x.ndim < 1:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if x.ndim != 1 and (not target.ndim or x.shape[0] != target.shape[0]):
        raise ValueError(
            f"Expected input batch_size ({x.shape[0]}) to match target batch_size "
            f"({target.shape[0] if target.ndim else 0})."
        )
    if x.ndim <= 2:
        if target.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if x.ndim == 1 and target.size != 1:
            raise ValueError(
                f"For 1D input, 1D target must have size 1, but got target size: {target.size}"
            )
    elif x.ndim == 4:
        if target.ndim != 3:
            raise RuntimeError(
                "only batches of spatial targets supported (3D tensors) but got targets of "
                f"dimension: {target.ndim}"
            )
        if target.shape != (x.shape[0], *x.shape[2:]):
            raise RuntimeError(
                f"size mismatch (got input: {list(x.shape)} , target: {list(target.shape)}"
            )
    elif target.shape != (x.shape[0], *x.shape[2:]):
        raise RuntimeError(
            f"Expected target size {[x.shape[0], *x.shape[2:]]}, got {list(target.shape)}"
        )
    if target.dtype not in (np.int64, np.uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {scalar_type_of(target)}"
        )


def _check_targets(input: Any, target: Any, weight: Any, ignore_index: int, *rest: Any) -> None:
    """Refuse, with IndexError, a target class that does not exist."""
    if not input.ndim or target.dtype.kind not in "iu":
        return
    dim = 0 if input.ndim == 1 else 1
    if dim and target.shape != (*input.shape[:1], *input.shape[2:]):
        return  # the shapes' own error comes first
    words = "Target {0} is out of bounds."
    refuse_outside(target, 0, input.shape[dim], IndexError, words, besides=ignore_index)


# -- class indices ---------------------------------------------------------------------------------


def _class_weights(weight: Any, dim: int, ndim: int) -> jax.Array:
    return weight.reshape([-1 if d == dim else 1 for d in range(ndim)])


def _count(kept: Any, dtype: Any) -> jax.Array:
    """Return how many are kept; by NumPy in one step less, of as many as floats count exactly."""
    if targets.is_numpy() and kept.size < 1 << 24:
        return jnp.sum(kept.astype(dtype))
    return jnp.sum(kept, dtype=np.int32).astype(dtype)


def _nll(
    log_probabilities: Any,
    target: Any,
    weight: Any,
    ignore_index: int,
    reduction: str,
    smoothing: float,
) -> jax.Array:
    """Return the negative log likelihood of the target classes, in a wide dtype."""
    logp = log_probabilities
    dim = 0 if logp.ndim == 1 else 1
    classes = logp.shape[dim]
    if target.dtype != np.int64 or not targets.is_numpy():
        target = target.astype(np.int32)
    target = target.reshape(logp.shape[:dim] + logp.shape[dim + 1 :])
    kept = target != ignore_index
    chosen = lax.broadcasted_iota(target.dtype, logp.shape, dim) == jnp.expand_dims(target, dim)
    weighted = logp if weight is None else logp * _class_weights(widened(weight), dim, logp.ndim)
    picked = jnp.sum(jnp.where(chosen, weighted, 0), dim)
    if targets.is_numpy():  # whose targets were checked
        loss = jnp.where(kept, -picked, 0)
    else:  # where there is no such class nothing can be raised inside jit: NaN shows it
        exists = (target >= 0) & (target < classes)
        loss = jnp.where(kept, jnp.where(exists, -picked, jnp.nan), 0)
    if smoothing:
        spread = jnp.where(kept, -jnp.sum(weighted, dim), 0)
        loss = (1 - smoothing) * loss + smoothing / classes * spread
    if reduction != "mean":
        return reduced(loss, reduction)
    if weight is None:
        return jnp.sum(loss) / _count(kept, loss.dtype)
    of_target = jnp.sum(jnp.where(chosen, _class_weights(widened(weight), dim, logp.ndim), 0), dim)
    return jnp.sum(loss) / jnp.sum(jnp.where(kept, of_target, 0))


@op(
    "nll_loss_op",
    namespaces=(),
    method=False,
    check=_check_targets,
    needs={"input": ["target", "weight"], "weight": ["input", "target", "weight"]},
    grad_name="NllLossBackward0",
    autocast="float32",
)
def nll_loss_op(input: Input, target: Input, weight: OptInput, ignore_index: Int, reduction: Str):
    """Return ``-input[target]`` of log probabilities, weighted and reduced."""
    _check_shapes(input, target)
    floats_only(input, "nll_loss_out_frame")
    _check_weight(weight, input.shape[0 if input.ndim == 1 else 1], input)
    return _nll(widened(input), target, weight, ignore_index, reduction, 0.0).astype(input.dtype)


@op(
    "cross_entropy_op",
    namespaces=(),
    method=False,
    check=_check_targets,
    residuals=True,
    grad_name="NllLossBackward0",
    autocast="float32",
)
def cross_entropy_op(
    input: Input,
    target: Input,
    weight: OptInput,
    ignore_index: Int,
    reduction: Str,
    label_smoothing: Float,
):
    """Return the cross entropy of logits with class indices."""
    _check_dimensions(input)
    if input.shape == target.shape and input.ndim != 1:
        raise RuntimeError(
            "Expected floating point type for target with class probabilities, got "
            f"{scalar_type_of(target)}"
        )
    label_smoothing = _smoothing(label_smoothing)
    floats_only(
        input, "log_softmax_lastdim_kernel_impl" if input.ndim < 3 else "log_softmax_kernel_impl"
    )
    _check_shapes(input, target)
    dim = 0 if input.ndim == 1 else 1
    _check_weight(weight, input.shape[dim], input)
    logp = jax.nn.log_softmax(widened(input), dim)
    return _nll(logp, target, weight, ignore_index, reduction, label_smoothing).astype(input.dtype)


def _check_dimensions(x: Any) -> None:
    if not x.ndim:
        raise IndexError("Dimension specified as 1 but tensor has no dimensions")


def _smoothing(label_smoothing: float) -> float:
    """Return the label smoothing: 0 for a number that is not positive. RuntimeError for more than
    1."""
    if label_smoothing > 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    return label_smoothing if label_smoothing > 0 else 0.0


# -- class probabilities ---------------------------------------------------------------------------


@op(
    "cross_entropy_probabilities",
    namespaces=(),
    method=False,
    residuals=True,
    grad_name="DivBackward1",
)
def cross_entropy_probabilities(
    input: Input,
    target: Input,
    weight: OptInput,
    ignore_index: Int,
    reduction: Str,
    label_smoothing: Float,
):
    """Return the cross entropy of logits with class probabilities of the same shape."""
    _check_dimensions(input)
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    label_smoothing = _smoothing(label_smoothing)
    floats_only(input, "log_softmax_lastdim_kernel_impl")
    dim = 0 if input.ndim == 1 else 1
    classes = input.shape[dim]
    _check_weight(weight, classes, input, "cross_entropy: ")
    out_dtype = jnp.promote_types(input.dtype, target.dtype)
    logp = jax.nn.log_softmax(widened(input), dim)
    share = widened(target)
    if label_smoothing:
        share = share * (1 - label_smoothing) + label_smoothing / classes
    if weight is not None:
        logp = logp * _class_weights(widened(weight), dim, logp.ndim)
    loss = -jnp.sum(logp * share, dim)
    if reduction == "mean":
        total = jnp.sum(loss) / (input.size / classes if input.size else jnp.nan)
        return total.astype(out_dtype)
    return reduced(loss, reduction).astype(out_dtype)


# -- public ----------------------------------------------------------------------------------------


@composite(namespaces=_F, method=False, python_signature=True)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy of logits (N, C, …) or (C,) with targets: int64 classes (N, …), or
    probabilities of the input's shape.

    With ``weight`` (C,), the mean is over the weights of the targets; targets equal to
    ``ignore_index`` count nothing. IndexError for a class out of range (NaN inside jit).

    Example:
      >>> logits, target = torch.zeros(3, 4), torch.tensor([0, 3, -100])
      >>> loss = torch.nn.functional.cross_entropy(logits, target)
      >>> torch.allclose(loss, torch.tensor(4.0).log())
      True
    """
    require_tensor(input, "cross_entropy_loss")
    require_tensor(target, "cross_entropy_loss", "target", 2)
    if size_average is not None or reduce is not None:
        reduction = reduction_of(size_average, reduce, reduction)
    soft = target.dtype.is_floating_point and target._geometry.size == input._geometry.size
    function = cross_entropy_probabilities if soft else cross_entropy_op
    return function(input, target, weight, ignore_index, reduction, label_smoothing)


@composite(namespaces=_F, method=False, python_signature=True)
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Return ``-input[target]`` for log probabilities (N, C, …) or (C,) and int64 classes (N, …).

    IndexError for a class out of range (NaN inside jit).
    """
    if size_average is not None or reduce is not None:
        reduction = reduction_of(size_average, reduce, reduction)
    return nll_loss_op(input, target, weight, ignore_index, reduction)
