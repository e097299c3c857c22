"""Normalisation, softmax, dropout, embedding and convolution of ragged tensors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from torchlike._core import errors
from torchlike._runtime.function_objects import name_of
from torchlike.nested._internal.nested_int import NestedInt
from torchlike.nested._internal.nested_tensor import NestedTensor
from torchlike.nested._internal.rules.padding import from_padded, to_padded
from torchlike.nested._internal.rules.pointwise import pointwise
from torchlike.nested._internal.rules.table import (
    raggedness_matches,
    require_contiguous,
    rule,
    spread,
    sums_of_parts,
)
from torchlike.tensor import Tensor


@rule("softmax", "log_softmax", "softmin")
def softmax(
    func: Callable[..., Any], input: NestedTensor, dim: Any = None, *args: Any, **kwargs: Any
) -> Tensor:
    """Apply along a regular dimension, or (softmax) along the ragged one: within each part."""
    name = name_of(func)
    if isinstance(dim, tuple):
        raise RuntimeError(
            f"{name}(): not supported for dimensions of type 'tuple' for NestedTensor"
        )
    wrapped = errors.wrap_dim(dim, input.dim())
    if wrapped == 0:
        raise RuntimeError(
            f"{name}(): not supported when reducing across the batch dimension for NestedTensor"
        )
    if wrapped != input._ragged_idx:
        return input._with(func(input._held, wrapped - 1, *args, **kwargs))
    if name != "softmax" or input._ragged_idx > 1:
        which = " for ragged_idx > 1" if name == "softmax" else ""
        raise RuntimeError(
            f"{name}(): not supported when reducing along the ragged dimension{which} for "
            "NestedTensor"
        )
    if input._lengths is not None:
        raise RuntimeError(
            "softmax(): not supported where lengths is not None if reducing across the ragged "
            "dimension for NestedTensor"
        )
    padded = to_padded(input, -math.inf, input._get_max_seqlen())
    found = func(padded, 1, *args, **kwargs)
    return input._with(from_padded(found, input._offsets, 1, input._held.shape[0]))


@rule("dropout")
def dropout(func: Callable[..., Any], input: Any, *args: Any, **kwargs: Any) -> Tensor:
    return pointwise(func, require_contiguous(input, "native_dropout"), *args, **kwargs)


@rule("layer_norm")
def layer_norm(
    func: Callable[..., Any],
    input: NestedTensor,
    normalized_shape: Sequence[Any],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *rest: Any,
) -> Tensor:
    """Normalize over regular dimensions, or over each part whole where the ragged one is among
    them."""
    if input.dim() <= 2:
        raise RuntimeError(
            "layer_norm(): not supported for NestedTensor objects with 2 or fewer dimensions"
        )
    shape = tuple(normalized_shape)
    if len(shape) == input.dim():
        raise RuntimeError(
            "layer_norm(): not supported when normalizing over the batch dimension for NestedTensor"
        )
    if not any(isinstance(n, NestedInt) for n in shape):
        return input._with(func(input._held, shape, weight, bias, eps))
    if input._lengths is not None:
        raise RuntimeError(
            "layer_norm(): not supported where lengths is not None if operating on the ragged "
            "dimension for NestedTensor"
        )
    return _of_parts(input, eps)


def _of_parts(input: NestedTensor, eps: float) -> Tensor:
    """Return each part less its mean, divided by its deviation: computed from sums, so that nothing
    is padded."""
    values: Any = input._held.movedim(input._ragged_idx - 1, 0)  # type: ignore[attr-defined]
    size = math.prod(values.shape[1:])
    rows = values.reshape(values.shape[0], size)
    count = input.all_lengths() * size  # type: ignore[operator]

    def mean(x: Any) -> Any:
        return spread(input, sums_of_parts(input, x.sum(1)) / count).unsqueeze(1)

    away = rows - mean(rows)
    found = away / (mean(away.square()) + eps).sqrt()
    return input._with(found.reshape(values.shape).movedim(0, input._ragged_idx - 1))


@rule("rms_norm")
def rms_norm(
    func: Callable[..., Any],
    input: NestedTensor,
    normalized_shape: Sequence[int],
    weight: Any = None,
    eps: Any = None,
) -> Tensor:
    """Normalize over regular dimensions. Raises ValueError over the ragged dimension."""
    if len(normalized_shape) > input.dim() - input._ragged_idx - 1:
        raise ValueError(
            "rms_norm(): Normalization over the ragged dim not supported for nested tensors"
        )
    return input._with(func(input._held, normalized_shape, weight, eps))


@rule("embedding")
def embedding(
    func: Callable[..., Any], input: Any, weight: Any, *args: Any, **kwargs: Any
) -> Tensor:
    """Look up the rows of a dense table."""
    first, second = (input, weight) if isinstance(input, NestedTensor) else (weight, input)
    require_contiguous(first, "embedding", "indices")
    if isinstance(second, NestedTensor):
        raise ValueError("NestedTensor embedding(): expected weight to be a tensor")
    given = (first._held, weight) if first is input else (input, first._held)
    return first._with(func(*given, *args, **kwargs))


@rule("conv1d", "conv2d", "conv3d")
def convolution(func: Callable[..., Any], input: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Convolve each entry along the ragged dimension, as those of a batch."""
    return require_contiguous(input, "convolution")._with(func(input._held, *args, **kwargs))


@rule("embedding_bag")
def embedding_bag(
    func: Callable[..., Any], input: NestedTensor, weight: Any, offsets: Any = None, **kwargs: Any
) -> Tensor:
    """Reduce each part as a bag. Raises RuntimeError for offsets beside it, and for parts with
    holes."""
    if offsets is not None or input.dim() != 2:
        raise RuntimeError(
            "embedding_bag(): a nested tensor of indices, (batch, ragged), has its own offsets"
        )
    require_contiguous(input, "embedding_bag")
    return func(input._held, weight, input._offsets[:-1], **kwargs)  # type: ignore[index]


@rule("one_hot")
def one_hot(func: Callable[..., Any], input: NestedTensor, num_classes: int = -1) -> Tensor:
    """Add a further dimension, with 1 at the class."""
    return input._with(func(input._held, num_classes))


@rule("l1_loss", "kl_div")
def loss(func: Callable[..., Any], input: Any, target: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Compute the loss of two tensors that are divided alike: over all values, or of each."""
    for t in (input, target):
        require_contiguous(t, func.__name__)
    if not raggedness_matches(input, target.shape) or input.dim() != target.dim():
        raise RuntimeError(f"{func.__name__}(): the tensors are divided in different ways")
    found = func(input._held, target._held, *args, **kwargs)
    return input._with(found) if kwargs.get("reduction") == "none" else found
