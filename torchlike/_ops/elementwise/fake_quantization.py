"""Rounding to the levels of a quantized type while staying in floats, for training.

The gradient is that of the identity inside the range and 0 outside (straight through).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike._core import dtypes, errors
from torchlike._core.dispatch.registry import NAMESPACES, composite, op
from torchlike._core.dispatch.schema import Input, Int
from torchlike._ops.checks import floats_only
from torchlike._ops.creation.from_data import as_tensor
from torchlike._ops.linalg.dynamic_quantization import quantization_parameters
from torchlike._ops.value_checks import refuse_tensor
from torchlike.tensor import Tensor


def _levels(x: Any, scale: Any, zero_point: Any, whole: bool) -> jax.Array:
    # PyTorch divides in float32, whatever the input.
    inverse = (1 / scale.astype(np.float32)).astype(x.dtype)
    return jnp.round(x * inverse) + zero_point if whole else jnp.round(x * inverse + zero_point)


@partial(jax.custom_jvp, nondiff_argnums=(3, 4, 5, 6))
def _quantized(
    x: Any, scale: Any, zero_point: Any, low: int, high: int, product: Any, whole: bool
) -> jax.Array:
    level = _levels(x, scale, zero_point, whole)
    level = jnp.where(jnp.isnan(level), low, jnp.clip(level, low, high))
    return ((level - zero_point).astype(product) * scale.astype(product)).astype(x.dtype)


@_quantized.defjvp
def _quantized_jvp(
    low: int, high: int, product: Any, whole: bool, primals: Any, tangents: Any
) -> tuple[Any, ...]:
    x, scale, zero_point = primals
    level = _levels(x, scale, zero_point, whole)
    inside = (level >= low) & (level <= high)
    return _quantized(*primals, low, high, product, whole), jnp.where(inside, tangents[0], 0)


def _computed(
    input: Any, scale: Any, zero_point: Any, low: int, high: int, product: Any = None
) -> jax.Array:
    floats_only(input, "fake_quantize_tensor_cachemask_kernel_type_handling")
    kind = np.promote_types(input.dtype, np.float32) if input.dtype.itemsize > 2 else np.float32
    whole = zero_point.dtype.kind in "iu"
    scale, zero_point = scale.astype(np.float32).astype(kind), zero_point.astype(kind)
    product = product or kind
    out = _quantized(input.astype(kind), scale, zero_point, low, high, product, whole)
    return out.astype(input.dtype)


@op(
    "fake_quantize_per_tensor_affine_op",
    namespaces=(),
    method=False,
    elementwise=True,
    grad_name="FakeQuantizePerTensorAffineCachemaskBackward0",
)
def fake_quantize_tensor(input: Input, scale: Input, zero_point: Input, low: Int, high: Int):
    """Quantize and dequantize with one scale for all elements."""
    # PyTorch's kernel for one scale, but not the one for channels, multiplies in float32.
    return _computed(input, scale.reshape(()), zero_point.reshape(()), low, high, np.float32)


@op(
    "fake_quantize_per_channel_affine_op",
    namespaces=(),
    method=False,
    grad_name="FakeQuantizePerChannelAffineCachemaskBackward0",
)
def fake_quantize_channels(
    input: Input, scale: Input, zero_point: Input, axis: Int, low: Int, high: Int
):
    """Quantize and dequantize with a scale for each index of one dimension."""
    shape = [1] * input.ndim
    shape[axis] = -1
    return _computed(input, scale.reshape(shape), zero_point.reshape(shape), low, high)


def _check(zero_point: Any, quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise RuntimeError("`quant_min` should be less than or         equal to `quant_max`.")
    words = "`zero_point` must be between `quant_min` and `quant_max`."
    if isinstance(zero_point, Tensor):
        refuse_tensor(
            zero_point,
            lambda x: (x < quant_min) | (x > quant_max),
            RuntimeError,
            words,
            (quant_min, quant_max),
        )
    elif not quant_min <= zero_point <= quant_max:
        raise RuntimeError(words)


@composite(method=False)
def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """Return the nearest of the values ``(level - zero_point) * scale``, for whole levels from
    ``quant_min`` to ``quant_max``. The gradient is passed on where the level is in that range."""
    if not isinstance(zero_point, Tensor) or quant_min > quant_max:
        _check(zero_point, quant_min, quant_max)
    return fake_quantize_tensor(
        input,
        as_tensor(scale, device=input.device),
        as_tensor(zero_point, device=input.device),
        quant_min,
        quant_max,
    )


@composite(method=False)
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """Quantize and dequantize as ``fake_quantize_per_tensor_affine`` does, with a scale and zero
    point for each index of ``axis``.

    Zero points that are floats lie between levels. RuntimeError for whole ones outside the range,
    or of other numbers than there are channels.
    """
    if zero_point.dtype not in (dtypes.int32, dtypes.float32, dtypes.float16):
        kind = dtypes.scalar_type(zero_point.dtype)
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {kind}")
    if scale.shape != zero_point.shape:
        raise RuntimeError("scale and zero-point need to have the same dimensions")
    if scale.numel() != input.shape[errors.wrap_dim(axis, input.dim())]:
        raise RuntimeError(
            "dimensions of scale and zero-point are not consistent with input tensor"
        )
    if zero_point.dtype is dtypes.int32 or quant_min > quant_max:
        _check(zero_point, quant_min, quant_max)
    if axis < 0:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    return fake_quantize_channels(input, scale, zero_point, axis, quant_min, quant_max)


def _averaged(running: Tensor, seen: Tensor, constant: float) -> Tensor:
    return NAMESPACES[""]["where"](running.isinf(), seen, running + constant * (seen - running))


@composite(method=False)
def fused_moving_avg_obs_fake_quant(
    input: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    """Observe a tensor's range and round the tensor to levels, by two switches (tensors of one
    element).

    Where ``observer_on``, the moving averages ``running_min`` and ``running_max``, and ``scale``
    and ``zero_point`` that follow from them, are written in place; where ``fake_quant_on``, the
    result is ``fake_quantize_per_tensor_affine`` with these, else ``input``. With
    ``per_row_fake_quant`` there is one of each for every index of ``ch_axis``; empty averages are
    given that size.
    """
    choose = NAMESPACES[""]["where"]
    x = input.detach()
    if per_row_fake_quant:
        rows = x.movedim(ch_axis, 0).flatten(1)
        low, high = rows.amin(1), rows.amax(1)
        if running_min.numel() == 0:
            for kept, value in (
                (running_min, float("inf")),
                (running_max, -float("inf")),
                (scale, 1),
                (zero_point, 0),
            ):
                kept.resize_(low.shape).fill_(value)
    else:
        low, high = x.amin(), x.amax()
    observed = observer_on.reshape(()) == 1
    low = _averaged(running_min, low.reshape(running_min.shape), averaging_const)
    high = _averaged(running_max, high.reshape(running_max.shape), averaging_const)
    step, zero = quantization_parameters(low, high, quant_min, quant_max, symmetric_quant)
    for kept, new in ((running_min, low), (running_max, high), (scale, step), (zero_point, zero)):
        kept.copy_(choose(observed, new.reshape(kept.shape), kept))
    if per_row_fake_quant:
        out = fake_quantize_channels(input, scale, zero_point, ch_axis, quant_min, quant_max)
    else:
        out = fake_quantize_tensor(input, scale, zero_point, quant_min, quant_max)
    return choose(fake_quant_on.reshape(()) == 1, out, input)
