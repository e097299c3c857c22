"""Instance normalisation."""

from __future__ import annotations

import warnings
from typing import Any

from torchlike.nn import functional as F
from torchlike.nn.modules.batchnorm import _NormBase
from torchlike.tensor import Tensor


class _InstanceNorm(_NormBase):
    """Normalises each channel of each sample."""

    _ndim: int

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._ndim
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        unbatched = input.dim() == self._ndim + 1
        dim = 0 if unbatched else 1
        channels = input.size(dim)
        if channels != self.num_features and self.affine:
            raise ValueError(
                f"expected input's size at dim={dim} to match num_features "
                f"({self.num_features}), but got: {channels}."
            )
        if channels != self.num_features:
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this "
                "warning by not passing in num_features, which is not used because affine=False"
            )
        x = input.unsqueeze(0) if unbatched else input
        y = F.instance_norm(
            x,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return y.squeeze(0) if unbatched else y


class InstanceNorm1d(_InstanceNorm):
    """Normalise each channel of an example: (N, C, L) or (C, L)."""

    _ndim = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalise each channel of an example: (N, C, H, W) or (C, H, W)."""

    _ndim = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalise each channel of an example: (N, C, D, H, W) or (C, D, H, W)."""

    _ndim = 3
