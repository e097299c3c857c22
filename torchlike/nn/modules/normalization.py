"""Normalisations that do not look at the batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from torchlike._ops.creation.from_data import as_tensor
from torchlike.autograd.function import Function
from torchlike.nn import functional as F
from torchlike.nn import init
from torchlike.nn.modules.module import Module
from torchlike.nn.modules.utils import as_sizes, new_parameter
from torchlike.tensor import Tensor


class LayerNorm(Module):
    """Normalise over the last dimensions: (…, *normalized_shape) to the same shape.

    Args:
      normalized_shape: an int or the sizes; ``weight`` and ``bias`` have this shape.
      eps: added to the variance.
      elementwise_affine: whether there are ``weight`` and ``bias``.
      bias: False leaves ``bias`` out.

    Raises:
      RuntimeError: from a call, where the last dimensions have other sizes.

    Example:
      >>> torch.nn.LayerNorm(4)(torch.arange(8.0).view(2, 4)).sum(-1).abs() < 1e-5
      tensor([True, True])
    """

    weight: Any
    bias: Any

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        for name, wanted in (("weight", elementwise_affine), ("bias", elementwise_affine and bias)):
            self.register_parameter(
                name, new_parameter(self.normalized_shape, device, dtype) if wanted else None
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root mean square over the last dimensions: (…, *normalized_shape)."""

    weight: Any

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter(
            "weight",
            new_parameter(self.normalized_shape, device, dtype) if elementwise_affine else None,
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Module):
    """Normalises groups of channels of each sample: (N, C, *)."""

    weight: Any
    bias: Any

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(
                f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(
                name, new_parameter(num_channels, device, dtype) if wanted else None
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1 and the bias to 0."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Divides by a power of the sum of squares over neighbouring channels: (N, C, *)."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _CrossMapNorm(Function):
    """PyTorch's sums over channels, and the gradient that it gives for them (not their own)."""

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, size: float, alpha: float, beta: float, k: float
    ) -> Tensor:
        channels, reach = input.size(1), int((size - 1) / 2 + 1)
        c, i = np.arange(channels)[:, None], np.arange(channels)
        # The window slides from channel to channel. What leaves it begins with channel 1, so that
        # channel 0 stays in all sums.
        window = (i < c + reach) & ((i == 0) | (i > c - reach))
        scale = _over_channels(window, input.pow(2)) * (alpha / size) + k
        output = scale.pow(-beta) * input
        ctx.size, ctx.alpha, ctx.beta = size, alpha, beta
        ctx.save_for_backward(input, scale, output)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        input, scale, output = ctx.saved_tensors
        size, channels = ctx.size, input.size(1)
        first = int(size - (size - 1) / 2)
        c, i = np.arange(channels)[:, None], np.arange(channels)
        window = (i >= c - first) & (i < c - first + size)
        spread = _over_channels(window, gradient * output / scale)
        factor = 2 * ctx.alpha * ctx.beta / size
        return scale.pow(-ctx.beta) * gradient - factor * input * spread, None, None, None, None


def _over_channels(window: np.ndarray, x: Tensor) -> Tensor:
    """Return, for each channel, the sum over its row of the window."""
    weights = as_tensor(window.astype(x.dtype.numpy), device=x.device)
    return (weights @ x.flatten(2)).reshape(x.shape)


class CrossMapLRN2d(LocalResponseNorm):
    """Divides images (N, C, H, W) by a power of the sums of squares over neighbouring channels, as
    PyTorch does: channel 0 counts in all sums, and the gradient is not quite theirs. For the sums
    alone see LocalResponseNorm.

    Differs from PyTorch
      ``size=1`` has a gradient, by the same formula; there it is an error.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return _CrossMapNorm.apply(input, self.size, self.alpha, self.beta, self.k)
