"""Masked tensors, at PyTorch's places."""

from torchlike.masked.maskedtensor.core import MaskedTensor, is_masked_tensor

__all__ = ["MaskedTensor", "is_masked_tensor"]
