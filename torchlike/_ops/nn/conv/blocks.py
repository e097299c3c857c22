"""unfold and fold: an image as columns of sliding blocks, and back."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp

from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Input, IntOrInts
from torchlike._ops.nn.conv.convolution import patches
from torchlike._ops.nn.pool.windows import fitting
from torchlike.tensor import Tensor


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value * 2 if len(value) == 1 else value)


def _blocks(sizes: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> tuple[int, ...]:
    padded = (size + 2 * p for size, p in zip(sizes, padding, strict=True))
    return fitting(padded, kernel, stride, dilation)


def _check_numbers(kernel: Any, dilation: Any, padding: Any, stride: Any) -> None:
    checked = (
        ("kernel size", "kernel", kernel),
        ("stride", "stride", stride),
        ("dilation", "dilation", dilation),
    )
    for name, short, (high, wide) in checked:
        if min(high, wide) <= 0:
            raise RuntimeError(
                f"{name} should be greater than zero, but got {short}_height: {high} "
                f"{short}_width: {wide}"
            )
    if min(padding) < 0:
        raise RuntimeError(
            f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: "
            f"{padding[1]}"
        )


@op("im2col", namespaces=(), method=False, needs="nothing", grad_name="Im2ColBackward0")
def im2col(
    input: Input,
    kernel_size: IntOrInts,
    dilation: IntOrInts = 1,
    padding: IntOrInts = 0,
    stride: IntOrInts = 1,
):
    """Return the sliding blocks: (N, C, H, W) -> (N, C * prod(kernel_size), number of blocks)."""
    if input.ndim not in (3, 4) or 0 in input.shape[input.ndim - 3 :]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )
    kernel, dilation, padding, stride = map(_pair, (kernel_size, dilation, padding, stride))
    _check_numbers(kernel, dilation, padding, stride)
    x = input if input.ndim == 4 else input[None]
    out = _blocks(x.shape[2:], kernel, dilation, padding, stride)
    if min(out) < 1:
        raise RuntimeError(
            f"Given input with spatial size {x.shape[2:]}, kernel_size={kernel}, "
            f"dilation={dilation}, padding={padding}, calculated shape of the array of sliding "
            f"blocks as {tuple(max(o, 0) for o in out)}, but its components must be at least one."
        )
    padded = jnp.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    columns = patches(padded, kernel, out, stride, dilation)
    columns = columns.reshape(x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out))
    return columns if input.ndim == 4 else columns[0]


@op("col2im", namespaces=(), method=False, needs="nothing", grad_name="Col2ImBackward0")
def col2im(
    input: Input,
    output_size: IntOrInts,
    kernel_size: IntOrInts,
    dilation: IntOrInts = 1,
    padding: IntOrInts = 0,
    stride: IntOrInts = 1,
):
    """Sum blocks back to where they came from: the transpose of ``im2col``."""
    if input.ndim not in (2, 3) or 0 in input.shape[input.ndim - 2 :]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(input.shape)}"
        )
    size = _pair(output_size)
    kernel, dilation, padding, stride = map(_pair, (kernel_size, dilation, padding, stride))
    _check_numbers(kernel, dilation, padding, stride)
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


@composite(name="unfold", namespaces=("nn.functional",), method=False, python_signature=True)
def unfold_blocks(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Return the sliding blocks of (N, C, H, W) as columns (N, C * prod(kernel_size), L)."""
    return im2col(input, kernel_size, dilation, padding, stride)


@composite(namespaces=("nn.functional",), method=False, python_signature=True)
def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    """Sum columns (N, C * prod(kernel_size), L) into images (N, C, *output_size)."""
    return col2im(input, output_size, kernel_size, dilation, padding, stride)
