"""PyTorch's lower layer by its own names: normalisations with their statistics, backward formulas,
samplers with numbered modes, dropout with its mask.

Code that was written against the dispatcher calls these; each is a few words on an op of another
file.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import dtypes
from torchlike._core.dispatch.registry import NAMESPACES, composite, op
from torchlike._core.dispatch.schema import Bool, Float, Input, Shape, ints
from torchlike._ops.nn.image.resampling import grid_sample, interpolate_op
from torchlike._ops.nn.norm import running_statistics
from torchlike._ops.nn.norm.normalization import batch_norm_eval, batch_norm_train
from torchlike._ops.outputs import write_out
from torchlike._ops.random.dropout import apply_noise, keep_mask
from torchlike._ops.random.sampling import order_of_examples
from torchlike._ops.shape.joining import cat
from torchlike.tensor import Tensor, wrap

_functional = NAMESPACES["nn.functional"]

# -- normalisations --------------------------------------------------------------------------------


@op(
    "moments",
    namespaces=(),
    method=False,
    grad_name="NativeGroupNormBackward0",
    saved_names={"input": "input"},
)
def moments(input: Input, over: Shape, eps: Float, half: Bool):
    """Return the mean and ``1 / sqrt(var + eps)`` over dimensions, which stay as 1; computed in
    float32 for half types, and returned so unless ``half``."""
    x = input.astype(np.float32) if input.dtype.itemsize == 2 else input
    mean = jnp.mean(x, over, keepdims=True)
    rstd = lax.rsqrt(jnp.mean((x - mean) ** 2, over, keepdims=True) + eps)
    return (mean.astype(input.dtype), rstd.astype(input.dtype)) if half else (mean, rstd)


def _batch_normed(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: Any,
    momentum: Any,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    parameter = next((t for t in (weight, running_mean) if t is not None), input)
    mixed = parameter.dtype is not input.dtype
    if not training:
        # PyTorch's meta tensors say otherwise than its CPU.
        empty = input.new_empty(input.shape[1] if input.is_meta else 0, dtype=parameter.dtype)
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
        mean, var = running_statistics.constants((running_mean, running_var), (input, weight, bias))
        normed = batch_norm_eval(input, mean, var, weight, bias, eps)
        return normed, empty, empty.clone()
    mean, var = running_statistics.constants((running_mean, running_var))
    results = batch_norm_train(input, mean, var, weight, bias, momentum, eps)
    mean, rstd = moments(input.detach(), (0, *range(2, input.dim())), eps, not mixed)
    if running_mean is not None:
        running_statistics.move(running_mean, results[1]._value_now())
        running_statistics.move(running_var, results[2]._value_now())
    return results[0], mean.flatten(), rstd.flatten()


@composite(method=False)
def native_batch_norm(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: Any,
    momentum: float,
    eps: float,
    *,
    out: Any = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalise by the batch in training, which moves the running statistics in place, else by
    these, and return the result, the batch's mean and ``1 / sqrt(var + eps)`` (else empty).

    In evaluation the two tensors of ``out=`` for these stay as they are. RuntimeError when they
    are not vectors.
    """
    results = _batch_normed(input, weight, bias, running_mean, running_var, training, momentum, eps)
    if out is None or training:
        return write_out(out, results)
    for unused in out[1:]:
        if unused.dim() != 1:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {unused.dim()}")
    return write_out(out[0], results[0]), out[1], out[2]


@composite(method=False)
def _native_batch_norm_legit(
    input: Tensor, weight: Any, bias: Any, *rest: Any, out: Any = None, **named: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """Call ``native_batch_norm``; the two running statistics may be left out."""
    with_statistics = len(rest) + len(named) == 5
    names = ("running_mean", "running_var") if with_statistics else ()
    names += ("training", "momentum", "eps")
    values = dict(zip(names, rest, strict=False)) | named
    return write_out(
        out,
        _batch_normed(
            input,
            weight,
            bias,
            values.get("running_mean"),
            values.get("running_var"),
            values["training"],
            values["momentum"],
            values["eps"],
        ),
    )


@composite(namespaces=("aten",), method=False)
def _batch_norm_with_update(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
    *,
    out: Any = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Call ``native_batch_norm`` in training, with an empty workspace as fourth result."""
    found = _batch_normed(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return write_out(out, (*found, input.new_empty(0, dtype=dtypes.uint8)))


@composite(method=False, autocast={"cuda": "float32"})
def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Any, bias: Any, eps: float, *, out: Any = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the layer norm, with the mean and ``1 / sqrt(var + eps)`` of each sample."""
    shape = ints((normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape)
    normed = _functional["layer_norm"](input, shape, weight, bias, eps)
    over = tuple(range(input.dim() - len(shape), input.dim()))
    mixed = weight is not None and weight.dtype is not input.dtype
    return write_out(out, (normed, *moments(input.detach(), over, eps, not mixed)))


@composite(method=False)
def native_group_norm(
    input: Tensor,
    weight: Any,
    bias: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
    *,
    out: Any = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the group norm of (N, C, …), with the mean and ``1 / sqrt(var + eps)`` (N, group)."""
    normed = _functional["group_norm"](input, group, weight, bias, eps)
    grouped = input.reshape(N, group, -1 if N * C * HxW else 0)
    mixed = weight is not None and weight.dtype is not input.dtype
    mean, rstd = moments(grouped, (2,), eps, not mixed)
    return write_out(out, (normed, mean.squeeze(2), rstd.squeeze(2)))


# -- dropout ---------------------------------------------------------------------------------------


@composite(method=False)
def native_dropout(input: Tensor, p: float, train: Any) -> tuple[Tensor, Tensor]:
    """Return the input after dropout, and the mask of the elements that were kept."""
    if train is not None and not train:
        return input.clone(), input.new_ones(input.shape, dtype=dtypes.bool)
    if order_of_examples(input) is None:
        mask = wrap(keep_mask(input, p))
    else:
        mask = input.detach().clone().bernoulli_(1 - p).to(dtypes.bool)
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return apply_noise(apply_noise(input, mask), scale), mask


@composite(namespaces=("", "aten"), method=False)
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
    """Return ``grad_output * mask * scale``."""
    return grad_output * mask.to(grad_output.dtype) * scale


# -- softmax ---------------------------------------------------------------------------------------


@composite(method=False)
def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any, *, grad_input: Any = None
) -> Tensor:
    """Return the gradient of softmax from its output: ``output * (grad - sum(grad * output))``."""
    product = grad_output * output
    total = product.sum(dim, keepdim=True)
    return write_out(grad_input, (product - output * total).to(input_dtype))


@composite(method=False)
def _log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any, *, out: Any = None
) -> Tensor:
    """Return the gradient of log_softmax from its output: ``grad - exp(output) * sum(grad)``."""
    total = grad_output.sum(dim, keepdim=True)
    return write_out(out, (grad_output - output.exp() * total).to(input_dtype))


@composite(namespaces=("aten",), method=False)
def _safe_softmax(self: Any, dim: int, dtype: Any = None) -> Tensor:
    """Return a softmax that is 0 along ``dim`` where every element is -inf."""
    lost = (self == -math.inf).all(dim, keepdim=True)
    return self.masked_fill(lost, 0).softmax(dim, dtype=dtype).masked_fill(lost, 0)


# -- samplers --------------------------------------------------------------------------------------

_INTERPOLATIONS = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _sampler(name: str, dims: int | None, **options: Any) -> None:
    def sampler(
        input: Tensor,
        grid: Tensor,
        interpolation_mode: int,
        padding_mode: int,
        align_corners: Any,
    ) -> Tensor:
        if dims is not None and input.dim() != dims + 2:
            raise RuntimeError(
                f"{name}(): expected {dims + 2}D input and grid with same number of dimensions, "
                f"but got input with sizes {list(input.shape)} and grid with sizes "
                f"{list(grid.shape)}"
            )
        return grid_sample(
            input,
            grid,
            _INTERPOLATIONS[interpolation_mode],
            _PADDINGS[padding_mode],
            bool(align_corners),
        )

    sampler.__doc__ = "Call ``nn.functional.grid_sample`` with its modes as numbers."
    composite(name, method=False, **options)(sampler)


_sampler("grid_sampler", None, autocast={"cpu": "float32", "cuda": "widest"})
_sampler("grid_sampler_2d", 2)
_sampler("grid_sampler_3d", 3)


def _antialiased(name: str, mode: str) -> None:
    def upsample(
        input: Tensor,
        output_size: Any = None,
        align_corners: Any = False,
        *factors: Any,
        scale_factors: Any = None,
        scales_h: Any = None,
        scales_w: Any = None,
    ) -> Tensor:
        if len(factors) == 1:
            scale_factors = factors[0]
        elif factors:
            scales_h, scales_w = factors
        if scale_factors is not None:
            scales = tuple(scale_factors)
            size = None
        else:
            scales, size = (scales_h, scales_w), ints(output_size)
        return upsampled(input, size, scales, mode, bool(align_corners))

    upsample.__doc__ = f"Call ``nn.functional.interpolate`` by {mode} interpolation with antialias."
    composite(name, namespaces=("", "aten"), method=False)(upsample)


def upsampled(input: Tensor, size: Any, scales: Any, mode: str, align_corners: bool) -> Tensor:
    """Resample to a size, or by factors; with both, the factors say where to read."""
    if size is None:
        size = tuple(math.floor(n * s) for n, s in zip(input.shape[2:], scales, strict=True))
    known = tuple(float(s) if s and s > 0 else None for s in scales)
    return interpolate_op(input, size, known, mode, align_corners, True, False)


_antialiased("_upsample_bilinear2d_aa", "bilinear")
_antialiased("_upsample_bicubic2d_aa", "bicubic")


# -- pooling ---------------------------------------------------------------------------------------


@composite(namespaces=("", "aten"), method=False)
def max_pool2d_with_indices_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: Any,
    indices: Tensor,
) -> Tensor:
    """Return the gradient of a max pool: each element of ``grad_output`` goes where its maximum
    was."""
    planes = self.new_zeros(self.shape).flatten(-2)
    return planes.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).reshape(self.shape)


# -- indexing --------------------------------------------------------------------------------------


def _clamped(indices: Any, shape: Any, name: str) -> list[Any]:
    if len(indices) > len(shape):
        raise IndexError(
            f"too many indices for tensor of dimension {len(shape)} (got {len(indices)})"
        )
    for index in indices:
        if index is not None and index.dtype is not dtypes.int64:
            raise IndexError(f"{name}: tensors used as indices must be long tensors")
    return [
        None if index is None else index.clamp(-n, max(n - 1, 0))
        for index, n in zip(indices, shape, strict=False)
    ]


@composite(method=False)
def _unsafe_masked_index(input: Any, mask: Tensor, indices: Any, fill: Any) -> Tensor:
    """Return ``input[indices]`` where ``mask`` holds, else ``fill``; indices elsewhere may be
    anything."""
    places = tuple(
        slice(None) if i is None else i
        for i in _clamped(indices, input.shape, "_unsafe_masked_index")
    )
    if not input.numel():
        return input.new_full(
            tuple(np.broadcast_shapes(*(tuple(i.shape) for i in places if isinstance(i, Tensor)))),
            fill,
        )
    return input[places].masked_fill(mask.logical_not(), fill)


@composite(method=False)
def _unsafe_masked_index_put_accumulate(
    input: Tensor, mask: Tensor, indices: Any, values: Tensor
) -> Tensor:
    """Return ``input`` with ``values`` added at ``indices`` where ``mask`` holds."""
    if not input.numel():
        return input.clone()
    places = [
        slice(None) if i is None else i
        for i in _clamped(indices, input.shape, "_unsafe_masked_index_put_accumulate")
    ]
    kept = values.masked_fill(mask.logical_not(), 0)
    return input.index_put(tuple(places), kept, accumulate=True)


# -- joining ---------------------------------------------------------------------------------------


@composite(method=False)
def _chunk_cat(tensors: Any, dim: int, num_chunks: int, *, out: Any = None) -> Tensor:
    """Pad each tensor with zeros to ``num_chunks`` equal chunks along ``dim``; the chunks of one
    number are flattened and joined: (*leading, num_chunks, total).

    RuntimeError for no tensors, no chunks, or leading sizes that differ.
    """
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    first = tensors[0]
    at = dim + first.dim() if dim < 0 else dim
    for t in tensors:
        if not t.numel():
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if at >= t.dim() or (dim < 0 and t.dim() != first.dim()):
            raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
        if t.shape[:at] != first.shape[:at]:
            raise RuntimeError(
                "_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors"
            )
    parts = []
    for t in tensors:
        short = -t.shape[at] % num_chunks
        if short:
            t = cat([t, t.new_zeros((*t.shape[:at], short, *t.shape[at + 1 :]))], at)
        parts.append(t.reshape(*t.shape[:at], num_chunks, -1))
    return write_out(out, cat(parts, at + 1))
