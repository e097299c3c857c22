"""Convolutions, forward and transposed, in the lowering that XLA's CPU backend runs best.

Measured (two x86-64 cores, float32, forward / backward in ms):

- 512 channels on a 2x2 output, batch 4: XLA's convolution 86 / 55; im2col + matmul 0.7 / 1.4;
- 256 channels on 4x4: 0.79 / 1.69; im2col 0.52 / 0.85. From 8x8 on the convolution wins;
- 1x1 kernels, 64 -> 128 channels on 16x16: 0.29 / 1.32; as a matmul 0.42 / 0.78;
- a first layer (1 -> 32 channels, 28x28): 0.78 in PyTorch's channels-first order, 0.40 transposed;
- whole training step (2 convolutions, 2 pools, batch 32, 28x28): 6.7 ms in channels-first order,
  5.5 with every convolution and pool in channels-last order between transposes, which XLA cancels
  between neighbours; written channels-last by hand 5.4. Alone, an op takes as long either way.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike.dispatch.registry import composite, op
from torchlike.dispatch.schema import Input, Int, IntOrInts, Kind, OptInput, ints
from torchlike.ops.checks import scalar_type_of
from torchlike.tensor import Tensor

_SPACES = ("", "nn.functional")
#: Outputs of at most this many positions go through im2col (4x4: see above).
_TINY_OUTPUT = 16
_C_TYPES = {"Float": "float", "Double": "double", "Long": "long int", "Int": "int",
            "Half": "c10::Half", "BFloat16": "c10::BFloat16"}  # fmt: skip


# -- arguments -------------------------------------------------------------------------------------

#: A padding argument: a number, one for each dimension, or "same" / "valid".
_Padding = Annotated[
    Any, Kind("int, tuple of ints or str", lambda v: v if isinstance(v, str) else int_or_ints(v))
]


def int_or_ints(value: Any) -> Any:
    """An int, or a tuple of ints. TypeError for anything else."""
    return operator.index(value) if hasattr(value, "__index__") else ints(value)


def _expanded(value: Any, n: int, name: str) -> tuple[int, ...]:
    """One value for each of n spatial dimensions, from one for all or a list of n."""
    if isinstance(value, int):
        return (value,) * n
    if len(value) == 1:
        return tuple(value) * n
    if len(value) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the "
            f"convolution dimensions, but got {name}={list(value)}"
        )
    return tuple(value)


def _check_common(
    x: Any, weight: Any, bias: Any, n: int, name: str, stride: Any, padding: Any, dilation: Any,
    groups: int,
) -> None:  # fmt: skip
    if x.ndim not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got input "
            f"of size: {list(x.shape)}"
        )
    if weight.ndim != n + 2:
        raise RuntimeError(
            f"Expected {n + 2}-dimensional weight for {n}-dimensional {name}, but got weight of "
            f"size {list(weight.shape)}"
        )
    if x.dtype != weight.dtype:
        kinds = f"torch.{scalar_type_of(x)}Tensor", f"torch.{scalar_type_of(weight)}Tensor"
        raise RuntimeError(
            f"Input type ({kinds[0]}) and weight type ({kinds[1]}) should be the same or input "
            "should be a MKLDNN tensor and weight is a dense tensor"
        )
    if bias is not None and bias.dtype != x.dtype:
        found = [_C_TYPES.get(scalar_type_of(t), scalar_type_of(t)) for t in (x, bias)]
        raise RuntimeError(f"Input type ({found[0]}) and bias type ({found[1]}) should be the same")
    if x.dtype == np.bool_:
        raise NotImplementedError(f"\"slow_{name}_cpu\" not implemented for 'Bool'")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("non-positive dilation is not supported")


def _check_bias(bias: Any, channels: int, weight: Any, given: str) -> None:
    if bias is not None and bias.shape != (channels,):
        size = list(bias.shape) if bias.ndim != 1 else f"[{bias.shape[0]}]"
        raise RuntimeError(
            f"Given {given}weight of size {list(weight.shape)}, expected bias to be 1-dimensional "
            f"with {channels} elements, but got bias of size {size} instead"
        )


def _check_channels(x: Any, weight: Any, groups: int) -> None:
    """Channel errors of a forward convolution; ``x`` batched."""
    out, per_group = weight.shape[:2]
    if out < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but "
            f"got weight of size {list(weight.shape)} instead"
        )
    if out % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{list(weight.shape)}] instead"
        )
    if x.shape[1] != per_group * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight.shape)}, expected input"
            f"{list(x.shape)} to have {per_group * groups} channels, but got {x.shape[1]} channels "
            "instead"
        )


def _paddings(
    padding: Any, n: int, weight: Any, stride: tuple[int, ...], dilation: tuple[int, ...]
) -> list[tuple[int, int]]:
    """Low and high padding of each spatial dimension, from numbers, "same" or "valid"."""
    if isinstance(padding, str):
        if padding == "valid":
            return [(0, 0)] * n
        if padding != "same":
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=False)]
        # An odd total puts the surplus at the end.
        return [(t // 2, t - t // 2) for t in totals]
    return [(p, p) for p in _expanded(padding, n, "padding")]


# -- lowerings -------------------------------------------------------------------------------------


def _with_bias(y: Any, bias: Any) -> Any:
    return y if bias is None else y + bias.reshape((-1,) + (1,) * (y.ndim - 2))


def _as_matmul(x: Any, weight: Any) -> Any:
    """A 1x1 convolution of stride 1 without padding: one product for each image."""
    flat = x.reshape(*x.shape[:2], -1)
    y = jnp.einsum("oc,ncp->nop", weight.reshape(weight.shape[:2]), flat)
    return y.reshape(x.shape[0], weight.shape[0], *x.shape[2:])


def _im2col(
    x: Any, kernel: tuple[int, ...], out: tuple[int, ...], stride: Any, dilation: Any
) -> Any:
    """Patches of padded ``x`` (N, C, …) as (N, C, prod(kernel), *out)."""
    patches = []
    for offset in itertools.product(*(range(k) for k in kernel)):
        window = tuple(
            slice(i * d, i * d + (o - 1) * s + 1, s)
            for i, d, o, s in zip(offset, dilation, out, stride, strict=True)
        )
        patches.append(x[(slice(None), slice(None), *window)])
    return jnp.stack(patches, 2)


def _as_im2col(x: Any, weight: Any, out: Any, stride: Any, pads: Any, dilation: Any) -> Any:
    padded = jnp.pad(x, [(0, 0), (0, 0), *pads])
    columns = _im2col(padded, weight.shape[2:], out, stride, dilation)
    taps = math.prod(weight.shape[1:])
    columns = columns.reshape(x.shape[0], taps, math.prod(out))
    y = jnp.einsum("ok,nkp->nop", weight.reshape(weight.shape[0], taps), columns)
    return y.reshape(x.shape[0], weight.shape[0], *out)


def _channels_last(x: Any, weight: Any, stride: Any, pads: Any, dilation: Any, groups: int) -> Any:
    n = x.ndim - 2
    spatial = tuple(range(1, n + 1))
    dims = lax.ConvDimensionNumbers(
        (0, n + 1, *spatial), (n + 1, n, *range(n)), (0, n + 1, *spatial)
    )
    y = lax.conv_general_dilated(
        jnp.moveaxis(x, 1, -1), jnp.transpose(weight, (*range(2, n + 2), 1, 0)), stride, pads,
        rhs_dilation=dilation, feature_group_count=groups, dimension_numbers=dims,
    )  # fmt: skip
    return jnp.moveaxis(y, -1, 1)


def convolution(x: Any, weight: Any, stride: Any, pads: Any, dilation: Any, groups: int = 1) -> Any:
    """Cross-correlation of x (N, C, …) with weight (O, C / groups, …), without checks."""
    kernel = weight.shape[2:]
    out = tuple(
        (size + sum(p) - d * (k - 1) - 1) // s + 1
        for size, p, d, k, s in zip(x.shape[2:], pads, dilation, kernel, stride, strict=True)
    )
    on_cpu = jax.default_backend() == "cpu"
    if x.dtype.kind not in "fc" or 0 in (x.size, weight.size):
        return _by_groups(x, weight, out, stride, pads, dilation, groups)
    if groups == 1:
        pointwise = math.prod(kernel) == 1 and not any(map(sum, pads))
        if pointwise and all(s == 1 for s in stride):
            return _as_matmul(x, weight)
        if on_cpu and math.prod(out) <= _TINY_OUTPUT:
            return _as_im2col(x, weight, out, stride, pads, dilation)
    if on_cpu:
        return _channels_last(x, weight, stride, pads, dilation, groups)
    return lax.conv_general_dilated(
        x, weight, stride, pads, rhs_dilation=dilation, feature_group_count=groups,
        dimension_numbers=lax.conv_dimension_numbers(x.shape, weight.shape, _layout(x.ndim - 2)),
    )  # fmt: skip


def _layout(n: int) -> tuple[str, str, str]:
    spatial = "DHW"[3 - n :]
    return f"NC{spatial}", f"OI{spatial}", f"NC{spatial}"


def _by_groups(
    x: Any, weight: Any, out: Any, stride: Any, pads: Any, dilation: Any, groups: int
) -> Any:
    """Integers and empty tensors, which XLA's CPU convolution does not take: im2col by group."""
    parts = [
        _as_im2col(xs, ws, out, stride, pads, dilation)
        for xs, ws in zip(jnp.split(x, groups, 1), jnp.split(weight, groups, 0), strict=True)
    ]
    return jnp.concatenate(parts, 1)


# -- conv1d, conv2d, conv3d ------------------------------------------------------------------------


def _register_conv(n: int) -> None:
    name = f"conv{n}d"

    def pure(
        input: Input, weight: Input, bias: OptInput = None, stride: IntOrInts = 1,
        padding: _Padding = 0, dilation: IntOrInts = 1, groups: Int = 1,
    ):  # fmt: skip
        stride, dilation = _expanded(stride, n, "stride"), _expanded(dilation, n, "dilation")
        numbers = () if isinstance(padding, str) else _expanded(padding, n, "padding")
        _check_common(input, weight, bias, n, name, stride, numbers, dilation, groups)
        pads = _paddings(padding, n, weight, stride, dilation)
        x = input if input.ndim == n + 2 else input[None]
        _check_channels(x, weight, groups)
        _check_bias(bias, weight.shape[0], weight, "")
        padded = [s + sum(p) for s, p in zip(x.shape[2:], pads, strict=True)]
        reach = [d * (k - 1) + 1 for d, k in zip(dilation, weight.shape[2:], strict=True)]
        if any(r > p for r, p in zip(reach, padded, strict=True)):
            raise RuntimeError(
                f"Calculated padded input size per channel: ({_by(padded)}). Kernel size: "
                f"({_by(reach)}). Kernel size can't be greater than actual input size"
            )
        y = _with_bias(convolution(x, weight, stride, pads, dilation, groups), bias)
        return y if input.ndim == n + 2 else y[0]

    pure.__doc__ = f"""Cross-correlation over {n} spatial dimension{"s" if n > 1 else ""}.

    input: (N, C, …) or (C, …); weight: (O, C / groups, …); bias: (O,). ``padding`` is a number, one
    for each dimension, "same" (stride 1) or "valid". RuntimeError for sizes that do not fit.
    """
    op(name, namespaces=_SPACES, method=False, grad_name="ConvolutionBackward0",
       needs={"input": ["weight"], "weight": ["input"], "bias": []})(pure)  # fmt: skip


def _by(sizes: Any) -> str:
    return " x ".join(str(s) for s in sizes)


# -- transposed ------------------------------------------------------------------------------------


def _transposed(
    x: Any, weight: Any, stride: Any, padding: Any, output_padding: Any, dilation: Any, groups: int
) -> Any:
    """The gradient of ``convolution`` with respect to its input, as a forward convolution.

    A stride becomes holes in the input, and the kernel is turned round with its channels swapped
    within each group.
    """
    n = x.ndim - 2
    channels, per_group, *kernel = weight.shape
    pads = [
        (d * (k - 1) - p, d * (k - 1) - p + extra)
        for d, k, p, extra in zip(dilation, kernel, padding, output_padding, strict=True)
    ]
    turned = jnp.flip(weight, range(2, n + 2))
    grouped = turned.reshape(groups, channels // groups, per_group, *kernel)
    swapped = jnp.swapaxes(grouped, 1, 2).reshape(groups * per_group, channels // groups, *kernel)
    if x.dtype.kind not in "fc" or 0 in (x.size, weight.size):
        holes = [(0, 0, 0), (0, 0, 0), *((0, 0, s - 1) for s in stride)]
        spread = lax.pad(x, jnp.zeros((), x.dtype), holes)
        kept = [(max(a, 0), max(b, 0)) for a, b in pads]
        cuts = [(min(a, 0), min(b, 0), 0) for a, b in pads]
        spread = lax.pad(spread, jnp.zeros((), x.dtype), [(0, 0, 0), (0, 0, 0), *cuts])
        return convolution(spread, swapped, (1,) * n, kept, dilation, groups)
    return lax.conv_general_dilated(
        x, swapped, (1,) * n, pads, lhs_dilation=stride, rhs_dilation=dilation,
        feature_group_count=groups,
        dimension_numbers=lax.conv_dimension_numbers(x.shape, swapped.shape, _layout(n)),
    )  # fmt: skip


_AXES = {2: ("height", "width"), 3: ("depth", "height", "width")}


def _check_output_padding(n: int, output_padding: Any, stride: Any, dilation: Any) -> None:
    if any(o >= max(s, d) for o, s, d in zip(output_padding, stride, dilation, strict=True)):
        groups = (("output_padding", output_padding, 0), ("stride", stride, 1),
                  ("dilation", dilation, 1))  # fmt: skip
        # PyTorch computes one dimension as two, and the message says so.
        named = " ".join(
            f"{what}_{axis}: {value}"
            for what, values, rest in groups
            for axis, value in zip(
                _AXES[max(n, 2)], (rest, *values) if n == 1 else values, strict=True
            )
        )
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got {named}"
        )


def _register_transposed(n: int) -> None:
    name = f"conv_transpose{n}d"

    def pure(
        input: Input, weight: Input, bias: OptInput = None, stride: IntOrInts = 1,
        padding: IntOrInts = 0, output_padding: IntOrInts = 0, groups: Int = 1,
        dilation: IntOrInts = 1,
    ):  # fmt: skip
        stride, dilation = _expanded(stride, n, "stride"), _expanded(dilation, n, "dilation")
        padding = _expanded(padding, n, "padding")
        output_padding = _expanded(output_padding, n, "output_padding")
        _check_common(input, weight, bias, n, name, stride, padding, dilation, groups)
        x = input if input.ndim == n + 2 else input[None]
        if x.shape[1] != weight.shape[0]:
            raise RuntimeError(
                f"Given transposed=1, weight of size {list(weight.shape)}, expected input"
                f"{list(x.shape)} to have {weight.shape[0]} channels, but got {x.shape[1]} "
                "channels instead"
            )
        if weight.shape[0] % groups:
            raise RuntimeError(
                f"Given groups={groups}, expected weight to be divisible by {groups} at dimension "
                f"0, but got weight of size [{list(weight.shape)}] instead"
            )
        _check_bias(bias, weight.shape[1] * groups, weight, "transposed=1, ")
        _check_output_padding(n, output_padding, stride, dilation)
        sizes = [
            (size - 1) * s - 2 * p + d * (k - 1) + extra + 1
            for size, s, p, d, k, extra in zip(
                x.shape[2:], stride, padding, dilation, weight.shape[2:], output_padding,
                strict=True,
            )
        ]  # fmt: skip
        if any(size <= 0 for size in sizes):
            raise RuntimeError(
                f"Given input size per channel: ({_by(x.shape[2:])}). Calculated output size per "
                f"channel: ({_by(sizes)}). Output size is too small"
            )
        y = _transposed(x, weight, stride, padding, output_padding, dilation, groups)
        y = _with_bias(y, bias)
        return y if input.ndim == n + 2 else y[0]

    pure.__doc__ = f"""Transposed convolution over {n} spatial dimension{"s" if n > 1 else ""}.

    input: (N, C, …) or (C, …); weight: (C, O / groups, …); bias: (O,). RuntimeError for sizes that
    do not fit, and for ``output_padding`` not smaller than stride or dilation.
    """
    op(name, namespaces=_SPACES, method=False, grad_name="ConvolutionBackward0",
       needs={"input": ["weight"], "weight": ["input"], "bias": []})(pure)  # fmt: skip


for _n in (1, 2, 3):
    _register_conv(_n)
    _register_transposed(_n)


# -- unfold, fold ----------------------------------------------------------------------------------


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value * 2 if len(value) == 1 else value)


def _blocks(sizes: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> tuple[int, ...]:
    return tuple(
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, d, p, s in zip(sizes, kernel, dilation, padding, stride, strict=True)
    )


@op("im2col", namespaces=(), method=False, needs="nothing", grad_name="Im2ColBackward0")
def im2col(input: Input, kernel_size: IntOrInts, dilation: IntOrInts = 1, padding: IntOrInts = 0,
           stride: IntOrInts = 1):  # fmt: skip
    """Sliding blocks: (N, C, H, W) -> (N, C * prod(kernel_size), number of blocks)."""
    if input.ndim not in (3, 4):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )
    kernel, dilation, padding, stride = map(_pair, (kernel_size, dilation, padding, stride))
    x = input if input.ndim == 4 else input[None]
    out = _blocks(x.shape[2:], kernel, dilation, padding, stride)
    if min(out) < 1:
        raise RuntimeError(
            f"Given input with spatial size {x.shape[2:]}, kernel_size={kernel}, "
            f"dilation={dilation}, padding={padding}, calculated shape of the array of sliding "
            f"blocks as {tuple(max(o, 0) for o in out)}, but its components must be at least one."
        )
    padded = jnp.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    columns = _im2col(padded, kernel, out, stride, dilation)
    columns = columns.reshape(x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out))
    return columns if input.ndim == 4 else columns[0]


@op("col2im", namespaces=(), method=False, needs="nothing", grad_name="Col2ImBackward0")
def col2im(input: Input, output_size: IntOrInts, kernel_size: IntOrInts, dilation: IntOrInts = 1,
           padding: IntOrInts = 0, stride: IntOrInts = 1):  # fmt: skip
    """Blocks summed back where they came from: the transpose of ``im2col``."""
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(input.shape)}"
        )
    size = _pair(output_size)
    kernel, dilation, padding, stride = map(_pair, (kernel_size, dilation, padding, stride))
    x = input if input.ndim == 3 else input[None]
    taps = math.prod(kernel)
    if x.shape[1] % taps:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={x.shape[1]} and kernel_size={kernel}."
        )
    out = _blocks(size, kernel, dilation, padding, stride)
    if x.shape[2] != math.prod(out):
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, stride={stride}, expected size of input's dimension 2 to match "
            f"the calculated number of sliding blocks {' * '.join(map(str, out))} = "
            f"{math.prod(out)}, but got input.size(2)={x.shape[2]}."
        )
    image = jax.ShapeDtypeStruct((x.shape[0], x.shape[1] // taps, *size), x.dtype)
    columns = jax.linear_transpose(
        lambda image: im2col.spec.fn(image, kernel, dilation, padding, stride), image
    )
    (summed,) = columns(x)
    return summed if input.ndim == 3 else summed[0]


@composite(name="unfold", namespaces=("nn.functional",), method=False)
def unfold_blocks(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
                  stride: Any = 1) -> Tensor:  # fmt: skip
    """Sliding blocks of (N, C, H, W) as columns (N, C * prod(kernel_size), L)."""
    return im2col(input, kernel_size, dilation, padding, stride)


@composite(namespaces=("nn.functional",), method=False)
def fold(input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0,
         stride: Any = 1) -> Tensor:  # fmt: skip
    """Columns (N, C * prod(kernel_size), L) summed into images (N, C, *output_size)."""
    return col2im(input, output_size, kernel_size, dilation, padding, stride)
