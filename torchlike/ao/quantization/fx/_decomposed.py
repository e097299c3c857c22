"""``torch.ops.quantized_decomposed``: rounding to levels of few bits, and back, on plain tensors.

PyTorch has them in Python too: quantized exports and torchao call them by name. Scale and zero
point are arguments, of the whole tensor (``per_tensor``), of each index along an axis
(``per_channel``), of each last dimension (``per_token``), or of so many neighbours in a row
(``per_channel_group``). Gradients are those of what an operator computes: rounding has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from torchlike._compat import qschemes
from torchlike._core import dtypes, modes
from torchlike._core.dispatch.registry import NAMESPACES
from torchlike._ops.creation.from_data import tensor
from torchlike.ao.quantization.qparams import check_range, determine_qparams
from torchlike.autograd.function import Function
from torchlike.library.registration import Library
from torchlike.tensor import Tensor

_torch = NAMESPACES[""]
#: PyTorch's name of it, by which other libraries define more.
quantized_decomposed_lib = Library("quantized_decomposed", "DEF")

_LEVELS = "int quant_min, int quant_max, ScalarType dtype"
_ONE = "Tensor input, Tensor scale, Tensor zero_point"
_MANY = "Tensor input, Tensor scales, Tensor zero_points"
_LEVELS_TENSORS = "Tensor quant_min, Tensor quant_max, ScalarType dtype"
_CHOOSE = "Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype"
_OPTIONAL_ZEROS = "Tensor input, Tensor scales, Tensor? zero_points"
_SCHEMAS = f"""
quantize_per_tensor(Tensor input, float scale, int zero_point, {_LEVELS}) -> Tensor
quantize_per_tensor.tensor({_ONE}, {_LEVELS}) -> Tensor
quantize_per_tensor.tensor2({_ONE}, {_LEVELS_TENSORS}) -> Tensor
dequantize_per_tensor(Tensor input, float scale, int zero_point, {_LEVELS}, *, ScalarType? out_dtype=None) -> Tensor
dequantize_per_tensor.tensor({_ONE}, {_LEVELS}, *, ScalarType? out_dtype=None) -> Tensor
dequantize_per_tensor.tensor2({_ONE}, {_LEVELS_TENSORS}, *, ScalarType? out_dtype=None) -> Tensor
choose_qparams.tensor({_CHOOSE}) -> (Tensor, Tensor)
choose_qparams_symmetric.tensor({_CHOOSE}) -> (Tensor, Tensor)
quantize_per_channel({_MANY}, int axis, {_LEVELS}) -> Tensor
dequantize_per_channel({_OPTIONAL_ZEROS}, int axis, {_LEVELS}, *, ScalarType? out_dtype=None) -> Tensor
choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)
_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType dtype) -> (Tensor, Tensor)
choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> (Tensor, Tensor)
quantize_per_token({_MANY}, {_LEVELS}) -> Tensor
dequantize_per_token({_MANY}, {_LEVELS}, ScalarType output_dtype) -> Tensor
quantize_per_channel_group({_MANY}, {_LEVELS}, int group_size) -> Tensor
dequantize_per_channel_group({_OPTIONAL_ZEROS}, {_LEVELS}, int group_size, ScalarType output_dtype) -> Tensor
fake_quant_per_channel({_MANY}, int axis, int quant_min, int quant_max) -> Tensor
convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor
"""  # noqa: E501 - one schema a line

for _schema in _SCHEMAS.strip().splitlines():
    quantized_decomposed_lib.define(_schema)


def _kernel(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function that computes the operators of these names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            quantized_decomposed_lib.impl(name, function, "CompositeExplicitAutograd")
        return function

    return register


# -- checks ----------------------------------------------------------------------------------------

_INTEGERS = (dtypes.uint8, dtypes.int8, dtypes.uint16, dtypes.int16, dtypes.int32)
_FLOATS = (dtypes.float8_e5m2, dtypes.float8_e4m3fn)


def _check_levels(quant_min: int, quant_max: int, dtype: Any) -> None:
    if dtype not in _INTEGERS + _FLOATS:
        raise ValueError(f"Unsupported dtype: {dtype}")
    info: Any = dtypes.finfo(dtype) if dtype in _FLOATS else dtypes.iinfo(dtype)
    least, most = int(info.min), int(info.max)
    if quant_min < least:
        raise AssertionError(
            f"quant_min out of bounds for dtype, quant_min_lower_bound: {least} quant_min: "
            f"{quant_min}"
        )
    if quant_max > most:
        raise AssertionError(
            f"quant_max out of bounds for dtype, quant_max_upper_bound: {most} quant_max: "
            f"{quant_max}"
        )


def _float32(x: Tensor) -> Tensor:
    if x.dtype in (dtypes.float16, dtypes.bfloat16):
        return x.to(dtypes.float32)
    _check_float32(x)
    return x


def _check_float32(x: Tensor) -> None:
    if x.dtype is not dtypes.float32:
        raise AssertionError(
            f"Expecting input to have dtype torch.float32, but got dtype: {x.dtype}"
        )


def _scalar(value: Any, what: str) -> Any:
    """Return a number as it is, and a tensor of one element without dimensions."""
    if not isinstance(value, Tensor):
        return value
    if value.numel() != 1:
        raise AssertionError(
            f"Expecting {what} tensor to be one element, but received : {value.numel()}"
        )
    return value.reshape(())


def _check_dtype(x: Tensor, dtype: Any) -> None:
    if x.dtype is not dtype:
        raise AssertionError(f"Expecting input to have dtype: {dtype}, but got {x.dtype}")


def _along(x: Tensor, axis: int, values: Tensor) -> Tensor:
    """Reshape one value for each index of an axis, so that it broadcasts."""
    if axis >= x.dim():
        raise AssertionError(f"Expecting axis to be < {x.dim()}")
    shape = [1] * x.dim()
    shape[axis] = values.shape[0]
    return values.reshape(shape)


def _per_token_quant_qparam_dim_check(input: Tensor, scales: Tensor, zero_points: Tensor) -> None:
    """Raise AssertionError unless there is a scale and a zero point for each token."""
    tokens = math.prod(input.shape[:-1])
    for name, given in (("scales", scales), ("zero_points", zero_points)):
        if tokens != given.numel():
            raise AssertionError(f"num_tokens: {tokens} {name}: {given.shape}")


def _group(x: Tensor, scales: Tensor, group_size: int, what: str) -> int:
    """Return the size of the groups of a matrix's rows: a whole row where one scale is for it."""
    if group_size <= 1:
        raise AssertionError("group_size must be > 1")
    columns = x.shape[-1]
    if group_size > columns and scales.shape[-1] == 1:
        group_size = columns
    if columns % group_size:
        raise AssertionError(f"{what}.shape[-1] must be divisible by group_size")
    if x.dim() != 2:
        raise AssertionError(f"{what} must be 2-dimensional")
    return group_size


# -- the whole tensor ------------------------------------------------------------------------------


@_kernel("quantize_per_tensor", "quantize_per_tensor.tensor", "quantize_per_tensor.tensor2")
def quantize_per_tensor(
    input: Tensor, scale: Any, zero_point: Any, quant_min: Any, quant_max: Any, dtype: Any
) -> Tensor:
    """Return ``round(input / scale) + zero_point``, within ``quant_min`` and ``quant_max``, as
    ``dtype``.

    AssertionError for another input than of float32 or 16 bits, for limits that ``dtype`` does not
    hold, and for a scale or zero point of several elements.
    """
    zero_point, scale = _scalar(zero_point, "zero_point"), _scalar(scale, "scale")
    input = _float32(input)
    least, most = (q.item() if isinstance(q, Tensor) else q for q in (quant_min, quant_max))
    _check_levels(least, most, dtype)
    return ((input * (1.0 / scale)).round() + zero_point).clamp(least, most).to(dtype)


@_kernel("dequantize_per_tensor", "dequantize_per_tensor.tensor", "dequantize_per_tensor.tensor2")
def dequantize_per_tensor(
    input: Tensor,
    scale: Any,
    zero_point: Any,
    quant_min: Any,
    quant_max: Any,
    dtype: Any,
    *,
    out_dtype: Any = None,
) -> Tensor:
    """Return ``(input - zero_point) * scale`` as ``out_dtype``, by default float32.

    AssertionError for an input that is not of ``dtype``; ValueError for a dtype of other kind.
    """
    zero_point, scale = _scalar(zero_point, "zero_point"), _scalar(scale, "scale")
    _check_dtype(input, dtype)
    if dtype not in _INTEGERS + _FLOATS:
        raise ValueError(f"Unsupported dtype in dequantize_per_tensor: {dtype}")
    return (input.to(out_dtype or dtypes.float32) - zero_point) * scale


def _chosen(
    input: Tensor, quant_min: int, quant_max: int, eps: float, dtype: Any, scheme: Any
) -> tuple[Tensor, Tensor]:
    if input.dtype not in (dtypes.float32, dtypes.float16, dtypes.bfloat16):
        raise AssertionError(
            f"Expecting input to have dtype torch.float32/16/b16, but got dtype: {input.dtype}"
        )
    if dtype not in _INTEGERS + _FLOATS:
        raise AssertionError(
            f"Expecting target dtype to be one of {_INTEGERS + _FLOATS}, but got: {dtype}"
        )
    check_range(quant_min, quant_max)
    low, high = _torch["aminmax"](input)
    scale, zero_point = determine_qparams(
        low,
        high,
        quant_min,
        quant_max,
        scheme,
        tensor([eps], device=input.device),
        128 if dtype is dtypes.uint8 else 0,
    )
    return scale.to(dtypes.float64), zero_point.to(dtypes.int64)


@_kernel("choose_qparams.tensor")
def choose_qparams_tensor(
    input: Tensor, qmin: int, qmax: int, eps: float, dtype: Any
) -> tuple[Tensor, Tensor]:
    """Return the scale (float64) and zero point (int64), each (1,), with which the levels cover the
    input.

    AssertionError for an input or target of another dtype, and for levels without 0.
    """
    return _chosen(input, qmin, qmax, eps, dtype, qschemes.per_tensor_affine)


@_kernel("choose_qparams_symmetric.tensor")
def choose_qparams_symmetric_tensor(
    input: Tensor, qmin: int, qmax: int, eps: float, dtype: Any
) -> tuple[Tensor, Tensor]:
    """Do ``choose_qparams_tensor`` with 0 in the middle."""
    return _chosen(input, qmin, qmax, eps, dtype, qschemes.per_tensor_symmetric)


# -- channels --------------------------------------------------------------------------------------


@_kernel("quantize_per_channel")
def quantize_per_channel(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: Any,
) -> Tensor:
    """Do ``quantize_per_tensor`` with a scale and a zero point for each index along ``axis``."""
    input = _float32(input)
    scales, zero_points = _along(input, axis, scales), _along(input, axis, zero_points)
    _check_levels(quant_min, quant_max, dtype)
    rounded = (input * (1.0 / scales)).round() + zero_points
    return rounded.clamp(quant_min, quant_max).to(dtype)


@_kernel("dequantize_per_channel")
def dequantize_per_channel(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    *,
    out_dtype: Any = None,
) -> Tensor:
    """Do ``dequantize_per_tensor`` with a scale and a zero point for each index along ``axis``."""
    if input.dtype is not dtype:
        raise AssertionError(
            f"Expecting input to have dtype: {dtype}, but got dtype: {input.dtype}"
        )
    scales = _along(input, axis, scales)
    _check_levels(quant_min, quant_max, dtype)
    if zero_points is not None:
        input = input - _along(input, axis, zero_points)
    return (input * scales).to(out_dtype or dtypes.float32)


# -- tokens ----------------------------------------------------------------------------------------


@_kernel("choose_qparams_per_token")
def choose_qparams_per_token(input: Tensor, dtype: Any) -> tuple[Tensor, Tensor]:
    """Return the scales and zero points (all 0) of each token, (…, 1), with 0 in the middle of
    int8's levels.

    NotImplementedError for another dtype.
    """
    scales = input.abs().amax(dim=-1, keepdim=True)
    if scales.dtype is dtypes.float16:
        scales = scales.to(dtypes.float32)
    if dtype is not dtypes.int8:
        raise NotImplementedError(f"unsupported dtype in choose_qparams_per_token: {dtype}")
    scales = scales.clamp(min=1e-5).div(127)
    return scales, _torch["zeros_like"](scales)


@_kernel("choose_qparams_per_token_asymmetric", "_choose_qparams_per_token_asymmetric_impl")
def choose_qparams_per_token_asymmetric(input: Tensor, dtype: Any) -> tuple[Tensor, Tensor]:
    """Return the scales (float64) and zero points (int64) of each token, (…, 1), with which the
    levels of int8 cover it and 0. Whatever ``dtype`` is, as in PyTorch."""
    least, most = -128, 127
    low = input.amin(dim=-1, keepdim=True).clamp(max=0)
    high = input.amax(dim=-1, keepdim=True).clamp(min=0)
    scale = ((high - low) / float(most - least)).clamp(min=dtypes.finfo(dtypes.float32).eps)
    low, high = low / scale, high / scale
    # From whichever end of the range is met with the smaller error.
    zero_point = _torch["where"]((least + low) + (most + high) > 0, least - low, most - high)
    zero_point = zero_point.clamp(least, most).round()
    return scale.to(dtypes.float64), zero_point.to(dtypes.int64)


_choose_qparams_per_token_asymmetric_impl = choose_qparams_per_token_asymmetric


@_kernel("quantize_per_token")
def quantize_per_token(
    input: Tensor, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: Any
) -> Tensor:
    """Do ``quantize_per_tensor`` with a scale and a zero point for each token, (…, 1)."""
    _check_levels(quant_min, quant_max, dtype)
    _per_token_quant_qparam_dim_check(input, scales, zero_points)
    rounded = input.mul(1.0 / scales).add(zero_points).round()
    return rounded.clamp(quant_min, quant_max).to(dtype)


@_kernel("dequantize_per_token")
def dequantize_per_token(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    output_dtype: Any = dtypes.float32,
) -> Tensor:
    """Do ``dequantize_per_tensor`` with a scale and a zero point for each token, (…, 1)."""
    return ((input - zero_points) * scales).to(output_dtype)


# -- groups of a row -------------------------------------------------------------------------------


@_kernel("quantize_per_channel_group")
def quantize_per_channel_group(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    group_size: int = 128,
) -> Tensor:
    """Do ``quantize_per_tensor`` of a matrix with a scale and a zero point for every ``group_size``
    neighbours of a row, (rows, groups).

    AssertionError for other shapes, and for NaN (of which a compiled function cannot tell).
    """
    group_size = _group(input, scales, group_size, "input")
    grouped = input.reshape(-1, group_size)
    known = not modes.is_capturing() and input.device.type != "meta"
    if known and bool(grouped.isnan().any()):
        raise AssertionError("to_quant must not contain NaNs")
    rounded = grouped.mul(1.0 / scales.reshape(-1, 1)).add(zero_points.reshape(-1, 1)).round()
    return rounded.clamp(quant_min, quant_max).to(dtype).reshape(input.shape)


@_kernel("dequantize_per_channel_group")
def dequantize_per_channel_group(
    w_int8: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    quant_min: int,
    quant_max: int,
    dtype: Any,
    group_size: int = 128,
    output_dtype: Any = dtypes.float32,
) -> Tensor:
    """Do ``dequantize_per_tensor`` of a matrix with a scale and a zero point for every
    ``group_size`` neighbours of a row. AssertionError for other shapes."""
    group_size = _group(w_int8, scales, group_size, "w_int8")
    grouped = w_int8.reshape(-1, group_size)
    if zero_points is not None:
        grouped = grouped.sub(zero_points.reshape(-1, 1))
    return grouped.mul(scales.reshape(-1, 1)).reshape(w_int8.shape).to(output_dtype)


# -- training --------------------------------------------------------------------------------------


class FakeQuantPerChannel(Function):
    """Rounding to levels and back; the gradient passes where the input was within the levels."""

    @staticmethod
    def forward(
        ctx: Any,
        input: Tensor,
        scales: Tensor,
        zero_points: Tensor,
        axis: int,
        quant_min: int,
        quant_max: int,
    ) -> Tensor:
        _check_float32(input)
        scales = _along(input, axis, scales.to(dtypes.float32))
        zero_points = _along(input, axis, zero_points.to(dtypes.int32))
        level = (input * (1.0 / scales)).round() + zero_points
        ctx.save_for_backward((level >= quant_min) & (level <= quant_max))
        return (level.clamp(quant_min, quant_max) - zero_points) * scales

    @staticmethod
    def backward(ctx: Any, gy: Tensor) -> Any:
        (within,) = ctx.saved_tensors
        return gy * within, None, None, None, None, None


def fake_quant_per_channel(
    input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """Compute ``dequantize_per_channel(quantize_per_channel(input))``, with a gradient."""
    return FakeQuantPerChannel.apply(input, scales, zero_points, axis, quant_min, quant_max)


_kernel("fake_quant_per_channel")(fake_quant_per_channel)


@_kernel("convert_element_type.no_fuse")
def convert_element_type(input: Tensor, dtype: Any) -> Tensor:
    """Convert the input to another dtype."""
    return input.to(dtype)
