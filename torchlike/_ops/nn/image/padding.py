"""Padding, and the rearrangements between space and channels."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from torchlike._core import casts
from torchlike._core.dispatch.registry import composite, op
from torchlike._core.dispatch.schema import Element, Input, Int, Ints, Str, require_tensor
from torchlike._ops.memory_order import of_first
from torchlike.tensor import Tensor

_F = ("nn.functional",)
_COMBINATIONS = (
    "Padding size {size} is not supported for {ndim}D input tensor.\n"
    "Supported combinations for non-constant padding:\n"
    "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
    "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
    "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
)


def _pairs(pad: tuple[int, ...], ndim: int) -> list[tuple[int, int]]:
    """Return (low, high) of each dimension; PyTorch lists them from the last dimension on."""
    given = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (ndim - len(given)) + given[::-1]


def _check_result(x: Any, pads: Any) -> None:
    for size, (low, high) in zip(x.shape, pads, strict=True):
        if size + min(low, 0) + min(high, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")


@op(
    "constant_pad_op",
    namespaces=(),
    method=False,
    needs="nothing",
    memory_order=of_first,
    grad_name="ConstantPadNdBackward0",
)
def constant_pad_op(input: Input, pad: Ints, value: Element):
    """Surround with ``value``; negative padding crops."""
    if 2 * input.ndim < len(pad):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {input.ndim}"
        )
    pads = _pairs(pad, input.ndim)
    _check_result(input, pads)
    fill = lax.stop_gradient(casts.convert(jnp.asarray(value), input.dtype))
    return lax.pad(input, fill, [(low, high, 0) for low, high in pads])


def _source(mode: str, size: int, low: int, high: int) -> np.ndarray:
    """Return which element each position of a padded dimension shows."""
    at = np.arange(-low, size + high)
    if mode == "replicate":
        return np.clip(at, 0, max(size - 1, 0))
    if mode == "circular":
        # Cropped first, then wrapped round what is left.
        start, left = max(-low, 0), size + min(low, 0) + min(high, 0)
        return np.arange(-max(low, 0), left + max(high, 0)) % left + start
    at = np.abs(at)
    return np.where(at >= size, 2 * (size - 1) - at, at)


def _check_border(x: Any, d: int, pads: Any, mode: str, pad: tuple[int, ...]) -> None:
    size, (low, high) = x.shape[d], pads[d]
    if mode == "reflect" and (low >= size or high >= size):
        at = 2 * (x.ndim - 1 - d)
        raise RuntimeError(
            f"Argument #{4 + at}: Padding size should be less than the corresponding input "
            f"dimension, but got: padding ({low}, {high}) at dimension {d} of input "
            f"{list(x.shape)}"
        )
    if mode == "circular" and (low > size or high > size):
        raise RuntimeError("Padding value causes wrapping around more than once.")
    if size + low + high <= 0:
        raise RuntimeError(
            "Negative padding value is resulting in an empty dimension"
            if mode == "circular"
            else f"input (W: {size}) is too small. Calculated output W: {size + low + high}"
        )


def _of_border(result: Any, operands: Any, spec: Any, statics: Any) -> None:
    if statics[1] != "circular":  # which PyTorch puts together from slices
        of_first(result, operands, spec, statics)


@op(
    "border_pad_op",
    namespaces=(),
    method=False,
    needs="nothing",
    memory_order=_of_border,
    grad_name="BorderPadBackward0",
    autocast={"cpu": "float32"},
)
def border_pad_op(input: Input, pad: Ints, mode: Str):
    """Surround with reflected, repeated or wrapped values."""
    pads = _pairs(pad, input.ndim)
    n = len(pad) // 2
    if mode != "circular" and 0 in input.shape[input.ndim - n - 1 :]:
        raise RuntimeError(
            f"Expected {n + 1}D or {n + 2}D (batch mode) tensor with possibly 0 batch size and "
            f"other non-zero dimensions for input, but got: {list(input.shape)}"
        )
    x = input
    for d, (low, high) in enumerate(pads):
        if low or high:
            _check_border(input, d, pads, mode, pad)
            x = jnp.take(x, _source(mode, input.shape[d], low, high), d)
    return x


@composite(namespaces=_F, method=False, python_signature=True)
def pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """Surround ``input`` with padding: ``pad`` is (low, high) of the last dimension, then of the
    one before, …; negative numbers crop.

    mode: "constant" (with ``value``, 0), "reflect", "replicate" or "circular"; the last three pad
    the last 1, 2 or 3 dimensions of (N, C, …) or (C, …). RuntimeError or NotImplementedError, in
    PyTorch's words, for sizes that do not fit.

    Example:
      >>> torch.nn.functional.pad(torch.tensor([[1, 2]]), (1, 0, 0, 1))
      tensor([[0, 1, 2],
              [0, 0, 0]])
    """
    require_tensor(input, "pad")
    if isinstance(pad, Tensor):
        pad = pad.tolist()
    pad = tuple(pad)
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if mode == "constant":
        # PyTorch takes a float here, and -1.0 is none of uint8's values (-1 would wrap to 255).
        value = float(value) if type(value) is int else value
        return constant_pad_op(input, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(pad) // 2
    if dims not in (1, 2, 3) or input.dim() not in (dims + 1, dims + 2):
        raise NotImplementedError(_COMBINATIONS.format(size=len(pad), ndim=input.dim()))
    return border_pad_op(input, pad, mode)


@composite(method=False)
def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    """Pad with a constant, as ``nn.functional.pad``."""
    return constant_pad_op(input, tuple(pad), value)


# -- space and channels ----------------------------------------------------------------------------


def _require_image(name: str, ndim: int) -> None:
    if ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {ndim} "
            "dimension(s)"
        )


@op(namespaces=("", *_F), method=False, needs="nothing", memory_order=of_first, one_object=True)
def pixel_shuffle(input: Input, upscale_factor: Int):
    """Move channels into pixels: (…, C r², H, W) -> (…, C, H r, W r) (Shi et al. 2016)."""
    _require_image("pixel_shuffle", input.ndim)
    r = upscale_factor
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *batch, c, h, w = input.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(batch)
    parted = input.reshape(*batch, c // (r * r), r, r, h, w)
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return parted.transpose(order).reshape(*batch, c // (r * r), h * r, w * r)


@op(namespaces=("", *_F), method=False, needs="nothing", memory_order=of_first, one_object=True)
def pixel_unshuffle(input: Input, downscale_factor: Int):
    """Move pixels into channels: (…, C, H r, W r) -> (…, C r², H, W), the inverse of
    ``pixel_shuffle``."""
    _require_image("pixel_unshuffle", input.ndim)
    r = downscale_factor
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *batch, c, h, w = input.shape
    for what, at, size in (("height", -2, h), ("width", -1, w)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {what} to be divisible by downscale_factor, but "
                f"input.size({at})={size} is not divisible by {r}"
            )
    n = len(batch)
    parted = input.reshape(*batch, c, h // r, r, w // r, r)
    order = (*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return parted.transpose(order).reshape(*batch, c * r * r, h // r, w // r)


@op(namespaces=("", *_F), method=False, needs="nothing", memory_order=of_first, one_object=True)
def channel_shuffle(input: Input, groups: Int):
    """Interleave the channels of ``groups`` groups (Zhang et al. 2018)."""
    if input.ndim < 3:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    c = input.shape[1]
    if c % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups."
        )
    parted = input.reshape(input.shape[0], groups, c // groups, *input.shape[2:])
    return jnp.swapaxes(parted, 1, 2).reshape(input.shape)
