"""``torch._tensor``: where PyTorch keeps the class ``Tensor``."""

from torchlike.tensor import Tensor

__all__ = ["Tensor"]
