"""Making masked tensors."""

from __future__ import annotations

from torchlike.masked.maskedtensor.core import MaskedTensor
from torchlike.tensor import Tensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """Return a masked tensor of copies, without history. Raises TypeError and ValueError as
    `MaskedTensor` does."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """Return a masked tensor through which gradients flow to the data."""
    return MaskedTensor._from_values(data, mask)
