"""A linear layer and its cross entropy in one call."""

from __future__ import annotations

from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES, composite
from torchlike._ops.nn.loss.loss import cross_entropy
from torchlike.tensor import Tensor

_linear = NAMESPACES["nn.functional"]["linear"]


def _check(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {weight.dim()}"
        )
    if input.shape[-1] != weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {weight.shape[-1]}, respectively"
        )
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {tuple(weight.shape[:-1])}, got {tuple(bias.shape)}"
        )
    if weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(weight.shape)} requires "
            f"batched input, (N, {input.shape[-1]}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )


@composite(namespaces=("nn.functional",), method=False, python_signature=True)
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """Return ``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    input (in_features) or (N, in_features); linear_weight (C, *D, in_features), with D the
    dimensions of a loss at several places (then N is needed); target as in ``cross_entropy``.

    RuntimeError for shapes that do not fit and for ``ignore_index`` with probabilities.

    Differs from PyTorch: ``options``, which there say how to compute in chunks, change nothing:
    the value is the same, and the logits are materialised.
    """
    _check(input, linear_weight, linear_bias)
    classes = tuple(linear_weight.shape[:-1])
    shape = (*input.shape[:-1], *classes)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    rows = linear_weight.reshape(-1, linear_weight.shape[-1])
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = _linear(input, rows, bias).reshape(shape)
    return cross_entropy(
        logits,
        target,
        weight,
        reduction=reduction,
        label_smoothing=label_smoothing,
        ignore_index=-100 if ignore_index is None else ignore_index,
    )
