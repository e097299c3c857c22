"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

from torchlike.nn import functional as F
from torchlike.nn import init
from torchlike.nn.modules.module import Module
from torchlike.nn.modules.utils import new_parameter
from torchlike.tensor import Tensor


class Identity(Module):
    """Return the input as it is, whatever arguments the module was made with.

    Example:
      >>> torch.nn.Identity(54)(torch.ones(2))
      tensor([1., 1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """Apply ``x @ weight.T + bias``: (…, in_features) to (…, out_features).

    Args:
      in_features, out_features: sizes of the last dimension before and after. ``weight`` is
        (out_features, in_features), ``bias`` (out_features,).
      bias: False leaves the bias out.
      device, dtype: of the parameters.

    Raises:
      RuntimeError: from a call, where the last dimension is not ``in_features``.

    Example:
      >>> layer = torch.nn.Linear(3, 2)
      >>> layer(torch.ones(5, 3)).shape
      torch.Size([5, 2])
    """

    weight: Tensor
    bias: Any

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = new_parameter((out_features, in_features), device, dtype)
        self.register_parameter(
            "bias", new_parameter(out_features, device, dtype) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias from the uniform distribution on ``±1/sqrt(in_features)``."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """The output projection of MultiheadAttention: a Linear under the name PyTorch prints."""


class Bilinear(Module):
    """Return ``x1ᵀ A x2 + b``: (…, in1_features) and (…, in2_features) to (…, out_features)."""

    weight: Tensor
    bias: Any

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = new_parameter((out_features, in1_features, in2_features), device, dtype)
        self.register_parameter(
            "bias", new_parameter(out_features, device, dtype) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias from the uniform distribution on ``±1/sqrt(in1_features)``."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        if input1.dim() != input2.dim():
            raise RuntimeError(
                f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}"
            )
        for d, (n, m) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
            if n != m:
                raise RuntimeError(
                    f"bilinear(): input batch dimensions do not match at dim {d}: got {n} and {m}"
                )
        for i, x in enumerate((input1, input2), 1):
            if x.size(-1) != self.weight.size(i):
                raise RuntimeError(
                    f"bilinear(): input{i} size does not match weight size: got {x.size(-1)} but "
                    f"expected {self.weight.size(i)}"
                )
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
