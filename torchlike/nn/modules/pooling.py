"""Pooling."""

from __future__ import annotations

from typing import Any

from torchlike.nn import functional as F
from torchlike.nn.modules.module import Module
from torchlike.nn.modules.utils import _pair, _single, _triple
from torchlike.tensor import Tensor


class _MaxPoolNd(Module):
    """Maximum over windows."""

    _ndim: int

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"max_pool{self._ndim}d")(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Take the largest of each window: (N, C, L) or (C, L) to (N, C, L_out)."""

    _ndim = 1


class MaxPool2d(_MaxPoolNd):
    """Take the largest of each window: (N, C, H, W) or (C, H, W) to (N, C, H_out, W_out).

    Example:
      >>> torch.nn.MaxPool2d(2)(torch.arange(16.0).view(1, 1, 4, 4))
      tensor([[[[ 5.,  7.],
                [13., 15.]]]])
    """

    _ndim = 2


class MaxPool3d(_MaxPoolNd):
    """Take the largest of each window: (N, C, D, H, W) or (C, D, H, W) to (N, C, D_out, H_out,
    W_out).
    """

    _ndim = 3


class _MaxUnpoolNd(Module):
    """Puts maxima back where max pooling found them; zeros elsewhere."""

    _ndim: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        sizes = (_single, _pair, _triple)[self._ndim - 1]
        self.kernel_size = sizes(kernel_size)
        self.stride = sizes(kernel_size if stride is None else stride)
        self.padding = sizes(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return getattr(F, f"max_unpool{self._ndim}d")(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """The partial inverse of MaxPool1d."""

    _ndim = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """The partial inverse of MaxPool2d."""

    _ndim = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """The partial inverse of MaxPool3d."""

    _ndim = 3


class AvgPool1d(Module):
    """Mean over windows: (N, C, L) or (C, L) to (N, C, L_out)."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(kernel_size if stride is None else stride)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPoolNd(Module):
    """Mean over windows, or their sum over ``divisor_override``."""

    _ndim: int

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"avg_pool{self._ndim}d")(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPoolNd):
    """Average each window: (N, C, H, W) or (C, H, W) to (N, C, H_out, W_out).

    Example:
      >>> torch.nn.AvgPool2d(2)(torch.arange(16.0).view(1, 1, 4, 4))
      tensor([[[[ 2.5000,  4.5000],
                [10.5000, 12.5000]]]])
    """

    _ndim = 2


class AvgPool3d(_AvgPoolNd):
    """Average each window: (N, C, D, H, W) or (C, D, H, W) to (N, C, D_out, H_out, W_out)."""

    _ndim = 3


class _LPPoolNd(Module):
    """The p-norm over windows."""

    _ndim: int

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"lp_pool{self._ndim}d")(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """Take the p-norm of each window: (N, C, L) or (C, L) to (N, C, L_out)."""

    _ndim = 1


class LPPool2d(_LPPoolNd):
    """Take the p-norm of each window: (N, C, H, W) or (C, H, W) to (N, C, H_out, W_out)."""

    _ndim = 2


class LPPool3d(_LPPoolNd):
    """Take the p-norm of each window: (N, C, D, H, W) or (C, D, H, W) to (N, C, D_out, H_out,
    W_out).
    """

    _ndim = 3


class _AdaptiveAvgPoolNd(Module):
    """Means over as many windows as the output has elements."""

    _ndim: int

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"adaptive_avg_pool{self._ndim}d")(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Average to a given size: (N, C, L) or (C, L) to (N, C, output_size)."""

    _ndim = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Average to a given size: (N, C, H, W) or (C, H, W) to (N, C, *output_size); None keeps a
    dimension.

    Example:
      >>> torch.nn.AdaptiveAvgPool2d(1)(torch.ones(1, 3, 5, 7)).shape
      torch.Size([1, 3, 1, 1])
    """

    _ndim = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Average to a given size: (N, C, D, H, W) or (C, D, H, W) to (N, C, *output_size); None keeps
    a dimension.
    """

    _ndim = 3


class _AdaptiveMaxPoolNd(Module):
    """Maxima over as many windows as the output has elements."""

    _ndim: int

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"adaptive_max_pool{self._ndim}d")(
            input, self.output_size, self.return_indices
        )

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Take the largest, to a given size: (N, C, L) or (C, L) to (N, C, output_size)."""

    _ndim = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Take the largest, to a given size: (N, C, H, W) or (C, H, W) to (N, C, *output_size); None
    keeps a dimension.
    """

    _ndim = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Take the largest, to a given size: (N, C, D, H, W) or (C, D, H, W) to (N, C, *output_size);
    None keeps a dimension.
    """

    _ndim = 3


class _FractionalMaxPoolNd(Module):
    """Maxima of windows at pseudorandom places (Graham 2014)."""

    _ndim: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        n, name = self._ndim, type(self).__name__

        def each(value: Any) -> Any:
            return value if isinstance(value, (tuple, list)) else (value,) * n

        self.kernel_size = each(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else each(output_size)
        self.output_ratio = None if output_ratio is None else each(output_ratio)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return getattr(F, f"fractional_max_pool{self._ndim}d")(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Take the largest of pseudorandom windows: (N, C, H, W) or (C, H, W) to
    (N, C, *output_size).
    """

    _ndim = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Take the largest of pseudorandom windows: (N, C, T, H, W) or (C, T, H, W) to (N, C,
    *output_size).
    """

    _ndim = 3
