"""Kernels of aten's operators that make images larger or smaller: padding and resampling."""

from __future__ import annotations

from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES
from torchlike.ops._aten.kernels import kernel
from torchlike.tensor import Tensor

_nn = NAMESPACES["nn.functional"]
#: PyTorch's numbers for the modes of ``pad``.
_PAD_MODES = ("reflect", "replicate", "circular", "constant")


@kernel("constant_pad_nd")
def _constant_pad_nd(self: Tensor, pad: Any, value: Any = 0) -> Tensor:
    return _nn["pad"](self, tuple(pad), value=value)


@kernel("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def _reflection_pad(self: Tensor, padding: Any) -> Tensor:
    return _nn["pad"](self, tuple(padding), mode="reflect")


@kernel("replication_pad1d", "replication_pad2d", "replication_pad3d")
def _replication_pad(self: Tensor, padding: Any) -> Tensor:
    return _nn["pad"](self, tuple(padding), mode="replicate")


@kernel("_pad_circular")
def _pad_circular(self: Tensor, pad: Any) -> Tensor:
    return _nn["pad"](self, tuple(pad), mode="circular")


@kernel("_pad_enum")
def _pad_enum(self: Tensor, pad: Any, mode: int, value: Any = None) -> Tensor:
    return _nn["pad"](self, tuple(pad), _PAD_MODES[mode], value)


def _upsampling(name: str, mode: str, corners: bool) -> None:
    def resized(input: Tensor, size: Any, scales: Any, given: Any) -> Tensor:
        keywords = {"align_corners": given[0]} if given else {}
        if scales and all(s is not None for s in scales):
            return _nn["interpolate"](input, scale_factor=tuple(scales), mode=mode, **keywords)
        return _nn["interpolate"](input, size=tuple(size), mode=mode, **keywords)

    @kernel(name)
    def upsample(self: Tensor, output_size: Any, *rest: Any, **named: Any) -> Tensor:
        rest = (*rest, *named.values())
        given, scales = (rest[:1], rest[1:]) if corners else ((), rest)
        return resized(self, output_size, scales, given)

    @kernel(f"{name}.vec")
    def upsample_vec(input: Tensor, output_size: Any, *rest: Any) -> Tensor:
        given, factors = (rest[:1], rest[1]) if corners else ((), rest[0])
        if (output_size is None) is (factors is None):
            raise RuntimeError("Must specify exactly one of output_size and scale_factors")
        return resized(input, output_size, factors, given)


for _mode, _corners in (("nearest", False), ("bilinear", True), ("bicubic", True)):
    _upsampling(f"upsample_{_mode}2d", _mode, _corners)
_upsampling("upsample_nearest1d", "nearest", False)
_upsampling("upsample_linear1d", "linear", True)
_upsampling("upsample_nearest3d", "nearest", False)
_upsampling("upsample_trilinear3d", "trilinear", True)
for _dims in (1, 2, 3):
    _upsampling(f"_upsample_nearest_exact{_dims}d", "nearest-exact", False)
