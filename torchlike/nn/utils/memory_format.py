"""The memory order of convolutions' weights."""

from __future__ import annotations

from typing import Any

from torchlike.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from torchlike.nn.modules.module import M


def _convert(module: M, kinds: tuple[type, ...], memory_format: Any) -> M:
    for m in module.modules():
        if isinstance(m, kinds):
            m.weight.data = m.weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Put the weights of the 2-D convolutions below the module into a memory format.

    Differs from PyTorch
    --------------------
    It changes strides as PyTorch says; XLA chooses the order it computes in by itself.
    """
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: M, memory_format: Any) -> M:
    """Convert the weights of 3-D convolutions to a memory format."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
