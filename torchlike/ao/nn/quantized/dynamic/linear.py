"""A linear layer with a weight of int8, whose input is quantized as it comes."""

from __future__ import annotations

from typing import Any

from torchlike._core import dtypes
from torchlike._ops.creation.filled import zeros
from torchlike._ops.linalg.dynamic_quantization import dynamic_linear
from torchlike.ao.quantization.observer import quantized
from torchlike.nn.modules.module import Module
from torchlike.tensor import Tensor


class Linear(Module):
    """``input @ weight.T + bias`` for float32 inputs (…, in_features); no gradient passes.

    Differs from PyTorch: the weight is in the buffers ``weight_int8`` and ``weight_scale`` rather
    than in packed parameters, so state dicts of the two do not fit each other.
    """

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.qscheme = "torch.per_tensor_affine"
        self.register_buffer("weight_int8", zeros(out_features, in_features, dtype=dtypes.int8))
        self.register_buffer("weight_scale", zeros(()))
        self.register_buffer("bias", zeros(out_features) if bias_ else None)

    def forward(self, x: Tensor) -> Tensor:
        return dynamic_linear(x, self.weight_int8, self.weight_scale, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"dtype=torch.qint8, qscheme={self.qscheme}"
        )

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Linear:
        """Make the layer of a ``nn.Linear`` whose ``qconfig.weight`` makes an observer."""
        made = cls(mod.in_features, mod.out_features, mod.bias is not None)
        made.weight_int8, made.weight_scale = quantized(mod.weight.detach(), mod.qconfig.weight())
        if made.weight_scale.dim():
            made.qscheme = "torch.per_channel_affine"
        if mod.bias is not None:
            made.bias = mod.bias.detach()
        made.train(mod.training)
        return made
