"""Convolutions and transposed convolutions."""

from __future__ import annotations

import math
from typing import Any

from torchlike.nn import functional as F
from torchlike.nn import init
from torchlike.nn.modules.module import Module
from torchlike.nn.modules.utils import (
    _ntuple,
    _reverse_repeat_tuple,
    _single,
    new_parameter,
)
from torchlike.tensor import Tensor

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share: checks, weight, bias, repr."""

    weight: Tensor
    bias: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: Any,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
                )
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {list(_PADDING_MODES)}, but got "
                f"padding_mode='{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._sides()
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = new_parameter((first, second // groups, *kernel_size), device, dtype)
        self.register_parameter(
            "bias", new_parameter(out_channels, device, dtype) if bias else None
        )
        self.reset_parameters()

    def _sides(self) -> list[int]:
        """Return the padding of each side, last dimension first, for F.pad."""
        if not isinstance(self.padding, str):
            return list(_reverse_repeat_tuple(self.padding, 2))
        sides: list[int] = []
        for d, k in zip(reversed(self.dilation), reversed(self.kernel_size), strict=True):
            total = d * (k - 1) if self.padding == "same" else 0
            sides += [total // 2, total - total // 2]
        return sides

    def reset_parameters(self) -> None:
        """Draw weight and bias from the uniform distribution on ``±1/sqrt(fan_in)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        parts = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        ]
        n = len(self.kernel_size)
        if self.padding != (0,) * n:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * n:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * n:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Conv(_ConvNd):
    """A convolution of a number of dimensions."""

    _ndim: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = _ntuple(self._ndim)
        super().__init__(
            in_channels,
            out_channels,
            sizes(kernel_size),
            sizes(stride),
            padding if isinstance(padding, str) else sizes(padding),
            sizes(dilation),
            False,
            sizes(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        convolve = getattr(F, f"conv{self._ndim}d")
        if self.padding_mode == "zeros":
            return convolve(
                input, weight, bias, self.stride, self.padding, self.dilation, self.groups
            )
        padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return convolve(padded, weight, bias, self.stride, 0, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolve (N, C_in, L) or (C_in, L) to (N, C_out, L_out).

    Arguments and errors are as of ``Conv2d``, with numbers for one dimension.

    Example:
      >>> torch.nn.Conv1d(2, 4, kernel_size=3, padding="same")(torch.ones(1, 2, 7)).shape
      torch.Size([1, 4, 7])
    """

    _ndim = 1


class Conv2d(_Conv):
    """Convolve (N, C_in, H, W) or (C_in, H, W) to (N, C_out, H_out, W_out).

    Args:
      in_channels, out_channels: C_in and C_out. ``weight`` is (C_out, C_in / groups, kh, kw),
        ``bias`` (C_out,).
      kernel_size, stride, padding, dilation: a number, or one for each of the two dimensions;
        ``padding`` also "valid" or "same".
      groups: how many groups of channels are convolved apart.
      bias: False leaves the bias out.
      padding_mode: "zeros", "reflect", "replicate" or "circular".

    Raises:
      ValueError: ``groups`` does not divide the channels; an unknown ``padding`` or mode; "same"
        with a stride.
      RuntimeError: from a call, for other channels or dimensions, or a kernel larger than the
        input.

    Example:
      >>> layer = torch.nn.Conv2d(3, 8, kernel_size=3, stride=2, padding=1)
      >>> layer(torch.ones(1, 3, 32, 32)).shape
      torch.Size([1, 8, 16, 16])
    """

    _ndim = 2


class Conv3d(_Conv):
    """Convolve (N, C_in, D, H, W) or (C_in, D, H, W) to (N, C_out, D_out, H_out, W_out).

    Arguments and errors are as of ``Conv2d``, with numbers for three dimensions.
    """

    _ndim = 3


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution: the gradient of a convolution with respect to its input."""

    _ndim: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        sizes = _ntuple(self._ndim)
        super().__init__(
            in_channels,
            out_channels,
            sizes(kernel_size),
            sizes(stride),
            sizes(padding),
            sizes(dilation),
            True,
            sizes(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """Return the output padding that gives ``output_size``. Raises ValueError when none
        does."""
        n = self._ndim
        if output_size is None:
            return _single(self.output_padding)
        wanted = list(output_size)
        batched = input.dim() == n + 2
        if len(wanted) == n + (2 if batched else 1):
            wanted = wanted[-n:]
        if len(wanted) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or "
                f"{input.dim()} elements (got {len(wanted)})"
            )
        low = [
            (size - 1) * s - 2 * p + d * (k - 1) + 1
            for size, s, p, d, k in zip(
                input.shape[-n:],
                self.stride,
                self.padding,
                self.dilation,
                self.kernel_size,
                strict=True,
            )
        ]
        high = [a + s - 1 for a, s in zip(low, self.stride, strict=True)]
        if any(not a <= w <= b for w, a, b in zip(wanted, low, high, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {low} to "
                f"{high} (for an input of {input.size()[2:]})"
            )
        return tuple(w - a for w, a in zip(wanted, low, strict=True))

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        convolve = getattr(F, f"conv_transpose{self._ndim}d")
        return convolve(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_ConvTransposeNd):
    """Convolve transposed, as the gradient of ``Conv1d`` does: (N, C_in, L) or (C_in, L) to
    (N, C_out, L_out).

    Arguments and errors are as of ``ConvTranspose2d``, with numbers for one dimension.
    """

    _ndim = 1


class ConvTranspose2d(_ConvTransposeNd):
    """Convolve transposed, as the gradient of ``Conv2d`` does: (N, C_in, H, W) or (C_in, H, W) to
    (N, C_out, H_out, W_out).

    Args:
      in_channels, out_channels: C_in and C_out. ``weight`` is (C_in, C_out / groups, kh, kw).
      kernel_size, stride, padding, dilation, groups, bias: as of ``Conv2d``; ``padding`` is cut
      off. output_padding: rows and columns added at one side, which ``stride`` leaves open.
      padding_mode: "zeros" alone.

    Raises:
      ValueError: another padding mode; from a call, an ``output_size`` that no padding gives.

    Example:
      >>> layer = torch.nn.ConvTranspose2d(8, 3, kernel_size=2, stride=2)
      >>> layer(torch.ones(1, 8, 4, 4)).shape
      torch.Size([1, 3, 8, 8])
    """

    _ndim = 2


class ConvTranspose3d(_ConvTransposeNd):
    """Convolve transposed, as the gradient of ``Conv3d`` does: (N, C_in, D, H, W) or (C_in, D, H,
    W) to (N, C_out, D_out, H_out, W_out).

    Arguments and errors are as of ``ConvTranspose2d``, with numbers for three dimensions.
    """

    _ndim = 3
