"""Making masked tensors."""

from __future__ import annotations

from torchlike.masked.maskedtensor.core import MaskedTensor
from torchlike.tensor import Tensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A masked tensor of copies, without history. TypeError and ValueError as `MaskedTensor`."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A masked tensor through which gradients flow to the data."""
    return MaskedTensor._from_values(data, mask)
