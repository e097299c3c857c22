"""Normalisations: batch, layer, group, instance, RMS, local response.

Each is one op. 16-bit inputs are normalised in float32 and cast back, as PyTorch's kernels do.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from torchlike._core import casts, dtypes, errors, modes
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import (
    Bool,
    Float,
    Input,
    Int,
    Ints,
    OptFloat,
    OptInput,
    Scalar,
    require_tensor,
)
from torchlike._core.tape import saving
from torchlike._ops.checks import floats_only, scalar_type_of
from torchlike._ops.memory_order import of_first, of_loop
from torchlike._ops.nn.norm import running_statistics
from torchlike._ops.nn.pool.pooling import means_only
from torchlike._ops.promotion import in_float32, promoted_float, widened
from torchlike._runtime import mixed_operands, targets
from torchlike.tensor import Tensor

_F = ("nn.functional",)
_SPACES = ("", "nn.functional")


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _standardized(x: Any, over: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    """Return ``(x - mean) / sqrt(var + eps)``, with the mean and the biased variance.

    Two passes, for accuracy. The derivative is written by hand, as differentiating the two passes
    takes four sums over all of x in backward and not two: the derivative of the variance by the
    mean is zero.
    """
    mean = jnp.mean(x, over, keepdims=True)
    centred = x - mean
    var = jnp.mean(centred * centred, over, keepdims=True)
    return centred * lax.rsqrt(var + eps), mean, var


@_standardized.defjvp
def _standardized_jvp(
    over: tuple[int, ...], eps: float, primals: Any, tangents: Any
) -> tuple[Any, ...]:
    (x,), (dx,) = primals, tangents
    y, mean, var = _standardized(x, over, eps)
    dmean = jnp.mean(dx, over, keepdims=True)
    along = jnp.mean(y * dx, over, keepdims=True)
    scale = lax.rsqrt(var + eps)
    return (y, mean, var), (scale * (dx - dmean - y * along), dmean, 2 * along / scale)


def _affine(y: Any, weight: Any, bias: Any, shape: tuple[int, ...]) -> jax.Array:
    if weight is not None:
        y = y * widened(weight).reshape(shape)
    if bias is not None:
        y = y + widened(bias).reshape(shape)
    return y


# -- batch norm ------------------------------------------------------------------------------------


def _check_channels(x: Any, *named: tuple[str, Any]) -> int:
    channels = x.shape[1] if x.ndim > 1 else 0
    for name, value in named:
        if value is not None and value.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {value.size}")
    return channels


def _check_mixed(x: Any, *parameters: Any) -> None:
    for p in parameters:
        if (
            p is not None
            and p.dtype != x.dtype
            and not (x.dtype.itemsize < 4 and p.dtype == np.float32)
        ):
            raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def _checked_channels(x: Any, mean: Any, var: Any, weight: Any, bias: Any) -> int:
    """Return the number of channels, after the checks of every batch norm."""
    channels = _check_channels(
        x, ("running_mean", mean), ("running_var", var), ("weight", weight), ("bias", bias)
    )
    floats_only(x, "batch_norm")
    if x.size:
        _check_mixed(x, mean, var, weight, bias)
    return channels


def _of_batch(result: Any, operands: Any, spec: Any, statics: Any) -> None:
    """Set the result's memory order: channels last where the input is, but row-major where one
    channel makes it both."""
    if not operands[0].is_contiguous():
        of_first(result, operands, spec, statics)


@op(
    "batch_norm_train",
    namespaces=(),
    method=False,
    residuals=True,
    memory_order=_of_batch,
    grad_name="NativeBatchNormBackward0",
    saved_names={"input": "input"},
)
def batch_norm_train(
    input: Input,
    running_mean: OptInput,
    running_var: OptInput,
    weight: OptInput,
    bias: OptInput,
    momentum: Scalar,
    eps: Float,
    by_last: Bool = False,
):
    """Normalise each channel by its batch; gives the output and the new running statistics.

    ``by_last``: computed with the channels as the last axis; see ``_fits_convolutions``.
    """
    channels = _checked_channels(input, running_mean, running_var, weight, bias)
    if not input.size:  # has no mean, and moves none
        shape = (1, channels) + (1,) * (input.ndim - 2)
        y = _affine(widened(input), weight, bias, shape).astype(input.dtype)
        kept = () if running_mean is None else (running_mean, running_var)
        return y, *map(lax.stop_gradient, kept)
    axis = input.ndim - 1 if by_last else 1
    x = jnp.moveaxis(widened(input), 1, axis)
    over = tuple([d for d in range(input.ndim) if d != axis])
    y, mean, var = _standardized(x, over, eps)
    y = _affine(y, weight, bias, mean.shape)
    y = jnp.moveaxis(y, axis, 1).astype(input.dtype)
    if running_mean is None:
        return (y,)
    count = math.prod(x.shape[d] for d in over)
    unbiased = lax.stop_gradient(var) * (count / max(count - 1, 1))
    return y, *(
        _blend(old, new.reshape(-1), momentum)
        for old, new in ((running_mean, lax.stop_gradient(mean)), (running_var, unbiased))
    )


def _fits_convolutions(input: Tensor) -> bool:
    """Return whether a batch norm is computed as convolutions are on the CPU, channels last.

    In a compiled program their transposes then cancel: a step of a net of four convolutions, each
    with batch norm, 45 -> 37 ms, ResNet-18 70 -> 65, MobileNet's blocks (depthwise convolutions are
    no such) 74 -> 75. By itself, as an eager op is, it takes twice as long so: forward and backward
    of (32, 64, 28, 28) 14 instead of 6.8 ms.
    """
    return modes.is_capturing() and input.dim() > 2 and input.shape[0] > 1 and targets.is_xla_cpu()


def _blend(old: Any, new: Any, momentum: Any) -> jax.Array:
    m = jnp.asarray(momentum).astype(new.dtype)
    return lax.stop_gradient(((1 - m) * old + m * new).astype(old.dtype))


@op(
    "batch_norm_eval",
    namespaces=(),
    method=False,
    memory_order=_of_batch,
    grad_name="NativeBatchNormBackward0",
    saved_names={"input": "input"},
)
def batch_norm_eval(
    input: Input,
    running_mean: Input,
    running_var: Input,
    weight: OptInput,
    bias: OptInput,
    eps: Float,
):
    """Normalise each channel by its running statistics."""
    channels = _checked_channels(input, running_mean, running_var, weight, bias)
    shape = (1, channels) + (1,) * (input.ndim - 2) if input.ndim > 1 else (channels,)
    mean = lax.stop_gradient(widened(running_mean)).reshape(shape)
    scale = lax.rsqrt(lax.stop_gradient(widened(running_var)) + eps).reshape(shape)
    return _affine((widened(input) - mean) * scale, weight, bias, shape).astype(input.dtype)


def _batch_norm(
    input: Tensor,
    running_mean: Any,
    running_var: Any,
    weight: Any,
    bias: Any,
    training: Any,
    momentum: Any,
    eps: float,
    moves_them: Any = True,
) -> Tensor:
    if input.dim() < 2:
        if input.numel():
            errors.wrap_dim(1, input.dim())
        return input.clone()  # without elements or channels, as PyTorch
    if not training:
        if running_mean is None or running_var is None:
            missing = "running_mean" if running_mean is None else "running_var"
            raise RuntimeError(f"{missing} must be defined in evaluation mode")
        mean, var = running_statistics.constants((running_mean, running_var), (input, weight, bias))
        return batch_norm_eval(input, mean, var, weight, bias, eps)
    if (running_mean is None) != (running_var is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    mean, var = running_statistics.constants((running_mean, running_var))
    saving.finishing = moves_them and running_mean is not None
    try:
        results = batch_norm_train(
            input,
            mean,
            var,
            weight,
            bias,
            0.0 if momentum is None else momentum,
            eps,
            _fits_convolutions(input),
        )
    finally:
        saving.finishing = False
    if running_mean is not None:
        moved = results[1]._value_now(), results[2]._value_now()
        if mixed_operands.installed.delivered is not None:  # they may have come to lie on a mesh
            storages = running_mean._storage, running_var._storage
            mixed_operands.installed.delivered(storages, moved)
        running_statistics.move(running_mean, moved[0])
        running_statistics.move(running_var, moved[1])
    return results[0]


def _check_batch_size(size: Any) -> None:
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )


@composite("batch_norm", namespaces=_F, method=False, python_signature=True)
def batch_norm(
    input: Tensor,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: Any = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise each channel of (N, C, …) (Ioffe & Szegedy 2015).

    With ``training`` by the batch's mean and biased variance, and the running statistics are moved
    in place by ``momentum`` (toward the unbiased variance); otherwise by the running statistics.
    ValueError when a channel has one value only, and for an ``eps`` that is not positive (in
    evaluation: negative); RuntimeError for sizes that do not match.
    """
    require_tensor(input, "batch_norm")
    if training:
        _check_batch_size(input.shape)
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@composite("batch_norm", method=False, tags="maybe_aliasing_or_mutating")
def batch_norm_toplevel(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: Any,
    momentum: float,
    eps: float,
    cudnn_enabled: Any = False,
) -> Tensor:
    """Call ``nn.functional.batch_norm`` with torch.batch_norm's order of arguments."""
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


# -- instance norm ---------------------------------------------------------------------------------


def _instance_norm(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: Any,
    momentum: float,
    eps: float,
) -> Any:
    """Compute a batch norm of (1, N * C, …), the statistics of a channel averaged over the
    batch."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    size = input.shape
    flat = input.contiguous().view(1, size[0] * size[1], *size[2:])

    def repeated(t: Any) -> Any:
        return None if t is None else t.repeat(size[0])

    mean, var = repeated(running_mean), repeated(running_var)
    out = _batch_norm(
        flat,
        mean,
        var,
        repeated(weight),
        repeated(bias),
        use_input_stats,
        momentum,
        eps,
        moves_them=False,
    )
    if use_input_stats and running_mean is not None:
        for statistic, moved in ((running_mean, mean), (running_var, var)):
            averaged = moved.view(size[0], size[1]).mean(0)
            running_statistics.move(statistic, averaged.to(statistic.dtype)._read())
    return out.view(size)


@composite("instance_norm", namespaces=_F, method=False, python_signature=True)
def instance_norm(
    input: Tensor,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: Any = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise each channel of each instance of (N, C, …) (Ulyanov et al. 2016).

    ValueError when an instance has one spatial element only.
    """
    if use_input_stats and math.prod(tuple(input.shape)[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape}"
        )
    return _instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps
    )


@composite("instance_norm", method=False)
def instance_norm_toplevel(
    input: Tensor,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    use_input_stats: Any,
    momentum: float,
    eps: float,
    cudnn_enabled: Any = False,
) -> Tensor:
    """Call ``nn.functional.instance_norm`` with torch.instance_norm's order of arguments."""
    return _instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps
    )


# -- layer and RMS norm ----------------------------------------------------------------------------


def _check_normalized(
    x: Any, shape: tuple[int, ...], weight: Any, bias: Any, star: str
) -> tuple[int, ...]:
    """Return the normalised axes. RuntimeError in PyTorch's words when the shapes do not match."""
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
            "element, but got normalized_shape = []"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(value.shape)} and normalized_shape = {list(shape)}"
            )
    if x.shape[x.ndim - len(shape) :] != shape or x.ndim < len(shape):
        sizes = ", ".join(map(str, shape))
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*{star}{sizes}], "
            f"but got input of size{list(x.shape)}"
        )
    return tuple(range(x.ndim - len(shape), x.ndim))


@op(
    "layer_norm_op",
    namespaces=(),
    method=False,
    grad_name="NativeLayerNormBackward0",
    saved_names={"input": "input"},
    autocast={"cuda": "float32"},
)
def layer_norm_op(
    input: Input,
    normalized_shape: Ints,
    weight: OptInput = None,
    bias: OptInput = None,
    eps: Float = 1e-05,
):
    """Return ``(input - mean) / sqrt(var + eps) * weight + bias`` over the last dimensions."""
    over = _check_normalized(input, normalized_shape, weight, bias, ", ")
    floats_only(input, "LayerNormKernelImpl")
    for p in (weight, bias):
        if (
            p is not None
            and p.dtype != input.dtype
            and not (input.dtype.itemsize < 4 and p.dtype == np.float32)
        ):
            raise RuntimeError(
                "mixed dtype (CPU): expect parameter to have scalar type of "
                f"{scalar_type_of(input)}"
            )
    y, _, _ = _standardized(widened(input), over, eps)
    return _affine(y, weight, bias, normalized_shape).astype(input.dtype)


@composite("layer_norm", namespaces=_F, method=False, python_signature=True)
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Tensor:
    """Normalise the last dimensions, of shape ``normalized_shape`` (Ba et al. 2016).

    weight and bias have that shape. RuntimeError when the shapes do not match.

    Example:
      >>> torch.nn.functional.layer_norm(torch.ones(2, 4), (4,))
      tensor([[0., 0., 0., 0.],
              [0., 0., 0., 0.]])
    """
    return layer_norm_op(input, _int_tuple(normalized_shape, "layer_norm"), weight, bias, eps)


@composite("layer_norm", method=False)
def layer_norm_toplevel(
    input: Tensor,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-05,
    cudnn_enable: Any = True,
) -> Tensor:
    """Call ``nn.functional.layer_norm``."""
    return layer_norm_op(input, _int_tuple(normalized_shape, "layer_norm"), weight, bias, eps)


def _int_tuple(value: Any, name: str) -> Any:
    if isinstance(value, int):
        raise TypeError(
            f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not int"
        )
    return value


@op(namespaces=_SPACES, method=False, grad_name="FusedRmsNormBackward0", python_signature=True)
def rms_norm(input: Input, normalized_shape: Ints, weight: OptInput = None, eps: OptFloat = None):
    """Return ``input / sqrt(mean(input ** 2) + eps) * weight`` over the last dimensions (Zhang &
    Sennrich 2019); ``eps`` is the dtype's machine epsilon unless given."""
    if not input.ndim:
        raise ValueError("Input tensor must have at least 1 dimensions, but got 0")
    over = _check_normalized(input, normalized_shape, weight, None, "")
    if input.dtype.kind != "c":
        floats_only(input, "rms_norm")
    x = widened(input)
    if eps is None:
        eps = float(ml_dtypes.finfo(x.real.dtype).eps)
    energy = jnp.mean(x * x, over, keepdims=True) + eps
    scale = 1 / jnp.sqrt(energy) if x.dtype.kind == "c" else lax.rsqrt(energy)
    return _affine(x * scale, weight, None, normalized_shape).astype(input.dtype)


# -- group norm ------------------------------------------------------------------------------------


@op(
    "group_norm_op",
    namespaces=(),
    method=False,
    residuals=True,
    memory_order=of_first,
    grad_name="NativeGroupNormBackward0",
    saved_names={"input": "input"},
    autocast={"cuda": "float32"},
)
def group_norm_op(
    input: Input,
    num_groups: Int,
    weight: OptInput = None,
    bias: OptInput = None,
    eps: Float = 1e-05,
):
    """Normalise groups of channels of each instance."""
    if input.ndim < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}"
        )
    channels = input.shape[1]
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    for name, value in (("weight", weight), ("bias", bias)):
        if value is not None and value.shape != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {list(value.shape)} and input of shape "
                f"{list(input.shape)}"
            )
    floats_only(input, "GroupNormKernelImpl")
    rest = input.size // max(input.shape[0] * num_groups, 1)
    grouped = widened(input).reshape(input.shape[0], num_groups, rest)
    y, _, _ = _standardized(grouped, (2,), eps)
    shape = (-1,) + (1,) * (input.ndim - 2)
    return _affine(y.reshape(input.shape), weight, bias, shape).astype(input.dtype)


@composite("group_norm", namespaces=_F, method=False, python_signature=True)
def group_norm(
    input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Tensor:
    """Normalise each of ``num_groups`` groups of channels of (N, C, …) (Wu & He 2018).

    ValueError when a group has one value only.
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    size = input.shape
    _check_batch_size([size[0] * size[1] // num_groups, num_groups, *size[2:]])
    return group_norm_op(input, num_groups, weight, bias, eps)


@composite("group_norm", method=False)
def group_norm_toplevel(
    input: Tensor,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-05,
    cudnn_enabled: Any = True,
) -> Tensor:
    """Call ``nn.functional.group_norm``."""
    return group_norm_op(input, num_groups, weight, bias, eps)


# -- local response norm ---------------------------------------------------------------------------


@op(
    "local_response_norm_op",
    namespaces=(),
    method=False,
    residuals=True,
    memory_order=of_loop,
    grad_name="DivBackward0",
)
def local_response_norm_op(input: Input, size: Int, alpha: Float, beta: Float, k: Float):
    """Return ``input / (k + alpha * mean of squares of neighbouring channels) ** beta``."""
    means_only(input, "avg_pool2d" if input.ndim == 3 else "avg_pool3d_out_frame")
    if dtypes.is_half(input.dtype):
        casts.check_fits(beta, input.dtype)
    integers = input.dtype.kind in "iu"
    squares = input * input
    pads = [(0, 0)] * input.ndim
    pads[1] = (size // 2, (size - 1) // 2)
    padded = jnp.pad(squares, pads)

    def pooled(x: Any) -> Any:
        total = sum(lax.slice_in_dim(x, i, i + input.shape[1], axis=1) for i in range(size))
        # Means of integers are integers in PyTorch's pooling.
        return total // size if integers else total / size

    (mean,) = promoted_float(in_float32(pooled)(padded))
    (x,) = promoted_float(input)
    return x / (mean * alpha + k) ** beta


@composite(namespaces=_F, method=False, python_signature=True)
def local_response_norm(
    input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide by the energy of ``size`` neighbouring channels (Krizhevsky et al. 2012)."""
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got "
            f"{input.dim()} dimensions)"
        )
    if size <= 0:
        raise RuntimeError(
            f"kernel size should be greater than zero, but got kT: {size} kH: 1 kW: 1"
        )
    if not input.numel():
        return input
    return local_response_norm_op(input, size, alpha, beta, k)
