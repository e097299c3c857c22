"""Padding: constant, reflected, replicated, circular."""

from __future__ import annotations

from typing import Any

from torchlike.nn import functional as F
from torchlike.nn.modules.module import Module
from torchlike.nn.modules.utils import _ntuple
from torchlike.tensor import Tensor


class _Pad(Module):
    """Pads the last dimensions; ``padding`` is one number or (left, right, top, bottom, …)."""

    _ndim: int
    _mode: str
    padding: tuple[int, ...]

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._ndim)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Pad):
    """Pads with a value."""

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPadNd(_ConstantPadNd):
    """Pads with zeros."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPadNd(_Pad):
    """Pads with the mirror image, the edge itself not repeated."""

    _mode = "reflect"


class _ReplicationPadNd(_Pad):
    """Pads with the edge."""

    _mode = "replicate"


class _CircularPadNd(_Pad):
    """Pads with the other end."""

    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._ndim
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


class ConstantPad1d(_ConstantPadNd):
    """Pad with a value: (N, C, L) or (C, L)."""

    _ndim = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad with a value: (N, C, H, W) or (C, H, W)."""

    _ndim = 2


class ConstantPad3d(_ConstantPadNd):
    """Pad with a value: (N, C, D, H, W) or (C, D, H, W)."""

    _ndim = 3


class ZeroPad1d(_ZeroPadNd):
    """Pad with zeros: (N, C, L) or (C, L)."""

    _ndim = 1


class ZeroPad2d(_ZeroPadNd):
    """Pad with zeros: (N, C, H, W) or (C, H, W)."""

    _ndim = 2


class ZeroPad3d(_ZeroPadNd):
    """Pad with zeros: (N, C, D, H, W) or (C, D, H, W)."""

    _ndim = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Pad with the reflection at each edge: (N, C, L) or (C, L)."""

    _ndim = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pad with the reflection at each edge: (N, C, H, W) or (C, H, W)."""

    _ndim = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pad with the reflection at each edge: (N, C, D, H, W) or (C, D, H, W)."""

    _ndim = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Pad with the values at each edge: (N, C, L) or (C, L)."""

    _ndim = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pad with the values at each edge: (N, C, H, W) or (C, H, W)."""

    _ndim = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pad with the values at each edge: (N, C, D, H, W) or (C, D, H, W)."""

    _ndim = 3


class CircularPad1d(_CircularPadNd):
    """Pad with the values of the opposite side: (N, C, L) or (C, L)."""

    _ndim = 1


class CircularPad2d(_CircularPadNd):
    """Pad with the values of the opposite side: (N, C, H, W) or (C, H, W)."""

    _ndim = 2


class CircularPad3d(_CircularPadNd):
    """Pad with the values of the opposite side: (N, C, D, H, W) or (C, D, H, W)."""

    _ndim = 3
