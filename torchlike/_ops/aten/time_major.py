"""Operators under the names some models call them by: a convolution with time first, and the
channel shuffle's second name."""

from __future__ import annotations

from typing import Any

from torchlike._core.dispatch.registry import NAMESPACES, composite, export
from torchlike.tensor import Tensor


@composite(namespaces=("", "nn.functional"), method=False, one_object=True)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: Any = 0) -> Tensor:
    """Convolve over time. input (T, N, C_in), weight (K, C_in, C_out), bias (C_out): (T + 2 pad - K
    + 1, N, C_out).

    RuntimeError for other numbers of dimensions or unequal channels.
    """
    for t, name, n in ((input, "Input", 3), (weight, "Weight", 3), (bias, "Bias", 1)):
        if t.dim() != n:
            dims = (
                "time, batch, input channels"
                if name == "Input"
                else (
                    "kernel width, input channels, output channels" if n == 3 else "output channels"
                )
            )
            raise RuntimeError(f"{name} must have {n} dim{'s' * (n > 1)}: {dims}.")
    if input.size(2) != weight.size(1):
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.size(2) != bias.size(0):
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    conv1d = NAMESPACES["nn.functional"]["conv1d"]
    rows = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=int(pad))
    return rows.permute(2, 0, 1)


def register_channel_shuffle() -> None:
    """Register ``channel_shuffle`` under the name ``native_channel_shuffle`` too."""
    shuffle = NAMESPACES["nn.functional"]["channel_shuffle"]
    export(shuffle, "native_channel_shuffle", ("", "nn.functional"), one_object=True)


register_channel_shuffle()
